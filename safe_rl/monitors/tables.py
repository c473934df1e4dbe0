"""Flat tables for many monitors: what the array step reads.

All instances of a specification share its rows. A specification with few atoms has one row of
packed entries per state, one entry per letter (*dense*); one with many atoms keeps its decision
diagram (*diagram*), which is walked node by node for all instances at once. A packed entry holds
the next state above bit 8 and the events (:mod:`safe_rl.monitors.events`) in its lowest byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Literal

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from safe_rl.automata import DENSE_ATOMS, expand
from safe_rl.errors import CompilationLimitError
from safe_rl.monitors.events import Array
from safe_rl.monitors.machine import EventMachine, build_machine, truncated_code
from safe_rl.specs import Instance, Objects, Specs, SpecSet, load_specs

ENTRY_SHIFT: Final = 8
"""A packed entry is ``next_state << ENTRY_SHIFT | code``."""
DENSE_ENTRIES: Final = 1 << 20
"""A machine whose dense table would pass this many entries (4 MB) keeps its decision diagram."""
Axis = Literal[-1, 0]
"""Which axis of letters, states and events counts propositions or instances.

The last, as a reader expects; or the first, which puts the lanes of one instance side by side in
memory. A compiler such as jax's then works on many lanes with one instruction, and the step takes
about a third of the time.
"""


@dataclass(frozen=True, eq=False)
class DenseTables:
    """Rows of the specifications with few atoms; ``D`` instances.

    Attributes:
        entries: int32 ``[all rows]``, packed entries.
        base: int32 ``[D]``, where the rows of the instance's specification begin.
        width: int32 ``[D]``, the length of a row, 2 to the number of atoms.
        atoms: Per instance, the propositions whose truths are bits 0, 1, ... of the letter's
            column in its row.
        weights: float32 ``[P, D]``. A letter (0 or 1 per proposition) times this matrix is the same
            column for all instances at once: exact, since it is below 2**12.
        columns: The positions of these instances among all.
    """

    entries: Array
    base: Array
    width: Array
    atoms: tuple[tuple[int, ...], ...]
    weights: Array
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DiagramTables:
    """Decision diagrams of the specifications with many atoms; ``B`` instances.

    Node references of all machines are numbered together; ``r < 0`` is the leaf ``~r``.

    Attributes:
        roots: int32 ``[all states]``, the reference of each state's root.
        base: int32 ``[B]``, where the states of the instance's specification begin in ``roots``.
        var: int32 ``[nodes]``, the atom that a node tests.
        children: int32 ``[2 * nodes]``, the references where it is false and where it is true.
        entries: int32 ``[leaves]``, packed entries.
        atom_column: int32 ``[B * most atoms]``, the proposition of each atom of each instance.
        atom_base: int32 ``[B]``, where the instance begins in ``atom_column``.
        depth: The most nodes on a path.
        columns: The positions of these instances among all.
    """

    roots: Array
    base: Array
    var: Array
    children: Array
    entries: Array
    atom_column: Array
    atom_base: Array
    depth: int
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MonitorTables:
    """Every monitor of a bound :class:`~safe_rl.specs.SpecSet`, ready for :func:`step`.

    It is hashed by identity, so that ``jax.jit(step, static_argnums=0)`` works; closing over it
    (``functools.partial(step, tables)``) does as well.

    Attributes:
        specs: The bound specifications.
        propositions: The ``P`` propositions: the meaning of a letter's columns.
        instances: The ``I`` instances: the meaning of the columns of states and events.
        machines: The machine of each instance.
        initial: int32 ``[I]``, the state before the first letter.
        state_base: int32 ``[I]``, where the instance's states begin in ``state_codes``.
        state_codes: uint8 ``[all states]``, ``ARMED`` and the verdict of each state: what a
            truncated end reports.
        dense: The instances with dense rows, or ``None``.
        diagram: The instances with decision diagrams, or ``None``.
        order: int32 ``[I]``, the place of each instance after the dense and the diagram ones are
            put side by side; ``None`` where all are of one kind.
        fingerprint: Changes whenever propositions, instances or formulas do.
        xp: The array namespace.
        device: Where the arrays live, or ``None`` for the namespace's default.
        axis: Which axis of letters, states and events counts propositions or instances.
    """

    specs: SpecSet
    propositions: tuple[str, ...]
    instances: tuple[Instance, ...]
    machines: tuple[EventMachine, ...]
    initial: Array
    state_base: Array
    state_codes: Array
    dense: DenseTables | None
    diagram: DiagramTables | None
    order: Array | None
    fingerprint: str
    xp: ModuleType
    device: Any
    axis: Axis = -1

    def shape(self, batch_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of states and events of a batch."""
        own = (self.num_instances,)
        return (*batch_shape, *own) if self.axis == -1 else (*own, *batch_shape)

    def along(self, constants: Array, like: Array) -> Array:
        """Return ``constants`` (one per instance) so that they broadcast with ``like``."""
        if self.axis == -1 or like.ndim == 1:
            return constants
        return self.xp.reshape(constants, (-1, *(1,) * (like.ndim - 1)))

    @property
    def num_instances(self) -> int:
        """The number of monitor instances, ``I``."""
        return len(self.instances)

    @property
    def num_propositions(self) -> int:
        """The number of propositions in a letter, ``P``."""
        return len(self.propositions)

    @property
    def num_states(self) -> tuple[int, ...]:
        """Per instance, the number of states of its machine."""
        return tuple(machine.num_states for machine in self.machines)


