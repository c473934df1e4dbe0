"""CTL by the fixpoints of the textbook, as plainly as they can be written.

Clarke, Emerson and Sistla (1986): iterate ``E[p U q] = q or (p and EX E[p U q])`` from below and
``EG p = p and (leaf or EX EG p)`` from above until nothing changes; everything else is defined by
these two and ``EX``. Quadratic where the structure is long. It shares no search with
:mod:`safe_rl.model_checking.checking`, and so can confirm what that says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import CTL, Quantifier, subformulas
from safe_rl.logic.ctl_semantics import Leaves
from safe_rl.logic.formula import Op
from safe_rl.model_checking.booleans import states_of
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.structure import Kripke


def satisfying_by_fixpoints(structure: Kripke, formula: CTL, leaves: Leaves = "weak") -> Bools:
    """Return the states that satisfy ``formula``, ``bool[states]``.

    Raises:
        ConfigurationError: the formula holds ``P``.

    >>> from safe_rl.model_checking import kripke, parse_ctl
    >>> lamp = kripke([[0, 1], [0]], [set(), {"on"}])
    >>> satisfying_by_fixpoints(lamp, parse_ctl("EG !on")).tolist()
    [True, False]
    """
    found: dict[CTL, Bools] = {}
    for node in subformulas(formula):
        if node.is_state:
            found[node] = _states(structure, node, found, leaves)
    return found[formula]


def _states(structure: Kripke, f: CTL, found: dict[CTL, Bools], leaves: Leaves) -> Bools:
    if not isinstance(f.op, Quantifier):
        return states_of(structure, f, [found[arg] for arg in f.args])
    if f.op is Quantifier.PROBABLY:
        raise ConfigurationError(f"{f} is about probabilities, which the structure does not have")
    fixpoints = _Fixpoints(structure, leaves)
    (path,) = f.args
    operands = [found[arg] for arg in path.args]
    if path.bounds is not None:
        return fixpoints.bounded(f.op is Quantifier.ALL, path, operands)
    if f.op is Quantifier.ALL:
        return ~fixpoints.some_negated(path.op, operands)
    return fixpoints.some(path.op, operands)


class _Fixpoints:
    """``EX``, ``EU`` and ``EG``, and what is defined by them."""

    def __init__(self, structure: Kripke, leaves: Leaves) -> None:
        self._structure = structure
        self._stuttering = leaves == "stuttering"
        self._everywhere = np.ones(structure.num_states, dtype=bool)

    def ex(self, p: Bools) -> Bools:
        counts = np.bincount(
            self._structure.sources, weights=p[self._structure.targets], minlength=len(p)
        )
        return (counts > 0) | (p & self._structure.leaves if self._stuttering else False)

    def eu(self, p: Bools, q: Bools) -> Bools:
        return _limit(q, lambda z: q | (p & self.ex(z)))

    def eg(self, p: Bools) -> Bools:
        return _limit(p, lambda z: p & (self._structure.leaves | self.ex(z)))

    def some(self, op: object, operands: list[Bools]) -> Bools:
        """States with a path on which ``op`` holds."""
        p, q = operands[0], operands[-1]
        match op:
            case Op.NEXT:
                return self.ex(p)
            case Op.EVENTUALLY:
                return self.eu(self._everywhere, p)
            case Op.ALWAYS:
                return self.eg(p)
            case Op.UNTIL:
                return self.eu(p, q)
            case Op.WEAK_UNTIL:
                return self.eu(p, q) | self.eg(p)
            case Op.RELEASE:
                return self.eu(q, p & q) | self.eg(q)
        return self.eu(q, p & q)  # strong release

    def some_negated(self, op: object, operands: list[Bools]) -> Bools:
        """States with a path on which ``op`` fails."""
        p, q = ~operands[0], ~operands[-1]
        dual = {
            Op.NEXT: Op.NEXT,
            Op.EVENTUALLY: Op.ALWAYS,
            Op.ALWAYS: Op.EVENTUALLY,
            Op.UNTIL: Op.RELEASE,
            Op.RELEASE: Op.UNTIL,
        }
        if op in dual:
            return self.some(dual[op], [p, q])  # type: ignore[index]
        if op is Op.WEAK_UNTIL:  # !(p W q) = !q U (!p & !q)
            return self.some(Op.UNTIL, [q, p & q])
        return self.some(Op.WEAK_UNTIL, [p | q, q])  # !(q U (p & q)) = !(p & q) W !q

    def bounded(self, every: bool, path: CTL, operands: list[Bools]) -> Bools:
        """One step at a time, from the last step of the interval back to the first."""
        low, high = path.bounds or (0, None)
        p, q = operands[0], operands[-1]
        if path.op is Op.NEXT:
            for _ in range(low):
                p = ~self.ex(~p) if every else self.ex(p)
            return p
        if path.op is Op.ALWAYS:  # the negation of F on the other quantifier
            return ~self._until(not every, self._everywhere, ~p, low, high)
        return self._until(every, p if path.op is Op.UNTIL else self._everywhere, q, low, high)

    def _until(self, every: bool, p: Bools, q: Bools, low: int, high: int | None) -> Bools:
        def before(z: Bools) -> Bools:
            if not every:
                return p & self.ex(z)
            goes_on = ~self._structure.leaves | self._stuttering
            return p & ~self.ex(~z) & goes_on

        if high is None:
            z = ~self.some_negated(Op.UNTIL, [p, q]) if every else self.eu(p, q)
        else:
            z = q
            for _ in range(high - low):
                z = q | before(z)
        for _ in range(low):
            z = before(z)
        return z


def _limit(start: Bools, step: Callable[[Bools], Bools]) -> Bools:
    z = start
    while True:
        after = step(z)
        if np.array_equal(after, z):
            return z
        z = after
