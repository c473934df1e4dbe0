"""2,000 random structures and formulas against pyModelChecking, under the stuttering reading.

pyModelChecking wants a total relation, so each leaf gets an edge to itself, which is what
``leaves="stuttering"`` means.
"""

import random

import pytest

from safe_rl.logic import Op
from safe_rl.logic.ctl import CTL, Quantifier
from safe_rl.model_checking import Checker, kripke
from tests.model_checking.random_models import random_ctl, random_graph

peer = pytest.importorskip(
    "pyModelChecking",
    reason="pyModelChecking is not installed: pip install --no-deps pyModelChecking==1.3.4",
)
ctl = pytest.importorskip("pyModelChecking.CTL")

BATCHES, PER_BATCH = 20, 100


def theirs(f: CTL):
    """The formula in pyModelChecking's classes, which have neither W nor M nor equivalence."""
    if f.op is Op.ATOM:
        return ctl.AtomicProposition(f.name)
    if f.op in (Op.TRUE, Op.FALSE):
        return ctl.Bool(f.op is Op.TRUE)
    if not isinstance(f.op, Quantifier):
        args = [theirs(arg) for arg in f.args]
        p, q = args[0], args[-1]
        return {
            Op.NOT: lambda: ctl.Not(p),
            Op.AND: lambda: ctl.And(p, q),
            Op.OR: lambda: ctl.Or(p, q),
            Op.IMPLIES: lambda: ctl.Imply(p, q),
            Op.IFF: lambda: ctl.And(ctl.Imply(p, q), ctl.Imply(q, p)),
            Op.XOR: lambda: ctl.Not(ctl.And(ctl.Imply(p, q), ctl.Imply(q, p))),
        }[f.op]()
    (path,) = f.args
    args = [theirs(arg) for arg in path.args]
    p, q = args[0], args[-1]
    every = f.op is Quantifier.ALL
    if path.op is Op.WEAK_UNTIL:
        if every:
            return ctl.Not(ctl.E(ctl.U(ctl.Not(q), ctl.And(ctl.Not(p), ctl.Not(q)))))
        return ctl.Or(ctl.E(ctl.U(p, q)), ctl.E(ctl.G(p)))
    quantifier = ctl.A if every else ctl.E
    return quantifier(
        {
            Op.NEXT: lambda: ctl.X(p),
            Op.EVENTUALLY: lambda: ctl.F(p),
            Op.ALWAYS: lambda: ctl.G(p),
            Op.UNTIL: lambda: ctl.U(p, q),
            Op.RELEASE: lambda: ctl.R(p, q),
            Op.STRONG_RELEASE: lambda: ctl.U(q, ctl.And(p, q)),
        }[path.op]()
    )


@pytest.mark.parametrize("number", range(BATCHES))
def test_agrees(number):
    rng = random.Random(f"pyModelChecking {number}")
    for _ in range(PER_BATCH):
        successors, letters = random_graph(rng, 10)
        formula = random_ctl(rng, rng.randint(1, 3), bounded=False)
        structure = peer.Kripke(
            R=[(s, t) for s, after in enumerate(successors) for t in after or [s]],
            L={state: set(letter) for state, letter in enumerate(letters)},
        )
        expected = ctl.modelcheck(structure, theirs(formula))
        made = kripke(successors, letters, ["p", "q"])
        found = Checker(made, "stuttering").satisfying(formula)
        assert {int(s) for s in found.nonzero()[0]} == set(expected), (formula, successors, letters)