def make_tables(
    specs: Specs,
    xp: ModuleType = np,
    *,
    objects: Objects | None = None,
    device: Any = None,
    dense_atoms: int = DENSE_ATOMS,
    axis: Axis = -1,
) -> MonitorTables:
    """Compile specifications into flat tables.

    Args:
        specs: What :func:`safe_rl.specs.load_specs` takes.
        xp: ``numpy``, ``torch`` or ``jax.numpy``.
        objects: Binds ``forall`` variables, as :meth:`safe_rl.specs.SpecSet.bind` does.
        device: Where the arrays live, as the namespace names devices.
        dense_atoms: Up to how many atoms (at most 12) a specification gets dense rows.
        axis: -1 for letters ``[..., P]``, states and events ``[..., I]``; 0 for letters
            ``[P, ...]``, states and events ``[I, ...]``.

    Raises:
        SpecificationError: a ``forall`` variable is not bound.
        CompilationLimitError: an automaton passes its limit.

    >>> tables = make_tables("safemanip", objects={
    ...     "graspable": ["mug"], "receptacle": ["mug"], "fixture": ["drawer"],
    ...     "enclosure": ["drawer"], "microwave": ["microwave"]})
    >>> tables.num_instances, tables.propositions[:2]
    (20, ('forbidden_contact_sustained', 'object_grasped(mug)'))
    """
    bound = bind_specs(specs, objects)
    machine_of = {spec.id: build_machine(spec) for spec in bound}
    instances = bound.instances
    machines = tuple(machine_of[i.specification.id] for i in instances)
    put = _Placer(xp, device)

    is_dense = [_fits_dense(machine, dense_atoms) for machine in machines]
    dense = [i for i, fits in enumerate(is_dense) if fits]
    diagram = [i for i, fits in enumerate(is_dense) if not fits]
    order = np.argsort(np.array(dense + diagram, dtype=np.int64), kind="stable")
    distinct = list(dict.fromkeys(machines))
    bases = _bases([machine.num_states for machine in distinct])
    return MonitorTables(
        specs=bound,
        propositions=bound.propositions,
        instances=instances,
        machines=machines,
        initial=put([m.initial for m in machines], np.int32),
        state_base=put([bases[distinct.index(m)] for m in machines], np.int32),
        state_codes=put(
            [truncated_code(m, s) for m in distinct for s in range(m.num_states)], np.uint8
        ),
        dense=_dense_tables(bound, machines, dense, put) if dense else None,
        diagram=_diagram_tables(bound, machines, diagram, put) if diagram else None,
        order=put(order, np.int32) if dense and diagram else None,
        fingerprint=fingerprint(bound),
        xp=put.xp,
        device=device,
        axis=axis,
    )


def bind_specs(specs: Specs, objects: Objects | None) -> SpecSet:
    """Return the specifications that ``specs`` names, bound to ``objects`` if these are given."""
    loaded = load_specs(specs)
    return loaded if objects is None else loaded.bind(objects)


def fingerprint(specs: SpecSet) -> str:
    """Return a short text that changes whenever what the monitors compute does.

    Weights, limits and words do not enter it: a saved state survives a new limit.
    """
    parts: list[object] = [specs.propositions]
    for instance in specs.instances:
        spec = instance.specification
        formulas = tuple(
            "" if formula is None else str(formula)
            for formula in (spec.formula, spec.trigger, spec.recovery)
        )
        parts.append((instance.id, *formulas, spec.semantics))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class _Placer:
    """Makes arrays of one namespace, on one device."""

    def __init__(self, xp: ModuleType, device: Any) -> None:
        self.xp: ModuleType = array_namespace(xp.asarray([0]))
        self._device = device

    def __call__(self, values: Sequence[int] | NDArray[Any], dtype: Any) -> Array:
        array = np.asarray(values, dtype=dtype)
        if self._device is None:
            return self.xp.asarray(array)
        return self.xp.asarray(array, device=self._device)


