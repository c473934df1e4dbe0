"""The monitors over whole recorded episodes, side by side as arrays.

An audit counts what is on such a tape, and the annotations of an episode are read off it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools, Episode
from safe_rl.errors import GroundingError, near
from safe_rl.monitors import MonitorState, MonitorTables, StepEvents, finish, initial_state, step
from safe_rl.specs import SpecSet
from safe_rl.wrappers.tally import with_end

Ints = NDArray[np.int64]

EPISODES_AT_ONCE = 64
"""Episodes that are monitored side by side; bounds the memory, not the result."""


@dataclass(frozen=True)
class EventTape:
    """What every monitor said at every frame of ``E`` episodes, the longest of ``L`` frames.

    Attributes:
        frames: how many frames each episode has, int64 ``[E]``; what lies beyond is zero.
        codes: packed events (see ``safe_rl.monitors.events``), with what the end decides put into
            the last frame, uint8 ``[L, E, I]``.
        states: automaton states before each letter, int32 ``[L, E, I]``.
        last_states: automaton states after the last letter, int32 ``[E, I]``.
        by_end: what the end of the episode decided, uint8 ``[E, I]``.
        pending: events left open at a truncation, int64 ``[E, I]``.
    """

    frames: Ints
    codes: NDArray[np.uint8]
    states: NDArray[np.int32]
    last_states: NDArray[np.int32]
    by_end: NDArray[np.uint8]
    pending: Ints

    @property
    def events(self) -> StepEvents:
        """The events as ``StepEvents``, arrays ``[L, E, I]``."""
        return StepEvents(self.codes)


def letter_columns(specs: SpecSet, propositions: Sequence[str]) -> NDArray[np.intp]:
    """Where each proposition of the specifications stands among the recorded ones.

    Raises:
        GroundingError: some are not recorded; the message says which specifications could be
            audited. A missing proposition is never read as false.
    """
    places = {name: i for i, name in enumerate(propositions)}
    missing = [name for name in specs.propositions if name not in places]
    if missing:
        lacking = {
            instance.specification.id
            for instance in specs.instances
            if any(atom not in places for atom in instance.atoms.values())
        }
        able = [spec_id for spec_id in specs.ids if spec_id not in lacking]
        listed = ", ".join(_suggested(name, propositions) for name in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise GroundingError(
            f"the propositions {listed}{more} are not recorded, and a missing one is never read "
            f"as false; specifications that this recording can serve: {', '.join(able) or 'none'}; "
            f"propositions that are recorded: {', '.join(propositions) or 'none'}"
        )
    return np.array([places[name] for name in specs.propositions], np.intp)


def _suggested(name: str, recorded: Sequence[str]) -> str:
    hint = near(name, recorded).removeprefix("; ")
    return f"{name!r} ({hint})" if hint else repr(name)


def run_monitors(tables: MonitorTables, letters: Sequence[Bools], terminated: Bools) -> EventTape:
    """Let the monitors read whole episodes side by side.

    Args:
        tables: the monitors, with ``axis=-1``.
        letters: of each episode, bool ``[frames, P]``, the columns being ``tables.propositions``.
        terminated: which episodes terminated, bool ``[E]``; the others were truncated.
    """
    frames = np.array([len(own) for own in letters], np.int64)
    order = np.argsort(-frames, kind="stable")  # those still running are the first rows
    longest, count, size = int(frames.max()), len(letters), tables.num_instances
    padded = np.zeros((longest, count, tables.num_propositions), np.bool_)
    for row, episode in enumerate(order):
        padded[: frames[episode], row] = letters[episode]
    running = (np.arange(longest)[:, None] < frames[order]).sum(axis=1)
    codes = np.zeros((longest, count, size), np.uint8)
    states = np.zeros((longest, count, size), np.int32)
    automaton, is_open = (np.array(part) for part in initial_state(tables, (count,)))
    for t in range(longest):
        live = int(running[t])
        states[t, :live] = automaton[:live]
        state, events = step(
            tables, MonitorState(automaton[:live], is_open[:live]), padded[t, :live]
        )
        automaton[:live], is_open[:live] = state
        codes[t, :live] = events.codes
    last = frames[order] - 1
    rows = np.arange(count)
    final, pending = finish(tables, MonitorState(automaton, is_open), terminated[order])
    codes[last, rows] = with_end(StepEvents(codes[last, rows]), final).codes
    back = np.argsort(order)
    return EventTape(
        frames=frames,
        codes=codes[:, back],
        states=states[:, back],
        last_states=automaton[back],
        by_end=np.asarray(final.codes)[back],
        pending=np.asarray(pending, np.int64)[back],
    )


def in_portions(episodes: Sequence[Episode]) -> Iterator[Sequence[Episode]]:
    """Yield the episodes, so many at a time."""
    for first in range(0, len(episodes), EPISODES_AT_ONCE):
        yield episodes[first : first + EPISODES_AT_ONCE]


def tape_of(
    tables: MonitorTables, columns: NDArray[np.intp], episodes: Sequence[Episode]
) -> EventTape:
    """Run the monitors over episodes, given where their propositions stand."""
    terminated = np.array([episode.terminated for episode in episodes], np.bool_)
    return run_monitors(tables, [e.letters[:, columns] for e in episodes], terminated)
