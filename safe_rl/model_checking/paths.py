"""Witnesses and counterexamples: a path that shows why a formula holds or fails.

One path shows that ``E`` holds or that ``A`` fails. That ``A`` holds or ``E`` fails is a matter of
all paths, and no single one shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import CTL, Quantifier
from safe_rl.logic.formula import Op
from safe_rl.model_checking.attractors import every_way, some_way
from safe_rl.model_checking.checking import Checker, Until, read
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.structure import States


@dataclass(frozen=True)
class Path:
    """A path of a structure, as far as it matters.

    Attributes:
        states: Each state is a successor of the one before.
        loops_to: Where the path goes on after its last state: the position in ``states`` of one
            of its successors, to go round for ever; ``None`` if it does not loop.
        ends: Whether the last state has no successor, so that the path ends there.

    A path that neither loops nor ends is a beginning: it decides the formula however it goes on.
    """

    states: tuple[int, ...]
    loops_to: int | None = None
    ends: bool = False


@dataclass(frozen=True)
class Evidence:
    """Why a formula holds or fails in a state.

    Attributes:
        formula: The formula.
        state: The state.
        holds: Whether the formula holds there.
        path: The path that shows it, where one path can.
        parts: Evidence for the operands that decide, each with the position on the path (or 0) of
            its state. Operands without temporal operators are read off the labels.
    """

    formula: CTL
    state: int
    holds: bool
    path: Path | None = None
    parts: tuple[tuple[int, Evidence], ...] = ()

    def longest(self) -> tuple[int, ...]:
        """Return the states of the path and of the paths that go on from its last state.

        >>> from safe_rl.model_checking import check, kripke
        >>> chain = kripke([[1], [2], []], [set(), {"hot"}, set()], ["hot", "off"])
        >>> evidence(check(chain, "AG(hot -> AF off)").checker, "AG(hot -> AF off)").longest()
        (0, 1, 2)
        """
        states = (self.state,) if self.path is None else self.path.states
        onward = [part.longest() for position, part in self.parts if position == len(states) - 1]
        return states + max(onward, key=len, default=states[-1:])[1:]


def evidence(
    checker: Checker, formula: CTL | str, state: int | None = None, *, depth: int = 8
) -> Evidence:
    """Return why ``formula`` holds or fails in ``state``.

    Args:
        checker: Knows the structure and how leaves are read.
        formula: The formula or its text.
        state: Where; by default the first initial state in which it fails, or else the first.
        depth: How many levels of operands are explained.

    Returns:
        For ``E`` that holds and ``A`` that fails, a path: a shortest one into what it must reach
        or must not, or one that never gets there, which ends in a leaf or loops.

    Raises:
        ConfigurationError: there is no such state, or the formula is about probabilities.
    """
    parsed = read(formula, checker.structure)
    satisfying = checker.satisfying(parsed)
    if state is None:
        initial = checker.structure.initial.tolist()
        state = next((s for s in initial if not satisfying[s]), initial[0])
    if not 0 <= state < checker.structure.num_states:
        raise ConfigurationError(
            f"state {state} does not exist; the states are 0 to {checker.structure.num_states - 1}"
        )
    return _explain(checker, parsed, int(state), depth)


def _explain(checker: Checker, f: CTL, state: int, depth: int) -> Evidence:
    holds = bool(checker.satisfying(f)[state])
    if depth <= 0 or f.is_propositional or f.op is Quantifier.PROBABLY:
        return Evidence(f, state, holds)
    if not isinstance(f.op, Quantifier):
        parts = [
            (0, _explain(checker, arg, state, depth - 1)) for arg in _deciding(checker, f, state)
        ]
        return Evidence(f, state, holds, None, tuple(parts))
    if (f.op is Quantifier.SOME) != holds:
        return Evidence(f, state, holds)
    (path,) = f.args
    if path.op is Op.NEXT:
        shown = _steps(checker, f, state, holds)
    else:
        until = checker.until(path)
        shown = (_reach if holds != until.negated else _avoid)(checker, until, state)
    last = len(shown.states) - 1
    parts = [
        (last, _explain(checker, arg, shown.states[last], depth - 1))
        for arg in path.args
        if not arg.is_propositional
    ]
    return Evidence(f, state, holds, shown, tuple(parts))


def _deciding(checker: Checker, f: CTL, state: int) -> list[CTL]:
    """The operands of a Boolean operator that decide it; one is enough where one settles it."""
    args = list(f.args)
    values = [bool(checker.satisfying(arg)[state]) for arg in args]
    match f.op:
        case Op.AND:
            settling = [arg for arg, value in zip(args, values, strict=True) if not value]
        case Op.OR:
            settling = [arg for arg, value in zip(args, values, strict=True) if value]
        case Op.IMPLIES:
            settling = [args[0]] * (not values[0]) + [args[1]] * values[1]
        case _:
            settling = []
    # What the labels settle needs no path.
    return sorted(settling, key=lambda arg: not arg.is_propositional)[:1] or args


def _steps(checker: Checker, f: CTL, state: int, holds: bool) -> Path:
    """A path of k steps for ``X[k]``."""
    (path,) = f.args
    wanted = checker.satisfying(path.args[0])
    sets = checker.after_some(wanted if holds else ~wanted, (path.bounds or (1, 1))[0], keep=True)
    return _along(checker, state, sets)


def _along(checker: Checker, state: int, sets: list[Bools]) -> Path:
    """A path from ``state`` through the sets of states, from the last set to the first."""
    states = [state]
    for allowed in reversed(sets[:-1]):
        onward = checker.structure.successors(states[-1])
        if not len(onward):  # a stuttering leaf stays where it is
            return Path(tuple(states), ends=True)
        states.append(int(onward[np.argmax(allowed[onward])]))
    return Path(tuple(states))


def _reach(checker: Checker, until: Until, state: int) -> Path:
    """A shortest path into the goal, through what it must go through."""
    structure = checker.structure
    ranks = some_way(structure, until.through, until.goal)
    within = None if until.high is None else until.high - until.low
    reached = _reached(ranks, within)
    begun = _along(checker, state, checker.after_some(reached, until.low, until.through, keep=True))
    if begun.ends:
        return begun
    states = list(begun.states)
    while ranks[states[-1]] > 0:
        onward = structure.successors(states[-1])
        states.append(int(onward[np.argmax(ranks[onward] == ranks[states[-1]] - 1)]))
    return Path(tuple(states))


def _avoid(checker: Checker, until: Until, state: int) -> Path:
    """A path on which the until fails: it breaks off, ends, runs out of steps, or loops."""
    structure = checker.structure
    ranks = every_way(structure, until.through, until.goal)
    within = None if until.high is None else until.high - until.low
    reached = _reached(ranks, within)
    sets = checker.after_every(reached, until.low, until.through, keep=True)
    states = [state]
    for wanted in reversed(sets[:-1]):
        if not until.through[states[-1]]:
            return Path(tuple(states))
        onward = structure.successors(states[-1])
        if not len(onward):
            return Path(tuple(states), ends=True)
        states.append(int(onward[np.argmin(wanted[onward])]))
    seen: dict[int, int] = {}
    while True:
        here = states[-1]
        if not until.through[here]:
            return Path(tuple(states))
        onward = structure.successors(here)
        if not len(onward):
            return Path(tuple(states), ends=True)
        if within is not None:
            if within == 0:
                return Path(tuple(states))
            within -= 1
        else:
            seen[here] = len(states) - 1
        states.append(int(onward[np.argmin(_reached(ranks[onward], within))]))
        if states[-1] in seen:
            return Path(tuple(states[:-1]), loops_to=seen[states[-1]])


def _reached(ranks: States, within: int | None) -> Bools:
    return (ranks >= 0) & (ranks <= within) if within is not None else ranks >= 0
