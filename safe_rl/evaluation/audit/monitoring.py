"""What the monitors count over whole recorded episodes.

What they count is what an evaluation counts while it runs: the same step function, the same cost
model, and the same sums in the same order, so that the records agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.data.event_tape import EventTape, in_portions, letter_columns, tape_of
from safe_rl.evaluation.records import EpisodeRecords, SpecificationColumns, concatenate
from safe_rl.monitors import CountArrays, Verdict, make_tables
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import CostKind, CostModel

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


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
    charged = violated & engagement[..., None]
    ever_charged: Bools = np.any(charged, axis=0)
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
            charged=np.any(ever_charged, axis=1),
            triggered=np.asarray(total.N, np.int64),
            violations=np.asarray(total.V, np.int64),
            exposure=np.asarray(total.U, np.int64),
            pending=tape.pending,
            first_violation=np.where(ever, violated.argmax(axis=0), -1).astype(np.int64),
            costs=_costs(CostModel.from_specs(specs, cost), so_far),
            first_charged=np.where(ever_charged, charged.argmax(axis=0), -1).astype(np.int64),
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
