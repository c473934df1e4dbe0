"""Random specification sets from a seed, for tests that need many of them."""

from __future__ import annotations

import random

from safe_rl.logic import Formula, Op, atom
from safe_rl.specs import Specification, SpecSet

NAMES = ("a", "b", "c", "d")
FUTURE = (Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS)
FUTURE_BINARY = (Op.UNTIL, Op.WEAK_UNTIL, Op.RELEASE, Op.STRONG_RELEASE)
PAST = (Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY)
BOOLEAN = (Op.AND, Op.OR, Op.IMPLIES, Op.XOR)


def random_formula(rng: random.Random, size: int, future: bool = True) -> Formula:
    """A formula with ``size`` operators; what stands under a past operator has no future."""
    if size <= 0:
        return atom(rng.choice(NAMES))
    kind = rng.random()
    if kind < 0.15:
        return Formula(Op.NOT, (random_formula(rng, size - 1, future),))
    if kind < 0.25:
        return Formula(rng.choice(PAST), (random_formula(rng, size - 1, False),))
    if kind < 0.45 and future:
        return Formula(rng.choice(FUTURE), (random_formula(rng, size - 1, future),))
    left = rng.randrange(size)
    if kind < 0.55:
        operator, inside = Op.SINCE, False
    elif kind < 0.75 and future:
        operator, inside = rng.choice(FUTURE_BINARY), future
    else:
        operator, inside = rng.choice(BOOLEAN), future
    sides = (left, size - 1 - left)
    return Formula(operator, tuple(random_formula(rng, part, inside) for part in sides))


def random_set(seed: int, most: int = 4) -> SpecSet:
    """One to ``most`` specifications; half of them invariants, half with a recovery."""
    rng = random.Random(seed)
    found = []
    for index in range(rng.randint(1, most)):
        formula = random_formula(rng, rng.randint(1, 4))
        if rng.random() < 0.5:
            formula = Formula(Op.ALWAYS, (formula,))
        recovery = None
        if rng.random() < 0.5:
            recovery = random_formula(rng, rng.randint(0, 2))
        found.append(
            Specification(
                f"s{seed}_{index}",
                formula,
                trigger=random_formula(rng, rng.randint(0, 2), future=False),
                recovery=recovery,
                semantics=rng.choice(["finite", "finite", "bad_prefix"]),
            )
        )
    return SpecSet(found)
