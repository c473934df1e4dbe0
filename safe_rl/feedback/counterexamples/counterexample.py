"""What a monitor has to say about a trace, as frozen values: counterexamples and the feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from safe_rl.feedback.counterexamples import words
from safe_rl.monitors import Verdict
from safe_rl.specs import Binding, Phrases

Kind = Literal["violation", "pending", "untriggered"]
KINDS: Final = ("violation", "pending", "untriggered")
Word = tuple[frozenset[str], ...]
"""Letters in a row, each the set of the instance's propositions that are true."""


class Change(NamedTuple):
    """A proposition and a truth value."""

    proposition: str
    value: bool


class Repair(NamedTuple):
    """A change of one step of the trace after which nothing is violated any more.

    Attributes:
        step: of the trace, 0 being its first letter.
        changes: the propositions to change at this step, with the values to give them.
    """

    step: int
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Counterexample:
    """What one monitor instance has to say about one trace. Steps count from 0, the first letter.

    Attributes:
        kind: ``"violation"``; ``"pending"``: the trace was cut off while something was owed;
            ``"untriggered"``: the trace never put the rule to the test.
        specification: its id.
        instance: its id with the bound objects.
        category: of the specification.
        objects: variable to object.
        rule: the rule in words; may be empty.
        formula: over the bound propositions.
        trigger: over the bound propositions.
        clauses: the conjuncts of the formula that were broken (still owed, if pending); empty where
            it cannot be told, because they were broken only together.
        verdict: RV-LTL's, after ``step`` and what the end of the trace decided.
        step: of the violation; the last step if pending or untriggered.
        by_end: the end of the trace decided, and no letter.
        triggered: step of the triggered event: the first that was open, else the last. ``None``
            where there was none.
        start: the first step of ``trace``: that of the trigger, or of a recovery after it; 0 where
            nothing triggered.
        trace: the letters from ``start`` to ``step``; empty if untriggered.
        before: the letter in front of ``step``; ``None`` where that is 0, or if untriggered.
        propositions: the instance's own, to which letters are restricted.
        deciding: the propositions that decided, with the values they had: any one otherwise would
            have averted the violation at this step. Empty where the end decided, or where by then
            no single letter could avert it.
        together: all of ``deciding`` would have had to be otherwise.
        nearest: the letter nearest to that of ``step`` that would not have violated, or ``None``.
        repairs: every smallest change of a single step of ``trace`` after which neither ``step``
            nor a step before it violates, nor the end where the end decided; the latest steps
            first, eight at most. Empty where no change of one step helps.
        insertion: the shortest letters which, put in front of ``step``, make its letter harmless;
            ``None`` where nothing would, or where the end decided.
        fulfilment: the shortest letters after which the trace may end, from before ``step`` (from
            the end, if the end decided or is pending), or ``None``.
        doom: the shortest letters into a violation, from the same place, or ``None``.
        recovery: the shortest letters from the violation to a recovery, or ``None``.
        recovered: step of the recovery, or ``None``.
        exposed: steps in violation.
        phrases: bound propositions in words, for those that have words.

    >>> from safe_rl.feedback import explain
    >>> from safe_rl.specs import Specification
    >>> rule = Specification("lid_first", "G(lifted -> lid_on)", says="Lid before lift.")
    >>> (found,) = explain([rule], [set(), {"lifted"}]).violations
    >>> found.step, found.deciding
    (1, (Change(proposition='lifted', value=True), Change(proposition='lid_on', value=False)))
    >>> found.hint
    'Before lifted is true, make sure that lid_on is true.'
    """

    kind: Kind
    specification: str
    instance: str
    category: str
    objects: Binding
    rule: str
    formula: str
    trigger: str
    clauses: tuple[str, ...]
    verdict: Verdict
    step: int
    by_end: bool
    triggered: int | None
    start: int
    trace: Word
    before: frozenset[str] | None
    propositions: tuple[str, ...]
    deciding: tuple[Change, ...]
    together: bool
    nearest: frozenset[str] | None
    repairs: tuple[Repair, ...]
    insertion: Word | None
    fulfilment: Word | None
    doom: Word | None
    recovery: Word | None
    recovered: int | None
    exposed: int
    phrases: Phrases = field(default_factory=Phrases)

    @property
    def hint(self) -> str:
        """How to avoid it, in one sentence or two."""
        return words.hint(self)

    def text(self, labels: Sequence[str] = ()) -> str:
        """Return a few lines for people.

        Args:
            labels: what each step is called, such as the action that led to it.
        """
        return words.text(self, labels)

    def prompt(self, labels: Sequence[str] = ()) -> str:
        """Return the same as sentences for a language model; ``labels`` as in :meth:`text`."""
        return words.prompt(self, labels)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, which ``json`` can write; see ``counterexamples/plain_data``."""
        from safe_rl.feedback.counterexamples.plain_data import counterexample_to_json

        return counterexample_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Counterexample:
        """Return the counterexample that :meth:`to_json` gave.

        Raises:
            RecordingError: a key is missing or unknown, or its value is not of its kind.
        """
        from safe_rl.feedback.counterexamples.plain_data import counterexample_from_json

        return counterexample_from_json(data)


def counterexample_of(parts: Mapping[str, Any]) -> Counterexample:
    """Return a counterexample with these attributes, which must be all of them.

    A frozen dataclass sets its attributes one by one, which for these many takes longer than to
    find them.
    """
    found = object.__new__(Counterexample)
    found.__dict__.update(parts)
    return found


@dataclass(frozen=True)
class Feedback:
    """What the monitors have to say about one trace.

    Attributes:
        steps: letters in the trace.
        truncated: the trace was cut off; else it is complete.
        verdicts: per instance id, the verdict after the end of the trace: ``VIOLATED`` once there
            was a violation.
        counterexamples: the violations by step, then what is pending, then what never triggered.
    """

    steps: int
    truncated: bool
    verdicts: Mapping[str, Verdict]
    counterexamples: tuple[Counterexample, ...]

    @property
    def violations(self) -> tuple[Counterexample, ...]:
        """The violations by step; one instance may have several, with recoveries between."""
        return self._of("violation")

    @property
    def pending(self) -> tuple[Counterexample, ...]:
        """What was owed when the trace was cut off."""
        return self._of("pending")

    @property
    def untriggered(self) -> tuple[Counterexample, ...]:
        """The instances that the trace never put to the test."""
        return self._of("untriggered")

    @property
    def violated(self) -> bool:
        """Whether anything was violated."""
        return Verdict.VIOLATED in self.verdicts.values()

    @property
    def vacuous(self) -> bool:
        """Whether no instance was put to the test: nothing triggered, nothing violated."""
        return len(self.untriggered) == len(self.verdicts)

    def text(self, labels: Sequence[str] = ()) -> str:
        """Return a few lines for people for each counterexample.

        Args:
            labels: what each step is called, such as the action that led to it.
        """
        return words.feedback_text(self, labels)

    def prompt(self, labels: Sequence[str] = ()) -> str:
        """Return the same as instructions for a language model; ``labels`` as in :meth:`text`."""
        return words.feedback_prompt(self, labels)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, which ``json`` can write."""
        from safe_rl.feedback.counterexamples.plain_data import feedback_to_json

        return feedback_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Feedback:
        """Return the feedback that :meth:`to_json` gave.

        Raises:
            RecordingError: a key is missing or unknown, or its value is not of its kind.
        """
        from safe_rl.feedback.counterexamples.plain_data import feedback_from_json

        return feedback_from_json(data)

    def _of(self, kind: Kind) -> tuple[Counterexample, ...]:
        return tuple(c for c in self.counterexamples if c.kind == kind)
