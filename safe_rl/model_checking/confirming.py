"""Whether a piece of evidence shows what it says, by the definition of paths and of LTLf.

Nothing here asks the checker. The steps of a path are looked up, its end or its loop too; the path
formula is read along it by the reference semantics of LTLf; and operands are read off the labels,
confirmed by their own evidence, or, where no path can show them, found by the textbook's fixpoints.
"""

from __future__ import annotations

from safe_rl.logic import Formula, atom, holds
from safe_rl.logic.ctl import CTL, Quantifier
from safe_rl.logic.ctl_semantics import Leaves, checked_leaves
from safe_rl.logic.formula import Op
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.paths import Evidence, Path
from safe_rl.model_checking.structure import Kripke
from safe_rl.model_checking.textbook import satisfying_by_fixpoints


def confirms(
    structure: Kripke,
    formula: CTL,
    evidence: Evidence,
    *,
    holds: bool,
    leaves: Leaves = "weak",
) -> bool:
    """Return whether ``evidence`` shows that ``formula`` holds, or that it fails.

    Args:
        structure: The structure of the states.
        formula: What the evidence should be about.
        evidence: A path and evidence for its operands.
        holds: Whether it should show that the formula holds.
        leaves: How a path is read that comes to a state without successors.

    Returns:
        False for evidence about another formula or of the other verdict, for a path that the
        structure does not have or that does not decide, and for a part that is not so.

    Raises:
        ConfigurationError: the formula holds ``P``, or ``leaves`` is unknown.

    >>> from safe_rl.model_checking import check, evidence, kripke, parse_ctl
    >>> chain, rule = kripke([[1], []], [{"hot"}, set()], ["hot", "off"]), parse_ctl("AF off")
    >>> shown = evidence(check(chain, rule).checker, rule)
    >>> shown.path, confirms(chain, rule, shown, holds=False)
    (Path(states=(0, 1), loops_to=None, ends=True), True)
    """
    return _Confirming(structure, checked_leaves(leaves)).confirms(formula, evidence, holds)


class _Confirming:
    def __init__(self, structure: Kripke, leaves: Leaves) -> None:
        self._structure = structure
        self._leaves = leaves
        self._found: dict[CTL, Bools] = {}

    def confirms(self, formula: CTL, shown: Evidence, verdict: bool) -> bool:
        if shown.formula is not formula or shown.holds != verdict:
            return False
        if not 0 <= shown.state < self._structure.num_states:
            return False
        if not isinstance(formula.op, Quantifier):
            return self._boolean(formula, shown)
        if shown.path is None:
            return self._truth(formula, shown.state) == verdict
        if (formula.op is Quantifier.SOME) != verdict:
            return False  # no path can show this
        path = shown.path
        if not path.states or path.states[0] != shown.state or not self._is_path(path):
            return False
        return self._decides(formula, shown, path)

    def _boolean(self, formula: CTL, shown: Evidence) -> bool:
        """Read the operator with what the parts show; the rest may be either."""
        known: dict[CTL, bool] = {}
        for _, part in shown.parts:
            if part.state != shown.state or not self.confirms(part.formula, part, part.holds):
                return False
            known[part.formula] = part.holds
        args = list(dict.fromkeys(formula.args))
        if not shown.parts:
            return self._truth(formula, shown.state) == shown.holds
        if any(argument not in args for argument in known):
            return False
        cases = [known]
        for argument in args:
            if argument not in known:
                cases = [{**case, argument: value} for case in cases for value in (False, True)]
        names = {argument: f"{i}" for i, argument in enumerate(args)}
        assert isinstance(formula.op, Op)
        read = Formula(formula.op, tuple(atom(names[argument]) for argument in formula.args))
        return all(
            holds(read, [{names[argument]: case[argument] for argument in args}]) == shown.holds
            for case in cases
        )

    def _is_path(self, path: Path) -> bool:
        count = self._structure.num_states
        if not all(0 <= state < count for state in path.states):
            return False
        steps = list(zip(path.states, path.states[1:], strict=False))
        if path.loops_to is not None:
            if path.ends or not 0 <= path.loops_to < len(path.states):
                return False
            steps.append((path.states[-1], path.states[path.loops_to]))
        if path.ends and len(self._structure.successors(path.states[-1])):
            return False
        return all(target in self._structure.successors(source) for source, target in steps)

    def _decides(self, formula: CTL, shown: Evidence, path: Path) -> bool:
        """Read the path formula along the path, however the path goes on if it is a beginning."""
        (temporal,) = formula.args
        parts: dict[tuple[CTL, int], bool] = {}
        for position, part in shown.parts:
            if not 0 <= position < len(path.states) or part.state != path.states[position]:
                return False
            if part.formula not in temporal.args:
                return False
            if not self.confirms(part.formula, part, part.holds):
                return False
            parts[part.formula, part.state] = part.holds

        def truth(argument: CTL, state: int) -> bool:
            found = parts.get((argument, state))
            return self._truth(argument, state) if found is None else found

        names = {argument: f"{i}" for i, argument in enumerate(dict.fromkeys(temporal.args))}
        low, high = temporal.bounds or (0, None)
        horizon = 1 + (low if high is None else high)
        trace = [
            {name: truth(argument, state) for argument, name in names.items()}
            for state in self._positions(path, horizon)
        ]
        if path.loops_to is None and not path.ends:
            # The operators grow with their operands, so the worst that can follow is nothing true,
            # and the best is everything true.
            trace += [dict.fromkeys(names.values(), not shown.holds)] * (horizon + 1)
        op = temporal.op
        if op is Op.NEXT and formula.op is Quantifier.ALL:
            op = Op.WEAK_NEXT
        assert isinstance(op, Op)
        operands = tuple(atom(names[argument]) for argument in temporal.args)
        return holds(Formula(op, operands, "", temporal.bounds), trace) == shown.holds

    def _positions(self, path: Path, horizon: int) -> list[int]:
        """The states of the path, a loop unrolled until it shows nothing new."""
        states, loop = list(path.states), path.loops_to
        if path.ends and self._leaves == "stuttering":
            loop = len(states) - 1
        if loop is not None:
            circle = states[loop:]
            states += circle * (1 + horizon // len(circle) + 1)
        return states

    def _truth(self, formula: CTL, state: int) -> bool:
        if formula not in self._found:
            self._found[formula] = satisfying_by_fixpoints(self._structure, formula, self._leaves)
        return bool(self._found[formula][state])
