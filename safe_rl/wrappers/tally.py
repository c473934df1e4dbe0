"""What has happened in an episode so far, on arrays, for one environment and for many."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.monitors import CountArrays, MonitorState, StepEvents, Verdict, fulfilled
from safe_rl.monitors.events import CLOSED, EXPOSED, RECOVERED, TRIGGERED, VIOLATED

Ints = NDArray[np.int32]

_COUNTED: Final = np.array([TRIGGERED, VIOLATED, EXPOSED, RECOVERED], np.uint8)
_FULFILLED: Final = len(_COUNTED)
_PENDING: Final = _FULFILLED + 1


class Happened(NamedTuple):
    """Events of one step, int32 ``[..., instances]``.

    Those of an episode's first letter stand in its first step, those that its end decides in its
    last. ``triggered`` may be negative at a truncation, which takes the pending events back.
    """

    triggered: Ints
    violated: Ints
    exposed: Ints
    recovered: Ints
    fulfilled: Ints


class Tally(NamedTuple):
    """Events since the reset, one row of ``counts`` for each kind: N, V, U, recovered, fulfilled.

    One array holds them all, since an episode's every step adds to it. A last row holds the events
    that a truncation left pending, which N has lost.

    Attributes:
        counts: int32 ``[6, ..., instances]``.
    """

    counts: Ints

    def to_counts(self, events: StepEvents) -> CountArrays:
        """Return N, V, U, pending and the verdict, as the monitors define them, ``[..., I]``.

        ``events`` are those of the last step, for the verdict of what was never violated.
        """
        triggered, violated, exposed, _, _, pending = self.counts
        final = np.where(violated > 0, np.int8(Verdict.VIOLATED), np.asarray(events.verdict))
        return CountArrays(triggered.copy(), violated.copy(), exposed.copy(), pending.copy(), final)

    @property
    def N(self) -> Ints:
        """Triggered events, without those pending."""
        return self.counts[0]

    @property
    def V(self) -> Ints:
        """Violations."""
        return self.counts[1]

    @property
    def U(self) -> Ints:
        """Steps in violation."""
        return self.counts[2]

    @property
    def pending(self) -> Ints:
        """Triggered events that a truncation left open."""
        return self.counts[_PENDING]


def empty_tally(num_instances: int, batch_shape: tuple[int, ...] = ()) -> Tally:
    """Return the tally of an episode in which nothing has happened."""
    return Tally(np.zeros((_PENDING + 1, *batch_shape, num_instances), np.int32))


def add_letter(tally: Tally, before: MonitorState, events: StepEvents) -> Tally:
    """Return ``tally`` after a letter that brought ``events`` to monitors in state ``before``."""
    counts = tally.counts.copy()
    counts[:_FULFILLED] += _bits(events)
    counts[_FULFILLED] += fulfilled(before, events)
    return Tally(counts)


def add_final(tally: Tally, final: StepEvents, pending: Ints) -> Tally:
    """Return ``tally`` with what an episode's end decided put in.

    ``final`` and ``pending`` are what :func:`safe_rl.monitors.finish` returned.
    """
    counts = tally.counts.copy()
    counts[:_FULFILLED] += _bits(final)
    counts[0] -= pending
    counts[_PENDING] = pending
    return Tally(counts)


def happened_since(now: Tally, before: Tally) -> Happened:
    """Return the events that ``now`` has and ``before`` had not."""
    return Happened(*(now.counts - before.counts)[:_PENDING])


def with_end(events: StepEvents, final: StepEvents) -> StepEvents:
    """Return the events of an episode's last letter with what its end decided put in.

    What happened at either stays; the verdict is that of the end.
    """
    happened = TRIGGERED | VIOLATED | EXPOSED | RECOVERED | CLOSED
    return StepEvents((events.codes & happened) | final.codes)


def _bits(events: StepEvents) -> NDArray[np.bool_]:
    """Spread packed events out, bool ``[4, ..., I]``."""
    codes: NDArray[np.uint8] = events.codes
    return (codes & _COUNTED.reshape(-1, *(1 for _ in codes.shape))) != 0
