"""What one monitor instance has to say about a run: its violations, what it is owed, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, NamedTuple

from safe_rl.automata.distance import Flips
from safe_rl.feedback.counterexamples.clauses import clause_monitor
from safe_rl.feedback.counterexamples.counterexample import (
    Change,
    Counterexample,
    Kind,
    Repair,
    Word,
    counterexample_of,
)
from safe_rl.feedback.counterexamples.repairs import smallest_repairs
from safe_rl.feedback.counterexamples.runs import Place, Run, marks
from safe_rl.monitors import EventMachine, Verdict, build_machine
from safe_rl.monitors.continuations import Goal, Truths, shortest_continuation, shortest_insertion
from safe_rl.monitors.deciding import deciding_atoms, harmless_ways
from safe_rl.monitors.events import CLOSED, RECOVERED, TRIGGERED, VIOLATED
from safe_rl.monitors.machine import terminated_code
from safe_rl.specs import Instance, Phrases, Specification

_KEPT: Final = 4096
"""So many answers of each kind are remembered for an instance: traces of one domain repeat them."""
_KEPT_LETTERS: Final = 64
"""Longer stretches of a trace are not remembered: they hardly come again."""

_NOTHING: Final[Mapping[str, Any]] = {
    "clauses": (),
    "by_end": False,
    "triggered": None,
    "start": 0,
    "trace": (),
    "before": None,
    "deciding": (),
    "together": False,
    "nearest": None,
    "repairs": (),
    "insertion": None,
    "fulfilment": None,
    "doom": None,
    "recovery": None,
    "recovered": None,
    "exposed": 0,
}


_TRIGGERED, _CLOSED, _RECOVERED = marks(TRIGGERED), marks(CLOSED), marks(RECOVERED)


class Subject:
    """One monitor instance, with everything about it that does not depend on the trace.

    Attributes:
        id: of the instance.
        machine: over distinct propositions.
        names: the proposition of each of the machine's atoms.
    """

    def __init__(self, instance: Instance) -> None:
        """Compile the monitor.

        Raises:
            CompilationLimitError: an automaton passes its limit.
        """
        self._instance = instance
        self._rule = _over_distinct_propositions(instance)
        self.id = instance.id
        self.machine: EventMachine = build_machine(self._rule)
        self.names = tuple(instance.atoms.get(atom, atom) for atom in self._rule.atoms)
        self._clauses = clause_monitor(self._rule)
        self._over: dict[int, tuple[bool, Verdict]] = {}
        self._sets: dict[Truths, frozenset[str]] = {}
        self._steps: dict[tuple[int, Truths, Truths], dict[str, Any]] = {}
        self._ends: dict[tuple[int, Truths], dict[str, Any]] = {}
        self._stretches: dict[tuple[int, int, bool, tuple[Truths, ...]], _Stretch] = {}
        self._untested: dict[tuple[int, Verdict], Counterexample] = {}

    def put(self, place: Place) -> None:
        """Say where the instance stands in the runs to come."""
        columns, self._block, self._position = place
        self._truths: Callable[[bytes], Truths]
        if len(columns) > 1:
            self._truths = itemgetter(*columns)
        else:
            self._truths = lambda flat: tuple([flat[column] for column in columns])

    def state(self, run: Run, step: int) -> int:
        """Return the state before the letter of a step."""
        return run.rows[step][self._block].states[self._position]

    def at_the_end(self, run: Run) -> tuple[bool, Verdict]:
        """Return whether the end violates if nothing may follow, and the verdict if it may."""
        state = run.rows[-1][self._block].states[self._position]
        found = self._over.get(state)
        if found is None:
            broken = terminated_code(self.machine, state) & VIOLATED != 0
            found = self._over[state] = broken, self.machine.verdict(state)
        return found

    def violation(self, run: Run, column: bytes, step: int, *, by_end: bool) -> Counterexample:
        """Explain a violation.

        Args:
            run: what happened.
            column: the instance's packed events, step by step.
            step: of the violation; the last one if the end decided.
            by_end: the end of the trace decided, and no letter.
        """
        recovered = column.translate(_RECOVERED).find(1, step + 1)
        ended = len(column) if recovered < 0 else recovered
        parts = self._at_end(run, step) if by_end else self._at_step(run, step)
        return self._counterexample(
            "violation",
            run,
            column,
            step,
            by_end,
            {
                **parts,
                "verdict": Verdict.VIOLATED,
                "recovered": None if recovered < 0 else recovered,
                "exposed": ended - step,
            },
        )

    def owed(self, run: Run, column: bytes, step: int) -> Counterexample:
        """Explain what is owed where the trace was cut off; ``step`` is its last."""
        parts = {**self._at_end(run, step), "verdict": Verdict.PRESUMABLY_VIOLATED}
        return self._counterexample("pending", run, column, step, True, parts)

    def untested(self, step: int, verdict: Verdict) -> Counterexample:
        """Say that the trace never put the rule to the test; ``step`` is its last."""
        found = self._untested.get((step, verdict))
        if found is None:
            parts = {"kind": "untriggered", "step": step, "verdict": verdict}
            found = counterexample_of({**self._always, **parts})
            _keep(self._untested, (step, verdict), found)
        return found

    @cached_property
    def _always(self) -> dict[str, Any]:
        """What every counterexample of the instance says, where nothing else is found."""
        instance, spec = self._instance, self._instance.specification
        return {
            **_NOTHING,
            "specification": spec.id,
            "instance": instance.id,
            "category": spec.category,
            "objects": instance.binding,
            "rule": instance.says,
            "formula": str(instance.formula),
            "trigger": str(spec.trigger.rename(instance.atoms)),
            "propositions": self.names,
            "phrases": Phrases(instance.phrases),
        }

    @cached_property
    def _clause_texts(self) -> tuple[str, ...]:
        atoms = self._instance.atoms
        return tuple(str(clause.rename(atoms)) for clause in self._clauses.clauses)

    def _counterexample(
        self,
        kind: Kind,
        run: Run,
        column: bytes,
        step: int,
        by_end: bool,
        parts: Mapping[str, Any],
    ) -> Counterexample:
        """Put together what is found at the step and over the stretch of trace up to it."""
        armed_since = max(column.translate(_RECOVERED).rfind(1, 0, step + 1), 0)
        triggers = column.translate(_TRIGGERED)
        # The end of the trace decides after its last letter, a letter decides on itself.
        closed = column.translate(_CLOSED).rfind(1, 0, step + 1 if by_end else step)
        triggered = triggers.find(1, closed + 1, step + 1)
        if triggered < 0:
            triggered = triggers.rfind(1, 0, step + 1)
        start = max(triggered, armed_since)
        letters = tuple(map(self._truths, run.letters[armed_since : step + 1]))
        stretch = self._stretch(self.state(run, armed_since), start - armed_since, by_end, letters)
        return counterexample_of(
            {
                **self._always,
                **parts,
                "kind": kind,
                "step": step,
                "by_end": by_end and kind == "violation",
                "triggered": None if triggered < 0 else triggered,
                "start": start,
                "trace": stretch.trace,
                "before": self._set(self._truths(run.letters[step - 1])) if step else None,
                "clauses": stretch.clauses,
                "repairs": tuple([Repair(start + at, changes) for at, changes in stretch.repairs]),
            }
        )

    def _at_step(self, run: Run, step: int) -> dict[str, Any]:
        """What is found from the state and the letter of a violation."""
        state, letter = self.state(run, step), self._truths(run.letters[step])
        before = self._truths(run.letters[step - 1]) if step else letter
        key = (state, letter, before)
        found = self._steps.get(key)
        if found is None:
            machine = self.machine
            decision = deciding_atoms(machine, state, letter)
            ways = harmless_ways(machine, state, letter)
            after, _ = machine.transition(state, letter)
            found = {
                "deciding": tuple(Change(self.names[i], bool(letter[i])) for i in decision.atoms),
                "together": decision.together,
                "nearest": self._set(flipped(letter, ways[0].flips)) if ways else None,
                "insertion": self._word(shortest_insertion(machine, state, letter, before)),
                "fulfilment": self._continuation(state, "fulfilment", before),
                "doom": self._continuation(state, "doom", letter),
                "recovery": self._continuation(after, "recovery", letter),
            }
            _keep(self._steps, key, found)
        return found

    def _at_end(self, run: Run, step: int) -> dict[str, Any]:
        """What is found from the state and the letter after which the trace ended."""
        state, letter = self.state(run, step + 1), self._truths(run.letters[step])
        found = self._ends.get((state, letter))
        if found is None:
            found = {
                "fulfilment": self._continuation(state, "fulfilment", letter),
                "doom": self._continuation(state, "doom", letter),
            }
            _keep(self._ends, (state, letter), found)
        return found

    def _stretch(
        self, state: int, offset: int, by_end: bool, letters: tuple[Truths, ...]
    ) -> _Stretch:
        """What is found over the letters since the instance was armed.

        Args:
            state: before the first of them.
            offset: how many of them come before the trigger.
            by_end: the end after them decided.
            letters: truths of the atoms.
        """
        key = (state, offset, by_end, letters)
        found = self._stretches.get(key)
        if found is None:
            states = [state]
            for letter in letters:
                states.append(self.machine.transition(states[-1], letter)[0])
            since = letters[offset:]
            broken = self._clauses.broken(letters, by_end=by_end)
            repairs = smallest_repairs(self.machine, states[offset:-1], since, by_end=by_end)
            found = _Stretch(
                trace=tuple(map(self._set, since)),
                clauses=tuple(self._clause_texts[i] for i in broken),
                repairs=tuple((at, self._changes(since[at], flips)) for at, flips in repairs),
            )
            if len(letters) <= _KEPT_LETTERS:
                _keep(self._stretches, key, found)
        return found

    def _set(self, letter: Truths) -> frozenset[str]:
        found = self._sets.get(letter)
        if found is None:
            pairs = zip(self.names, letter, strict=True)
            found = frozenset(name for name, value in pairs if value)
            _keep(self._sets, letter, found)
        return found

    def _changes(self, letter: Truths, flips: Flips) -> tuple[Change, ...]:
        return tuple(Change(self.names[i], not letter[i]) for i in flips)

    def _word(self, letters: tuple[Truths, ...] | None) -> Word | None:
        return None if letters is None else tuple(map(self._set, letters))

    def _continuation(self, state: int, goal: Goal, letter: Truths) -> Word | None:
        return self._word(shortest_continuation(self.machine, state, goal, letter))


class _Stretch(NamedTuple):
    """What was found over the letters up to a violation; steps count from the trigger."""

    trace: Word
    clauses: tuple[str, ...]
    repairs: tuple[tuple[int, tuple[Change, ...]], ...]


def flipped(letter: Truths, flips: Flips) -> Truths:
    """Return the letter with some atoms turned over."""
    return tuple(value ^ (i in flips) for i, value in enumerate(letter))


def _keep(memory: dict[Any, Any], key: Any, value: Any) -> None:
    if len(memory) >= _KEPT:
        memory.clear()
    memory[key] = value


def _over_distinct_propositions(instance: Instance) -> Specification:
    """Return the specification whose atoms, bound to the objects, are all different.

    Where an object is named in a formula and is also bound to its variable, two atoms of the
    specification are one proposition, and no letter could change only one of them.
    """
    spec, names = instance.specification, instance.atoms
    if len(set(names.values())) == len(names):
        return spec
    return Specification(
        spec.id,
        spec.formula.rename(names),
        trigger=spec.trigger.rename(names),
        recovery=None if spec.recovery is None else spec.recovery.rename(names),
        semantics=spec.semantics,
    )
