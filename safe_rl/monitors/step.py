"""The one step of many monitors, written once against the array API standard.

NumPy, PyTorch and JAX run the same lines; in JAX they can be jitted, mapped, scanned and sharded.
What they compute is what the plain :class:`safe_rl.monitors.Monitor` computes, bit for bit.

Shapes are written for tables with ``axis=-1``. With ``axis=0`` the axis of propositions or
instances comes first: ``[P, ...]`` and ``[I, ...]``.
"""

from __future__ import annotations

from typing import NamedTuple

from safe_rl.errors import GroundingError
from safe_rl.monitors.events import (
    ARMED,
    CLOSED,
    CLOSED_BIT,
    EXPOSED,
    TRIGGERED,
    VERDICT_SHIFT,
    VIOLATED,
    Array,
    StepEvents,
    Verdict,
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
    nothing = xp.zeros(tables.shape(batch_shape), dtype=xp.int32, device=tables.device)
    return MonitorState(automaton=tables.along(tables.initial, nothing) + nothing, open=nothing)


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
    tables: MonitorTables,
    state: MonitorState,
    terminated: Array,
    events: StepEvents | None = None,
) -> tuple[StepEvents, Array]:
    """Return what the end of each episode decides (rule 4 of the monitor semantics).

    Args:
        tables: The compiled monitors.
        state: Arrays ``[..., I]``, after the last letter.
        terminated: Boolean ``[...]``: true where the environment terminated, false where the
            episode was truncated (or goes on).
        events: The events of the last letter, where they are at hand: they tell what would
            otherwise be looked up for each state.

    Returns:
        Events ``[..., I]`` to be added to those of the last step, and the pending events, int32
        ``[..., I]``: where terminated, an armed instance in a state that does not accept is one
        violation with one step of exposure, and nothing is pending; elsewhere there is no event,
        and the open events are pending, to be taken off N.
    """
    xp = tables.xp
    if events is None:
        base = tables.along(tables.state_base, state.automaton)
        standing = _look_up(xp, tables.state_codes, base + state.automaton)
    else:
        standing = events.codes & (ARMED | Verdict.VIOLATED << VERDICT_SHIFT)
    ends = xp.expand_dims(terminated, axis=tables.axis)
    codes = xp.where(ends, _decided(xp, standing), standing)
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
    chosen = xp.expand_dims(where, axis=tables.axis)
    initial = tables.along(tables.initial, state.automaton)
    return MonitorState(
        automaton=xp.where(chosen, initial, state.automaton),
        open=xp.where(chosen, xp.zeros_like(state.open), state.open),
    )


def _decided(xp, standing: Array) -> Array:  # type: ignore[no-untyped-def]
    """What a termination makes of ``ARMED`` and the verdict: ``machine.terminated_code``."""

    def everywhere(code: int) -> Array:
        return xp.full_like(standing, code)

    armed = (standing & ARMED) != 0
    # Bit 1 of a verdict tells the two that do not accept from the two that do.
    fails = (standing & (Verdict.PRESUMABLY_VIOLATED << VERDICT_SHIFT)) != 0
    lost = CLOSED | Verdict.VIOLATED << VERDICT_SHIFT
    return xp.where(
        armed & ~fails,
        everywhere(CLOSED | ARMED | Verdict.SATISFIED << VERDICT_SHIFT),
        xp.where(armed, everywhere(lost | VIOLATED | EXPOSED), everywhere(lost)),
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
    return xp.take(xp.concat(parts, axis=tables.axis), tables.order, axis=tables.axis)


def _columns(tables: MonitorTables, array: Array, columns: tuple[int, ...]) -> Array:
    chosen = tables.xp.asarray(columns, dtype=tables.xp.int32, device=tables.device)
    return tables.xp.take(array, chosen, axis=tables.axis)


def _dense_entries(
    tables: MonitorTables, dense: DenseTables, automaton: Array, letters: Array
) -> Array:
    xp = tables.xp
    if tables.axis == -1:
        column = xp.astype(xp.matmul(xp.astype(letters, xp.float32), dense.weights), xp.int32)
    else:
        # One row of lanes per atom: a compiler turns these few sums into vector instructions.
        bits = xp.astype(letters, xp.int32)
        column = xp.stack([_number(xp, bits, atoms) for atoms in dense.atoms], axis=0)
    width, base = tables.along(dense.width, automaton), tables.along(dense.base, automaton)
    return _look_up(xp, dense.entries, automaton * width + base + column)


def _number(xp, bits: Array, atoms: tuple[int, ...]) -> Array:  # type: ignore[no-untyped-def]
    """The number whose bits are the rows ``atoms`` of ``bits``."""
    number = xp.zeros_like(bits[0, ...])
    for position, atom in enumerate(atoms):
        number = number + bits[atom, ...] * (1 << position)
    return number


def _diagram_entries(
    tables: MonitorTables, diagram: DiagramTables, automaton: Array, letters: Array
) -> Array:
    """Walk from each state's root to a leaf; a lane that has arrived stays on its leaf."""
    xp = tables.xp
    base, atom_base = (tables.along(x, automaton) for x in (diagram.base, diagram.atom_base))
    ref = _look_up(xp, diagram.roots, automaton + base)
    truth = xp.reshape(xp.astype(letters, xp.int32), (-1,))
    batch = letters.shape[:-1] if tables.axis == -1 else letters.shape[1:]
    lanes = 1
    for size in batch:
        lanes *= size
    # A letter's truths lie ``stride`` apart in ``truth``, from where its lane begins.
    stride, lane = (1, tables.num_propositions) if tables.axis == -1 else (lanes, 1)
    offset = xp.arange(lanes, dtype=xp.int32, device=tables.device) * lane
    offset = xp.expand_dims(xp.reshape(offset, batch), axis=tables.axis)
    for _ in range(diagram.depth):
        arrived = ref < 0
        node = xp.where(arrived, xp.zeros_like(ref), ref)
        atom = _look_up(xp, diagram.var, node) + atom_base
        value = _look_up(xp, truth, _look_up(xp, diagram.atom_column, atom) * stride + offset)
        ref = xp.where(arrived, ref, _look_up(xp, diagram.children, 2 * node + value))
    return _look_up(xp, diagram.entries, -1 - ref)


def _look_up(xp, table: Array, index: Array) -> Array:  # type: ignore[no-untyped-def]
    """``table[index]`` for an index of any shape, never out of range."""
    if hasattr(table, "at"):  # jax, which would otherwise look for indices out of range
        return table.at[index].get(mode="promise_in_bounds")
    return xp.reshape(xp.take(table, xp.reshape(index, (-1,)), axis=0), index.shape)


def _check_letters(tables: MonitorTables, letters: Array) -> None:
    if letters.dtype != tables.xp.bool:
        raise GroundingError(
            f"letters must be Boolean, but their dtype is {letters.dtype}; "
            "make the grounding return truth values, such as x > threshold"
        )
    if letters.ndim == 0 or letters.shape[tables.axis] != tables.num_propositions:
        raise GroundingError(
            f"letters must {'end' if tables.axis == -1 else 'begin'} in an axis of "
            f"{tables.num_propositions} propositions, but have the shape "
            f"{tuple(letters.shape)}; they are tables.propositions: "
            f"{', '.join(tables.propositions[:8])}{' ...' if tables.num_propositions > 8 else ''}"
        )
