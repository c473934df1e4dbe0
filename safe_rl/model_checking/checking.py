"""CTL on a structure: which states satisfy a formula, one operator after the other.

Each path operator is an until or the negation of one (Baier and Katoen, "Principles of Model
Checking", section 6.4), so two searches suffice; both are linear in states and edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import CTL, Quantifier, subformulas
from safe_rl.logic.ctl_parser import parse_ctl
from safe_rl.logic.ctl_semantics import Leaves, checked_leaves
from safe_rl.logic.formula import Op
from safe_rl.model_checking.attractors import every_way, some_way, some_way_in_tree
from safe_rl.model_checking.booleans import states_of
from safe_rl.model_checking.labels import Bools, unknown_proposition
from safe_rl.model_checking.structure import Kripke, frozen
from safe_rl.model_checking.tree import ComputationTree


class Until(NamedTuple):
    """A path formula as ``through U[low,high] goal``, or as its negation.

    Attributes:
        through: where the path may be before the goal, ``bool[states]``.
        goal: where it must come, ``bool[states]``.
        low: the goal counts from this step on.
        high: and up to this one, or for ever.
        negated: the path formula is that this until fails.
    """

    through: Bools
    goal: Bools
    low: int
    high: int | None
    negated: bool


class Checker:
    """Finds the states that satisfy formulas on one structure, and remembers them.

    >>> from safe_rl.model_checking import kripke
    >>> lamp = kripke([[0, 1], [0]], [set(), {"on"}])
    >>> Checker(lamp).satisfying("EX on").tolist(), Checker(lamp).satisfying("AF on").tolist()
    ([True, False], [False, True])
    """

    def __init__(self, structure: Kripke, leaves: Leaves = "weak") -> None:
        """Check formulas on ``structure``; ``leaves`` says how the end of a path is read.

        Raises:
            ConfigurationError: ``leaves`` is neither ``"weak"`` nor ``"stuttering"``.
        """
        self.structure = structure
        self.leaves = checked_leaves(leaves)
        self._found: dict[CTL, Bools] = {}

    def satisfying(self, formula: CTL | str) -> Bools:
        """Return the states that satisfy a formula, ``bool[states]``.

        Raises:
            FormulaSyntaxError: a text is no CTL formula.
            UnknownPropositionError: it names a proposition that the structure does not have.
            ConfigurationError: it holds ``P``, which needs probabilities.
        """
        parsed = read(formula, self.structure)
        for node in subformulas(parsed):
            if node.is_state and node not in self._found:
                self._found[node] = frozen(self._evaluate(node))
        return self._found[parsed]

    def _evaluate(self, f: CTL) -> Bools:
        if isinstance(f.op, Quantifier):
            return self._probable(f) if f.op is Quantifier.PROBABLY else self._quantified(f)
        return states_of(self.structure, f, [self._found[arg] for arg in f.args])

    def _probable(self, f: CTL) -> Bools:
        raise ConfigurationError(
            f"{f} is about probabilities, which this structure does not have; check it on a "
            "MarkovChain, or judge it by the sampled rollouts of a computation tree with judge()"
        )

    def _quantified(self, f: CTL) -> Bools:
        (path,) = f.args
        if path.op is Op.NEXT:
            (operand,) = path.args
            steps = (path.bounds or (1, 1))[0]
            states = self._found[operand]
            if f.op is Quantifier.ALL:
                return ~self.after_some(~states, steps)[-1]
            return self.after_some(states, steps)[-1]
        until = self.until(path)
        if (f.op is Quantifier.SOME) != until.negated:
            found = self._some(until)
        else:
            found = self._every(until)
        return ~found if until.negated else found

    def until(self, path: CTL) -> Until:
        """Return a path formula other than ``X`` as an until; its operands must be known."""
        low, high = path.bounds or (0, None)
        everywhere = np.ones(self.structure.num_states, dtype=bool)
        match path.op, [self._found[arg] for arg in path.args]:
            case Op.EVENTUALLY, [p]:
                return Until(everywhere, p, low, high, False)
            case Op.ALWAYS, [p]:
                return Until(everywhere, ~p, low, high, True)
            case Op.UNTIL, [p, q]:
                return Until(p, q, low, high, False)
            case Op.STRONG_RELEASE, [p, q]:
                return Until(q, p & q, low, high, False)
            case Op.WEAK_UNTIL, [p, q]:
                return Until(~q, ~p & ~q, low, high, True)
            case Op.RELEASE, [p, q]:
                return Until(~p, ~q, low, high, True)
        raise AssertionError(f"{path.op!r} is no until")

    def _some(self, until: Until) -> Bools:
        structure = self.structure
        if until.high is None and isinstance(structure, ComputationTree):
            states = some_way_in_tree(structure, until.through, until.goal)
        else:
            states = _within(some_way(structure, until.through, until.goal), until)
        return self.after_some(states, until.low, until.through)[-1]

    def _every(self, until: Until) -> Bools:
        structure = self.structure
        if until.high is None and isinstance(structure, ComputationTree):
            # A tree has no endless paths: an until fails where a path leaves it, or ends first.
            fails = ~until.goal & (~until.through | structure.leaves)
            states = ~some_way_in_tree(structure, ~until.goal, fails)
        else:
            states = _within(every_way(structure, until.through, until.goal), until)
        return self.after_every(states, until.low, until.through)[-1]

    def after_some(
        self, states: Bools, steps: int, through: Bools | None = None, *, keep: bool = False
    ) -> list[Bools]:
        """Return where some path is in ``states`` after 0, 1 … ``steps`` steps.

        Before it comes there it is in ``through``. Only the last of them, unless ``keep``.
        """
        found = [states]
        for _ in range(steps):
            before = self._predecessors(found[-1])
            if through is not None:
                before &= through
            if not keep and np.array_equal(before, found[-1]):
                break
            found = [*found, before] if keep else [before]
        return found

    def after_every(
        self, states: Bools, steps: int, through: Bools, *, keep: bool = False
    ) -> list[Bools]:
        """Return where every path is in ``states`` after 0, 1 … ``steps`` steps.

        Before it comes there it is in ``through`` and does not end.
        """
        found = [states]
        for _ in range(steps):
            before = ~self._predecessors(~found[-1]) & through
            if self.leaves == "weak":
                before &= ~self.structure.leaves
            if not keep and np.array_equal(before, found[-1]):
                break
            found = [*found, before] if keep else [before]
        return found

    def _predecessors(self, states: Bools) -> Bools:
        """The states with a successor in ``states``."""
        structure = self.structure
        found = np.zeros(structure.num_states, dtype=bool)
        found[structure.sources[states[structure.targets]]] = True
        if self.leaves == "stuttering":
            found |= states & structure.leaves
        return found


def _within(ranks: np.ndarray[tuple[int], np.dtype[np.int32]], until: Until) -> Bools:
    found = ranks >= 0
    if until.high is not None:
        found &= ranks <= until.high - until.low
    return found


def read(formula: CTL | str, structure: Kripke) -> CTL:
    """Return the formula, parsed if it is a text.

    Raises:
        FormulaSyntaxError: a text is no CTL formula.
        UnknownPropositionError: it names a proposition that the structure does not have.
        ConfigurationError: it is a path formula.
    """
    if isinstance(formula, str):
        return parse_ctl(formula, structure.propositions)
    if not isinstance(formula, CTL) or not formula.is_state:
        raise ConfigurationError(
            f"expected a CTL formula or its text, but got {formula!r} "
            f"({type(formula).__name__}); read a text with parse_ctl"
        )
    for name in formula.atoms:
        if name not in structure.propositions:
            raise unknown_proposition(name, structure.propositions)
    return formula
