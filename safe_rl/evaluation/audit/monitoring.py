"""The monitors over whole recorded episodes, side by side as arrays.

What they count is what an evaluation counts while it runs: the same step function, the same cost
model, and the same sums in the same order, so that the records agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.errors import GroundingError, near
from safe_rl.evaluation.records import EpisodeRecords, SpecificationColumns, concatenate
from safe_rl.monitors import (
    CountArrays,
    MonitorState,
    MonitorTables,
    StepEvents,
    Verdict,
    finish,
    initial_state,
    make_tables,
    step,
)
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import CostKind, CostModel
from safe_rl.wrappers.tally import with_end

Bools = NDArray[np.bool_]
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
        by_end: what the end of the episode decided, uint8 ``[E, I]``.
        pending: events left open at a truncation, int64 ``[E, I]``.
    """

    frames: Ints
    codes: NDArray[np.uint8]
    states: NDArray[np.int32]
    by_end: NDArray[np.uint8]
    pending: Ints

    @property
    def events(self) -> StepEvents:
        """The events as ``StepEvents``, arrays ``[L, E, I]``."""
        return StepEvents(self.codes)


@dataclass(frozen=True)
class Monitored:
    """Episodes with what the monitors counted.

    Attributes:
        records: the columns that an evaluation keeps.
        verdicts: of each instance at the end (a :class:`Verdict`), int8 ``[E, I]``; ``VIOLATED``
            once there was a violation.
        unsafe: frames spent in violation of something, int64 ``[E, G]``: by specification, then by
            category, then of anything (``G = S + C + 1``, in the order of the tables of counts).
    """

    records: EpisodeRecords
    verdicts: NDArray[np.int8]
    unsafe: Ints


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
            f"as false; specifications that this recording can serve: {', '.join(able) or 'none'}"
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
        by_end=np.asarray(final.codes)[back],
        pending=np.asarray(pending, np.int64)[back],
    )


def count_events(
    specs: SpecSet, tape: EventTape, episodes: Sequence[Episode], cost: CostKind = "violation"
) -> Monitored:
    """Count what is on a tape, as an evaluation counts it.

    Args:
        specs: the bound specifications.
        tape: see :func:`run_monitors`.
        episodes: those on the tape, in their order.
        cost: what an episode limit counts.
    """
    events = tape.events
    violated, exposed = np.asarray(events.violated), np.asarray(events.exposed)
    rows = np.arange(len(episodes))
    triggers = np.cumsum(events.triggered, axis=0, dtype=np.int32)
    last = tape.frames - 1
    beyond = np.arange(len(tape.codes))[:, None] >= last  # the last frame, and what is padding
    so_far = CountArrays(
        N=triggers - np.where(beyond[..., None], tape.pending, 0).astype(np.int32),
        V=np.cumsum(violated, axis=0, dtype=np.int32),
        U=np.cumsum(exposed, axis=0, dtype=np.int32),
        pending=np.where(beyond[..., None], tape.pending, 0),
        verdict=np.zeros(events.codes.shape, np.int8),
    )
    total = CountArrays(*(part[-1] for part in so_far))
    verdict = np.asarray(events.verdict)[last, rows]
    steps = np.array([episode.steps for episode in episodes], np.int64)
    ever = violated.any(axis=0)
    engagement = _engagement(episodes, len(tape.codes))
    charged: Bools = np.any(violated.any(axis=2) & engagement, axis=0)
    known_success = all(episode.success is not None for episode in episodes)
    known_contact = all(episode.engaged is not None for episode in episodes)
    return Monitored(
        EpisodeRecords(
            columns=SpecificationColumns.of(specs),
            returns=np.array([_in_order(episode.rewards) for episode in episodes], np.float64),
            lengths=steps,
            terminated=np.array([episode.terminated for episode in episodes], np.bool_),
            success=_flags([e.success for e in episodes]) if known_success else None,
            engaged=_flags([_any(e.engaged) for e in episodes]) if known_contact else None,
            charged=charged,
            triggered=np.asarray(total.N, np.int64),
            violations=np.asarray(total.V, np.int64),
            exposure=np.asarray(total.U, np.int64),
            pending=tape.pending,
            first_violation=np.where(ever, violated.argmax(axis=0), -1).astype(np.int64),
            costs=_costs(CostModel.from_specs(specs, cost), so_far),
        ),
        verdicts=np.where(ever, np.int8(Verdict.VIOLATED), verdict).astype(np.int8),
        unsafe=_unsafe_frames(SpecificationColumns.of(specs), exposed),
    )


