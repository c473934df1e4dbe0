"""Counting events: N, V, U and pending, for one environment or for arrays of them."""

from __future__ import annotations

from typing import NamedTuple

from safe_rl.monitors.events import EXPOSED, TRIGGERED, VIOLATED, Array, StepEvents, Verdict
from safe_rl.monitors.tables import MonitorTables


class Counts(NamedTuple):
    """What happened to one instance in one episode.

    Attributes:
        N: Triggered events, without the pending ones.
        V: Violations.
        U: Exposure: steps spent in violation.
        pending: Triggered events whose outcome a truncation left open.
        verdict: ``VIOLATED`` once there was a violation, else the verdict at the last step.
    """

    N: int
    V: int
    U: int
    pending: int
    verdict: Verdict


class CountArrays(NamedTuple):
    """The same for many episodes at once: arrays of shape ``[..., instances]``.

    Attributes:
        N: int32, triggered events (those pending are taken off at the end of the episode).
        V: int32, violations.
        U: int32, exposure.
        pending: int32, zero before the end of the episode.
        verdict: int8, as in :class:`Counts`.
    """

    N: Array
    V: Array
    U: Array
    pending: Array
    verdict: Array


def zero_counts(tables: MonitorTables, batch_shape: tuple[int, ...] = ()) -> CountArrays:
    """Return the counts before the first step."""
    xp = tables.xp
    shape = tables.shape(batch_shape)

    def zeros(dtype: Array) -> Array:
        return xp.zeros(shape, dtype=dtype, device=tables.device)

    return CountArrays(
        N=zeros(xp.int32),
        V=zeros(xp.int32),
        U=zeros(xp.int32),
        pending=zeros(xp.int32),
        verdict=zeros(xp.int8),
    )


def add_events(tables: MonitorTables, counts: CountArrays, events: StepEvents) -> CountArrays:
    """Return the counts after one more step. Pure, and the same for NumPy, PyTorch and JAX.

    >>> import numpy as np
    >>> from safe_rl.monitors import initial_state, make_tables, step
    >>> from safe_rl.specs import Specification
    >>> tables = make_tables([Specification("lid_first", "G(lifted -> lid_on)")])
    >>> state, counts = initial_state(tables), zero_counts(tables)
    >>> state, events = step(tables, state, np.array([True, False]))
    >>> counts = add_events(tables, counts, events)
    >>> counts.N.tolist(), counts.V.tolist(), counts.U.tolist()
    ([1], [1], [1])
    """
    xp = tables.xp
    violations = counts.V + _bit(xp, events, VIOLATED)
    return CountArrays(
        N=counts.N + _bit(xp, events, TRIGGERED),
        V=violations,
        U=counts.U + _bit(xp, events, EXPOSED),
        pending=counts.pending,
        verdict=xp.where(
            violations > 0,
            xp.full_like(counts.verdict, int(Verdict.VIOLATED)),
            events.verdict,
        ),
    )


def add_end(
    tables: MonitorTables, counts: CountArrays, events: StepEvents, pending: Array, done: Array
) -> CountArrays:
    """Return the counts in which the episodes that are ``done`` are closed.

    Args:
        tables: The compiled monitors.
        counts: The counts after the last step, arrays ``[..., I]``.
        events: From :func:`safe_rl.monitors.finish`.
        pending: From :func:`safe_rl.monitors.finish`.
        done: Boolean ``[...]``, where an episode terminated or was truncated.
    """
    xp = tables.xp
    ended = xp.expand_dims(done, axis=tables.axis)
    closed = add_events(tables, counts, events)
    closed = closed._replace(N=closed.N - pending, pending=pending)
    return CountArrays(
        *(xp.where(ended, new, old) for new, old in zip(closed, counts, strict=True))
    )


def clear_counts(tables: MonitorTables, counts: CountArrays, where: Array) -> CountArrays:
    """Return the counts with zeros in the lanes that begin a new episode."""
    xp = tables.xp
    chosen = xp.expand_dims(where, axis=tables.axis)
    return CountArrays(*(xp.where(chosen, xp.zeros_like(array), array) for array in counts))


def to_counts(tables: MonitorTables, counts: CountArrays) -> dict[str, Counts]:
    """Return the counts of one episode (arrays ``[I]``) by instance id."""
    columns = [array.tolist() for array in counts]
    return {
        instance.id: Counts(n, v, u, p, Verdict(verdict))
        for instance, n, v, u, p, verdict in zip(tables.instances, *columns, strict=True)
    }


def _bit(xp, events: StepEvents, bit: int) -> Array:  # type: ignore[no-untyped-def]
    return xp.astype((events.codes & bit) != 0, xp.int32)
