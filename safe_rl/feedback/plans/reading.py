"""From an answer to the actions of a task, or to the outcome that says why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from safe_rl.envs.household.plan import Action, PlanningTask
from safe_rl.feedback.plans.json_steps import PlanTextError
from safe_rl.feedback.plans.lines import LineReader, RawStep
from safe_rl.feedback.plans.names import FILLERS, Vocabulary, plain
from safe_rl.feedback.plans.text import read_steps

_MOST_MEMORIES: Final = 1 << 11
_HOW: Final = "Answer with one action on each line, such as pick(cup)."


class Outcome(StrEnum):
    """What came of a plan; the value is its name in tables."""

    PARSE_ERROR = "parse error"
    """The answer holds no plan that can be read."""
    UNKNOWN_ACTION = "unknown action"
    """A step is no action of the task."""
    WRONG_ARITY = "wrong arity"
    """An action has too many or too few objects."""
    UNKNOWN_OBJECT = "unknown object"
    """An action is about something that is not there."""
    PRECONDITION_FAILURE = "precondition failure"
    """An action could not be done; nothing was violated before."""
    UNSAFE = "unsafe"
    """A rule was violated, whatever else happened later."""
    GOAL_MISSED = "goal missed"
    """The plan was carried out safely and does not reach the goal."""
    SAFE_AND_COMPLETE = "safe and complete"
    """The plan was carried out safely and reaches the goal."""


@dataclass(frozen=True)
class ReadPlan:
    """A plan that was read, or why it could not be.

    Attributes:
        actions: The actions up to what could not be read.
        notes: Names that were not given exactly, and what they were taken for.
        outcome: Why the plan cannot be carried out; ``None`` where it can.
        step: The position of the step to blame, from 0.
        words: What to tell the planner.
    """

    actions: tuple[Action, ...]
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None
    step: int | None = None
    words: str = ""


class _StepError(Exception):
    """A step is no action of the task."""

    def __init__(self, outcome: Outcome, words: str) -> None:
        super().__init__(words)
        self.outcome = outcome


class PlanReader:
    """Reads plans for one task."""

    def __init__(self, task: PlanningTask) -> None:
        """Take the names of actions and objects from a task."""
        self._names = Vocabulary(task)
        self._lines = LineReader(self._names.verbs)
        self._memory: dict[RawStep, tuple[Action, tuple[str, ...]]] = {}

    def read(self, answer: str) -> ReadPlan:
        """Return the plan in an answer."""
        try:
            steps = read_steps(answer, self._lines)
        except PlanTextError as error:
            words = f"The answer cannot be read as a plan: {error}. {_HOW}"
            return ReadPlan((), (), Outcome.PARSE_ERROR, None, words)
        actions: list[Action] = []
        notes: list[str] = []
        for number, step in enumerate(steps):
            found = self._memory.get(step)
            if found is None:
                try:
                    found = self._action(step)
                except _StepError as error:
                    words = f"Step {number + 1} cannot be done: {error}."
                    done = tuple(actions), tuple(dict.fromkeys(notes))
                    return ReadPlan(*done, error.outcome, number, words)
                if len(self._memory) >= _MOST_MEMORIES:
                    self._memory.clear()
                self._memory[step] = found
            actions.append(found[0])
            notes += found[1]
        return ReadPlan(tuple(actions), tuple(dict.fromkeys(notes)))

    def known(self, plan: Sequence[Action]) -> ReadPlan:
        """Return a plan of actions, whose names have to be exact."""
        names = self._names
        for number, (name, args) in enumerate(plan):
            unknown = next((arg for arg in args if arg not in names.objects), None)
            if name not in names.signatures:
                outcome, words = Outcome.UNKNOWN_ACTION, names.unknown_action(name)
            elif len(args) != len(names.signatures[name]):
                outcome, words = Outcome.WRONG_ARITY, names.wrong_arity(name, args)
            elif unknown is not None:
                outcome, words = Outcome.UNKNOWN_OBJECT, names.unknown_object(unknown)
            else:
                continue
            words = f"Step {number + 1} cannot be done: {words}."
            return ReadPlan(tuple(plan[:number]), (), outcome, number, words)
        return ReadPlan(tuple(plan))

    def _action(self, step: RawStep) -> tuple[Action, tuple[str, ...]]:
        """The action that a step means, and what was assumed."""
        if step.words:
            return self._from_words(step)
        name = self._names.action(step.name) if step.name else None
        if name is None or name.name is None:
            written = step.name or step.text
            raise _StepError(Outcome.UNKNOWN_ACTION, self._names.unknown_action(written))
        return self._resolved(name.name, step.args, [name.note])

    def _resolved(
        self, name: str, args: Sequence[str], notes: list[str]
    ) -> tuple[Action, tuple[str, ...]]:
        if len(args) != len(self._names.signatures[name]):
            raise _StepError(Outcome.WRONG_ARITY, self._names.wrong_arity(name, args))
        objects = []
        for arg in args:
            found = self._names.object(arg)
            if found.name is None:
                raise _StepError(Outcome.UNKNOWN_OBJECT, self._names.unknown_object(arg))
            objects.append(found.name)
            notes.append(found.note)
        return Action(name, tuple(objects)), tuple(note for note in notes if note)

    def _from_words(self, step: RawStep) -> tuple[Action, tuple[str, ...]]:
        """The action that words such as "put the cup on the table" mean."""
        words = [plain(word) for word in step.words]
        name, rest = self._verb(words)
        args, left_out = self._objects(rest), ""
        wanted = len(self._names.signatures[name])
        if "from" in rest and len(args) > wanted:  # where a thing is does not change the action
            before = self._objects(rest[: rest.index("from")])
            if len(before) == wanted:
                args, left_out = before, f"{' '.join(rest[rest.index('from') :])!r} was left out"
        notes = [f"{step.text!r} was read as {Action(name, tuple(args))}", left_out]
        return self._resolved(name, args, notes)

    def _verb(self, words: Sequence[str]) -> tuple[str, list[str]]:
        """The action that the first words name, as many of them as can be, and the other words."""
        for count in range(min(self._names.longest_verb, len(words)), 0, -1):
            name = self._names.verb("_".join(words[:count]))
            apart = self._names.verb(f"{words[0]}_{words[-1]}") if len(words) > 2 else None
            if name is not None and apart is not None and words[-1] in _PARTICLES:
                return apart, list(words[1:-1])  # turn the stove on
            if name is not None:
                return name, list(words[count:])
            if count == 1 and apart is not None and words[-1] in _PARTICLES:
                return apart, list(words[1:-1])
        raise _StepError(Outcome.UNKNOWN_ACTION, self._names.unknown_action(" ".join(words)))

    def _objects(self, words: Sequence[str]) -> list[str]:
        """The objects among words; words that name none are arguments too, not to be lost."""
        found: list[str] = []
        at = 0
        while at < len(words):
            for count in range(min(self._names.longest_object, len(words) - at), 0, -1):
                name = self._names.exact_object("_".join(words[at : at + count]))
                if name is not None:
                    found.append(name)
                    at += count
                    break
            else:
                if words[at] not in FILLERS:
                    found.append(words[at])
                at += 1
        return found


_PARTICLES: Final = frozenset({"on", "off", "up", "down"})