def _fits_dense(machine: EventMachine, dense_atoms: int) -> bool:
    width = len(machine.atoms)
    few = width <= min(dense_atoms, DENSE_ATOMS)
    return few and machine.num_states << width <= DENSE_ENTRIES


def _bases(lengths: Sequence[int]) -> list[int]:
    """Where each of several parts begins when they are put one after another."""
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(ends) and ends[-1] >= 1 << 31:
        raise CompilationLimitError(
            f"the monitor tables need {ends[-1]} entries; split the specifications into sets"
        )
    return [int(end) - length for end, length in zip(ends, lengths, strict=True)]


def _packed(machine: EventMachine) -> NDArray[np.int32]:
    pairs = zip(machine.next_state, machine.code, strict=True)
    return np.array([state << ENTRY_SHIFT | code for state, code in pairs], dtype=np.int32)


def _atom_columns(specs: SpecSet, chosen: Sequence[int]) -> list[list[int]]:
    """For each chosen instance, the proposition column of each of its atoms."""
    column = {name: i for i, name in enumerate(specs.propositions)}
    return [[column[bound] for bound in specs.instances[i].atoms.values()] for i in chosen]


def _dense_tables(
    specs: SpecSet, machines: Sequence[EventMachine], chosen: list[int], put: _Placer
) -> DenseTables:
    used = [machines[i] for i in chosen]
    distinct = list(dict.fromkeys(used))
    bases = _bases([m.num_states << len(m.atoms) for m in distinct])
    rows = [
        _packed(m)[expand(m.roots, m.var, m.low, m.high, len(m.atoms))].reshape(-1)
        for m in distinct
    ]
    atoms = _atom_columns(specs, chosen)
    weights = np.zeros((len(specs.propositions), len(chosen)), dtype=np.float32)
    for place, columns in enumerate(atoms):
        for bit, column in enumerate(columns):
            weights[column, place] += 1 << bit
    return DenseTables(
        entries=put(np.concatenate(rows), np.int32),
        base=put([bases[distinct.index(m)] for m in used], np.int32),
        width=put([1 << len(m.atoms) for m in used], np.int32),
        atoms=tuple(map(tuple, atoms)),
        weights=put(weights, np.float32),
        columns=tuple(chosen),
    )


def _diagram_tables(
    specs: SpecSet, machines: Sequence[EventMachine], chosen: list[int], put: _Placer
) -> DiagramTables:
    used = [machines[i] for i in chosen]
    distinct = list(dict.fromkeys(used))
    state_bases = _bases([m.num_states for m in distinct])
    node_bases = _bases([len(m.var) for m in distinct])
    leaf_bases = _bases([len(m.next_state) for m in distinct])
    roots: list[int] = []
    children: list[int] = []
    for machine, nodes, leaves in zip(distinct, node_bases, leaf_bases, strict=True):

        def moved(ref: int, nodes: int = nodes, leaves: int = leaves) -> int:
            return ref + nodes if ref >= 0 else ref - leaves

        roots += [moved(ref) for ref in machine.roots]
        for low, high in zip(machine.low, machine.high, strict=True):
            children += [moved(low), moved(high)]
    columns = _atom_columns(specs, chosen)
    most = max(len(c) for c in columns)
    padded = [column for c in columns for column in c + [0] * (most - len(c))]
    return DiagramTables(
        roots=put(roots, np.int32),
        base=put([state_bases[distinct.index(m)] for m in used], np.int32),
        # A leaf is looked at as node 0 and left alone; without nodes there must still be one.
        var=put([v for m in distinct for v in m.var] or [0], np.int32),
        children=put(children or [-1, -1], np.int32),
        entries=put(np.concatenate([_packed(m) for m in distinct]), np.int32),
        atom_column=put(padded or [0], np.int32),
        atom_base=put([i * most for i in range(len(chosen))], np.int32),
        depth=max(_depth(m) for m in distinct),
        columns=tuple(chosen),
    )


def _depth(machine: EventMachine) -> int:
    """The most nodes on a path of the machine's diagram."""
    depths: list[int] = []
    for low, high in zip(machine.low, machine.high, strict=True):
        depths.append(1 + max(depths[r] if r >= 0 else 0 for r in (low, high)))
    return max(depths, default=0)