def monitor_episodes(
    specs: SpecSet, episodes: Sequence[Episode], cost: CostKind = "violation"
) -> Monitored:
    """Monitor recorded episodes that share their propositions.

    Raises:
        GroundingError: a proposition that the specifications use is not recorded.
    """
    tables = make_tables(specs)
    columns = letter_columns(specs, episodes[0].propositions)
    return join(
        [
            count_events(specs, tape_of(tables, columns, some), some, cost)
            for some in in_portions(episodes)
        ]
    )


def in_portions(episodes: Sequence[Episode]) -> Iterator[Sequence[Episode]]:
    """Yield the episodes, so many at a time."""
    for first in range(0, len(episodes), EPISODES_AT_ONCE):
        yield episodes[first : first + EPISODES_AT_ONCE]


def tape_of(
    tables: MonitorTables, columns: NDArray[np.intp], episodes: Sequence[Episode]
) -> EventTape:
    """Run the monitors over episodes, given where their propositions stand."""
    terminated = _flags([episode.terminated for episode in episodes])
    return run_monitors(tables, [e.letters[:, columns] for e in episodes], terminated)


def join(parts: Sequence[Monitored]) -> Monitored:
    """Put episodes under the same specifications together."""
    return Monitored(
        concatenate([part.records for part in parts]),
        np.concatenate([part.verdicts for part in parts]),
        np.concatenate([part.unsafe for part in parts]),
    )


def group_names(columns: SpecificationColumns) -> list[tuple[str, list[int]]]:
    """Names and member specifications of the columns of :attr:`Monitored.unsafe`."""
    groups: dict[str, list[int]] = {}
    for index, category in enumerate(columns.categories):
        groups.setdefault(category, []).append(index)
    own = [(spec_id, [index]) for index, spec_id in enumerate(columns.ids)]
    return [*own, *groups.items(), ("all", list(range(len(columns.ids))))]


def _unsafe_frames(columns: SpecificationColumns, exposed: Bools) -> Ints:
    """Count the frames in which some instance of a group is in violation, int64 ``[E, G]``."""
    owner = np.asarray(columns.instance_index, np.intp)
    found = [
        exposed[:, :, np.isin(owner, members)].any(axis=2).sum(axis=0)
        for _, members in group_names(columns)
    ]
    return np.stack(found, axis=1).astype(np.int64)


def _costs(model: CostModel, so_far: CountArrays) -> NDArray[np.float64]:
    """Sum each constraint's signal step by step, in the order in which an evaluation does."""
    values = model.episode_values(so_far).constraint_costs
    paid = values[1:] if len(values) > 1 else values  # the first letter is paid with the first step
    before = np.concatenate([np.zeros_like(paid[:1]), paid[:-1]])
    sums: NDArray[np.float64] = np.cumsum(paid - before, axis=0)[-1]
    return sums


def _engagement(episodes: Sequence[Episode], longest: int) -> Bools:
    """Which violations are charged, bool ``[L, E]``: all of them where contact is not reported."""
    charged = np.ones((longest, len(episodes)), np.bool_)
    for row, episode in enumerate(episodes):
        if episode.engaged is not None:
            charged[: len(episode.engaged), row] = np.logical_or.accumulate(episode.engaged)
    return charged


def _in_order(rewards: NDArray[np.float64]) -> float:
    """Sum rewards one after the other, as an evaluation does (``np.sum`` pairs them)."""
    return float(np.cumsum(rewards)[-1]) if len(rewards) else 0.0


def _any(flags: Bools | None) -> bool | None:
    return None if flags is None else bool(flags.any())


def _flags(values: Sequence[bool | None]) -> Bools:
    return np.array(values, np.bool_)
