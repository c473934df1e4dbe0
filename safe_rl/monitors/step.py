"""The one step of many monitors, written once against the array API standard.

NumPy, PyTorch and JAX run the same lines; in JAX they can be jitted, mapped and scanned. What they
compute is what the plain :class:`safe_rl.monitors.Monitor` computes, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

from safe_rl.errors import GroundingError
from safe_rl.monitors.events import (
    ARMED,
    CLOSED,
    CLOSED_BIT,
    TRIGGERED,
    VIOLATED,
    Array,
    StepEvents,
)
from safe_rl.monitors.tables import ENTRY_SHIFT, DenseTables, DiagramTables, MonitorTables


class MonitorState(NamedTuple):
    """The state of ``I`` monitor instances, for any leading shape: 8 bytes each.

    Attributes:
        automaton: int32 ``[..., I]``, the state of each instance's machine.
        open: int32 ``[..., I]``, the triggered events that are neither fulfilled nor violated yet.
    """

    automaton: Array
    open: Array


def initial_state(tables: MonitorTables, batch_shape: tuple[int, ...] = ()) -> MonitorState:
    """Return the state before the first letter; arrays of shape ``[*batch_shape, I]``."""
    xp = tables.xp
    shape = (*batch_shape, tables.num_instances)
    return MonitorState(
        automaton=xp.broadcast_to(tables.initial, shape) + xp.zeros_like(tables.initial),
        open=xp.zeros(shape, dtype=xp.int32, device=tables.device),
    )


def step(
    tables: MonitorTables, state: MonitorState, letters: Array
) -> tuple[MonitorState, StepEvents]:
    """Let every monitor consume one letter.

    Pure: ``state`` is left as it is. The label of the first state of an episode is a letter like
    any other, consumed from :func:`initial_state`.

    Args:
        tables: The compiled monitors.
        state: Arrays ``[..., I]``.
        letters: Boolean ``[..., P]``; the columns are ``tables.propositions``.

    Returns:
        The next state, and the events of this step with arrays ``[..., I]``.

    Raises:
        GroundingError: ``letters`` is not Boolean, or its last axis is not ``P`` long.

    >>> import numpy as np
    >>> from safe_rl.monitors import make_tables
    >>> from safe_rl.specs import Specification
    >>> tables = make_tables([Specification("lid_first", "G(lifted -> lid_on)")])
    >>> state = initial_state(tables, (2,))
    >>> state, events = step(tables, state, np.array([[True, True], [True, False]]))
    >>> events.violated[:, 0].tolist()
    [False, True]
    """
    xp = tables.xp
    _check_letters(tables, letters)
    entries = _entries(tables, state.automaton, letters)
    triggered = entries & TRIGGERED
    stays_open = 1 - ((entries >> CLOSED_BIT) & 1)
    return (
        MonitorState(entries >> ENTRY_SHIFT, (state.open + triggered) * stays_open),
        StepEvents(xp.astype(entries & 255, xp.uint8)),
    )


def finish(
    tables: MonitorTables, state: MonitorState, terminated: Array
) -> tuple[StepEvents, Array]:
    """Return what the end of each episode decides (rule 4 of the monitor semantics).

    Args:
        tables: The compiled monitors.
        state: Arrays ``[..., I]``, after the last letter.
        terminated: Boolean ``[...]``: true where the environment terminated, false where the
            episode was truncated (or goes on).

    Returns:
        Events ``[..., I]`` to be added to those of the last step, and the pending events, int32
        ``[..., I]``: where terminated, an armed instance in a state that does not accept is one
        violation with one step of exposure, and nothing is pending; elsewhere there is no event,
        and the open events are pending, to be taken off N.
    """
    xp = tables.xp
    index = tables.state_base + state.automaton
    ends = xp.expand_dims(terminated, axis=-1)
    codes = xp.where(
        ends,
        _look_up(xp, tables.terminated_codes, index),
        _look_up(xp, tables.truncated_codes, index),
    )
    return StepEvents(codes), xp.where(ends, xp.zeros_like(state.open), state.open)


def fulfilled(before: MonitorState, events: StepEvents) -> Array:
    """Return how many open triggered events were fulfilled at a step, int32 ``[..., I]``.

    Args:
        before: The state before the step.
        events: The events of the step.
    """
    codes = events.codes
    met = ((codes & CLOSED) != 0) & ((codes & VIOLATED) == 0) & ((codes & ARMED) != 0)
    return (before.open + (codes & TRIGGERED)) * met


def restart(tables: MonitorTables, state: MonitorState, where: Array) -> MonitorState:
    """Return the state with the initial one in place of the lanes that begin a new episode.

    Args:
        tables: The compiled monitors.
        state: Arrays ``[..., I]``.
        where: Boolean ``[...]``.
    """
    xp = tables.xp
    chosen = xp.expand_dims(where, axis=-1)
    return MonitorState(
        automaton=xp.where(chosen, tables.initial, state.automaton),
        open=xp.where(chosen, xp.zeros_like(state.open), state.open),
    )


def _entries(tables: MonitorTables, automaton: Array, letters: Array) -> Array:
    dense, diagram = tables.dense, tables.diagram
    if diagram is None:
        return automaton if dense is None else _dense_entries(tables, dense, automaton, letters)
    if dense is None:
        return _diagram_entries(tables, diagram, automaton, letters)
    xp = tables.xp
    parts = [
        _dense_entries(tables, dense, _columns(tables, automaton, dense.columns), letters),
        _diagram_entries(tables, diagram, _columns(tables, automaton, diagram.columns), letters),
    ]
    return xp.take(xp.concat(parts, axis=-1), tables.order, axis=-1)


def _columns(tables: MonitorTables, array: Array, columns: tuple[int, ...]) -> Array:
    chosen = tables.xp.asarray(columns, dtype=tables.xp.int32, device=tables.device)
    return tables.xp.take(array, chosen, axis=-1)


def _dense_entries(
    tables: MonitorTables, dense: DenseTables, automaton: Array, letters: Array
) -> Array:
    xp = tables.xp
    column = xp.matmul(xp.astype(letters, xp.float32), dense.weights)
    index = automaton * dense.width + dense.base + xp.astype(column, xp.int32)
    return _look_up(xp, dense.entries, index)


def _diagram_entries(
    tables: MonitorTables, diagram: DiagramTables, automaton: Array, letters: Array
) -> Array:
    """Walk from each state's root to a leaf; a lane that has arrived stays on its leaf."""
    xp = tables.xp
    ref = _look_up(xp, diagram.roots, automaton + diagram.base)
    truth = xp.reshape(xp.astype(letters, xp.int32), (-1,))
    width = tables.num_propositions
    batch = letters.shape[:-1]
    lanes = 1
    for size in batch:
        lanes *= size
    offset = xp.arange(lanes, dtype=xp.int32, device=tables.device) * width
    offset = xp.reshape(offset, (*batch, 1))
    for _ in range(diagram.depth):
        arrived = ref < 0
        node = xp.where(arrived, xp.zeros_like(ref), ref)
        atom = _look_up(xp, diagram.var, node) + diagram.atom_base
        value = _look_up(xp, truth, _look_up(xp, diagram.atom_column, atom) + offset)
        ref = xp.where(arrived, ref, _look_up(xp, diagram.children, 2 * node + value))
    return _look_up(xp, diagram.entries, -1 - ref)


def _look_up(xp, table: Array, index: Array) -> Array:  # type: ignore[no-untyped-def]
    """``table[index]`` for an index of any shape."""
    return xp.reshape(xp.take(table, xp.reshape(index, (-1,)), axis=0), index.shape)


def _check_letters(tables: MonitorTables, letters: Array) -> None:
    if letters.dtype != tables.xp.bool:
        raise GroundingError(
            f"letters must be Boolean, but their dtype is {letters.dtype}; "
            "make the grounding return truth values, such as x > threshold"
        )
    if letters.shape[-1:] != (tables.num_propositions,):
        raise GroundingError(
            f"letters must end in an axis of {tables.num_propositions} propositions, but have the "
            f"shape {tuple(letters.shape)}; the columns are tables.propositions: "
            f"{', '.join(tables.propositions[:8])}{' ...' if tables.num_propositions > 8 else ''}"
        )
