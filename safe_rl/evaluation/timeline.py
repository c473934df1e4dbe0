"""One episode under the microscope: propositions, automaton states and events at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.monitors import Monitor, StepEvents
from safe_rl.specs import SpecSet

Letter = Mapping[str, bool]


@dataclass(frozen=True)
class EpisodeTimeline:
    """What the monitors saw and said, step by step (``T`` letters, the reset's first).

    Attributes:
        specs: the bound specifications.
        propositions: names of the rows of ``letters``.
        letters: bool ``[T, P]``.
        states: automaton state of each instance after each letter, int32 ``[T, I]``.
        events: ``triggered``, ``violated``, ``exposed`` and ``recovered``, bool ``[T, I]`` each;
            what the end of the episode decides is part of the last row.
        verdicts: RV-LTL's verdict after each letter (a :class:`Verdict`), int8 ``[T, I]``.
        pending: events left open at a truncation, int ``[I]``.
        truncated: the episode was cut off rather than finished.
    """

    specs: SpecSet
    propositions: tuple[str, ...]
    letters: NDArray[np.bool_]
    states: NDArray[np.int32]
    events: Mapping[str, NDArray[np.bool_]]
    verdicts: NDArray[np.int8]
    pending: NDArray[np.int64]
    truncated: bool

    @property
    def violations(self) -> list[tuple[int, str]]:
        """Step and instance id of each violation, in order."""
        ids = [instance.id for instance in self.specs.instances]
        steps, instances = np.nonzero(self.events["violated"])
        return [(int(step), ids[int(i)]) for step, i in zip(steps, instances, strict=True)]

    def true_at(self, step: int) -> tuple[str, ...]:
        """Names of the propositions that are true at a step."""
        return tuple(np.asarray(self.propositions)[self.letters[step]].tolist())

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as plain data: letters as lists of true names, events as steps."""
        ids = [instance.id for instance in self.specs.instances]
        return {
            "propositions": list(self.propositions),
            "letters": [list(self.true_at(step)) for step in range(len(self.letters))],
            "truncated": self.truncated,
            "instances": {
                name: {
                    "states": self.states[:, i].tolist(),
                    "verdicts": self.verdicts[:, i].tolist(),
                    "pending": int(self.pending[i]),
                    **{
                        kind: np.flatnonzero(happened[:, i]).tolist()
                        for kind, happened in self.events.items()
                    },
                }
                for i, name in enumerate(ids)
            },
        }


_EVENT_KINDS = ("triggered", "violated", "exposed", "recovered")


def replay(specs: SpecSet, letters: Sequence[Letter], *, truncated: bool) -> EpisodeTimeline:
    """Run the monitors over recorded letters and keep everything they say.

    The same monitor scores a live episode and its recording, so the events of a replay are those
    of the episode.

    Args:
        specs: bound specifications.
        letters: one mapping from proposition to Boolean per step, the reset's first.
        truncated: whether the episode was cut off (then open events are pending) or terminated.

    Raises:
        ConfigurationError: there are no letters.
        GroundingError: a letter lacks a proposition.
    """
    if not letters:
        raise ConfigurationError("an episode has at least the letter of its first state")
    monitor = Monitor(specs)
    steps = [monitor.reset(letters[0])]
    states = [monitor.states]
    for letter in letters[1:]:
        steps.append(monitor.step(letter))
        states.append(monitor.states)
    last = monitor.finish(truncated=truncated)
    summary = monitor.summary()
    events = {kind: _stack(steps, last, kind) for kind in _EVENT_KINDS}
    names = tuple(specs.propositions)
    return EpisodeTimeline(
        specs=specs,
        propositions=names,
        letters=np.array([[bool(letter[name]) for name in names] for letter in letters], bool),
        states=np.array(states, np.int32).reshape(len(letters), -1),
        events=events,
        verdicts=np.array([np.asarray(step.verdict) for step in steps], np.int8).reshape(
            len(letters), -1
        ),
        pending=np.array([counts.pending for counts in summary.values()], np.int64),
        truncated=truncated,
    )


def _stack(steps: Sequence[StepEvents], last: StepEvents, kind: str) -> NDArray[np.bool_]:
    rows: NDArray[np.bool_] = np.array([np.asarray(getattr(step, kind)) for step in steps], bool)
    rows[-1] |= np.asarray(getattr(last, kind), bool)
    return rows
