"""What a monitored episode costs: the one definition, on arrays, for one environment and for many.

Every cost is written as the value of an episode so far, a function of the counts N, V and U since
the reset. What a step costs is that value after the step less the value before it, so that the
steps of an episode sum to the episode's value by construction, whatever ends it.

The functions are written against the array API standard: NumPy computes in float64, and any other
library (jax, where they can be jitted) in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
from array_api_compat import array_namespace, is_numpy_namespace
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near
from safe_rl.monitors.events import Array
from safe_rl.monitors.tables import Axis
from safe_rl.specs import SpecSet
from safe_rl.specs.specification import LimitKind

CostKind = Literal["violation", "exposure", "per_trigger"]
"""V; U; or V - d min(N, cap) for specifications with a per-trigger limit, and V for the others."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Constraint:
    """A specification's limit, as a bound on the expected episode sum of one signal.

    Attributes:
        id: The specification's id.
        kind: ``"episode"``, ``"probability"`` or ``"per_trigger"``.
        value: The limit ``d`` as the specification gives it.
        cap: For ``"per_trigger"``, how many triggered events earn credit in one episode; ``None``
            is all of them.
        threshold: The expected episode sum of ``info["constraint_costs"]`` must not pass this:
            ``value``, or 0 for a per-trigger limit, whose signal is V - d N.
        index: Position of the specification in its set.
    """

    id: str
    kind: LimitKind
    value: float
    cap: int | None
    threshold: float
    index: int


class Counts(Protocol):
    """Counts of an episode so far, arrays ``[..., instances]``: ``CountArrays``, or a tally."""

    @property
    def N(self) -> Any:
        """Triggered events, without those pending."""

    @property
    def V(self) -> Any:
        """Violations."""

    @property
    def U(self) -> Any:
        """Steps in violation."""

    @property
    def pending(self) -> Any:
        """Triggered events that a truncation left open."""


class EpisodeValues(NamedTuple):
    """What an episode has cost so far: floats ``[..., specifications]``, ``[..., constraints]``."""

    costs: Array
    constraint_costs: Array


def constraints_of(specs: SpecSet) -> tuple[Constraint, ...]:
    """Return the constraint of every specification that carries a limit, in order."""
    found = []
    for index, specification in enumerate(specs):
        limit = specification.limit
        if limit is None:
            continue
        found.append(
            Constraint(
                id=specification.id,
                kind=limit.kind,
                value=float(limit.value),
                cap=limit.cap,
                threshold=0.0 if limit.kind == "per_trigger" else float(limit.value),
                index=index,
            )
        )
    return tuple(found)


@dataclass(frozen=True, eq=False)
class CostModel:
    """The costs of a set of specifications, as functions of an episode's counts.

    Shapes are written for ``axis=-1``; with ``axis=0`` instances, specifications and constraints
    are the first axis, as in :class:`safe_rl.monitors.MonitorTables`.

    Attributes:
        constraints: The ``K`` constraints, in the order of the signal's columns.
        weights: Each specification's weight in ``info["cost"]``, floats ``[S]``.
        kind: What counts as cost: violations (V), steps in violation (U), or V less the credit of
            the triggered events where a per-trigger limit sets its price.
        members: The instances of each specification.
        xp: The array namespace.
        axis: Which axis counts instances, specifications or constraints.
    """

    constraints: tuple[Constraint, ...]
    weights: Array
    kind: CostKind
    members: tuple[tuple[int, ...], ...]
    xp: ModuleType
    axis: Axis
    _membership: Array | None  # floats [I, S]; None where instances are specifications
    _sources: dict[LimitKind, Picked]  # the specification behind each constraint of a kind
    _order: Picked  # from the constraints kind by kind to their own order
    _priced: Picked  # each specification's per-trigger constraint among those, else the first
    _has_price: Array  # bool [S]
    _limits: Array
    _caps: Array
    _capped: Picked  # those per-trigger constraints that have a cap
    _caps_of_capped: Array

    @classmethod
    def from_specs(
        cls,
        specs: SpecSet,
        kind: CostKind = "violation",
        xp: ModuleType = np,
        *,
        axis: Axis = -1,
    ) -> Self:
        """Read the costs off a bound set of specifications.

        Args:
            specs: The bound specifications.
            kind: What counts as cost.
            xp: ``numpy`` or ``jax.numpy``.
            axis: Which axis of the counts is that of the instances.

        Raises:
            ConfigurationError: ``kind`` is not a known kind of cost.
        """
        if kind not in get_args(CostKind):
            raise ConfigurationError(
                f"cost must be one of {get_args(CostKind)}, but is {kind!r}"
                + near(str(kind), get_args(CostKind))
            )
        xp = array_namespace(xp.asarray([0]))
        dtype = xp.float64 if is_numpy_namespace(xp) else xp.float32
        constraints = constraints_of(specs)
        index = [int(i) for i in specs.instance_index]
        members = tuple(
            tuple(i for i, s in enumerate(index) if s == spec) for spec in range(len(specs))
        )
        membership = None
        if index != list(range(len(specs))):
            matrix = np.zeros((len(index), len(specs)))
            matrix[np.arange(len(index)), np.asarray(index, np.intp)] = 1.0
            membership = xp.asarray(matrix, dtype=dtype)
        of_kind = {
            name: [k for k, c in enumerate(constraints) if c.kind == name]
            for name in get_args(LimitKind)
        }
        rates = [constraints[k] for k in of_kind["per_trigger"]]
        price = {c.index: place for place, c in enumerate(rates)}
        capped = [place for place, c in enumerate(rates) if c.cap is not None]

        def put(values: Sequence[float]) -> Array:
            return xp.asarray(np.asarray(values, np.float64), dtype=dtype)

        return cls(
            constraints=constraints,
            weights=put([s.weight for s in specs]),
            kind=kind,
            members=members,
            xp=xp,
            axis=axis,
            _membership=membership,
            _sources={
                name: _picked([constraints[k].index for k in ks], len(specs))
                for name, ks in of_kind.items()
            },
            _order=_picked(np.argsort(sum(of_kind.values(), []), kind="stable"), len(constraints)),
            _priced=_picked([price.get(s, 0) for s in range(len(specs))], len(rates)),
            _has_price=xp.asarray([s in price for s in range(len(specs))], dtype=xp.bool),
            _limits=put([c.value for c in rates]),
            _caps=put([np.inf if c.cap is None else c.cap for c in rates]),
            _capped=_picked(capped, len(rates)),
            _caps_of_capped=put([rates[place].cap or 0 for place in capped]),
        )

    def per_specification(self, counts: Array) -> Array:
        """Sum counts ``[..., I]`` over the instances of each specification: floats ``[..., S]``."""
        values = self.xp.astype(self.xp.asarray(counts), self.weights.dtype)
        if self._membership is None:
            return values
        if self.axis == -1:
            return values @ self._membership
        # Row by row: a compiler makes vector instructions over the lanes of it.
        nothing = self.xp.zeros_like(values[:1, ...])
        sums = [sum((values[i : i + 1, ...] for i in own), nothing) for own in self.members]
        return self.xp.concat(sums, axis=0)

    def weighted(self, costs: Array) -> Array:
        """Return the one cost of ``costs`` (``[..., S]``): their weighted sum, ``[...]``."""
        if self.axis == -1:
            return costs @ self.weights
        return self.xp.sum(costs * self._along(self.weights, costs), axis=0)

    def episode_values(self, counts: Counts) -> EpisodeValues:
        """Return what an episode has cost so far.

        A specification's cost is its V, summed over its instances; its U for ``kind="exposure"``;
        and for ``kind="per_trigger"`` the signal of its per-trigger limit, where it has one, for
        learners that read nothing but ``info["cost"]``. The signals of the constraints, whose
        expectation ``threshold`` bounds:

        * ``episode``: the specification's cost;
        * ``probability``: 1 once the specification has been violated, so that the expectation is
          P(V > 0);
        * ``per_trigger``: V - d min(N, cap), since E[V] / E[N] <= d is E[V - d N] <= 0, which is
          linear in the occupancy measure (Altman, "Constrained Markov Decision Processes", 1999).
          At a truncation N loses the events that stay pending, and so does the credit.

        Args:
            counts: Counts since the reset, ``[..., I]``.
        """
        violations = self.per_specification(counts.V)
        costs = self.per_specification(counts.U) if self.kind == "exposure" else violations
        signals = [
            self._pick(costs, self._sources["episode"]),
            self.xp.astype(
                self._pick(violations, self._sources["probability"]) > 0, self.weights.dtype
            ),
        ]
        if self._sources["per_trigger"].size:
            rated = self._sources["per_trigger"]
            triggers = self._pick(self.per_specification(counts.N), rated)
            credited = self.xp.minimum(triggers, self._along(self._caps, triggers))
            limits = self._along(self._limits, triggers)
            signals.append(self._pick(violations, rated) - limits * credited)
            if self.kind == "per_trigger":
                priced = self._pick(signals[-1], self._priced)
                costs = self.xp.where(self._along(self._has_price, costs), priced, costs)
        return EpisodeValues(costs, self._pick(self._joined(signals), self._order))

    def memory(self, counts: Counts) -> Array:
        """Return what the constraints remember of the episode, each in [0, 1], ``[..., M]``.

        One entry per probability constraint (1 once violated), then one per capped per-trigger
        constraint (credited events as a fraction of the cap). Together with the automata's states
        these make every signal of :meth:`episode_values` a function of the product's state. Events
        that a truncation left pending still count here: the state that a learner bootstraps from
        is the one in which the episode would have gone on.
        """
        violations = self.per_specification(counts.V)
        violated = self._pick(violations, self._sources["probability"]) > 0
        entries = [self.xp.astype(violated, self.weights.dtype)]
        if self._capped.size:
            triggers = self.per_specification(counts.N + counts.pending)
            triggers = self._pick(self._pick(triggers, self._sources["per_trigger"]), self._capped)
            caps = self._along(self._caps_of_capped, triggers)
            entries.append(self.xp.minimum(triggers, caps) / caps)
        return self._joined(entries)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Name each entry of :meth:`memory`, in order."""
        violated = [f"{c.id}:violated" for c in self.constraints if c.kind == "probability"]
        rated = [c for c in self.constraints if c.kind == "per_trigger"]
        credited = [f"{c.id}:credited" for c in rated if c.cap is not None]
        return (*violated, *credited)

    def _pick(self, values: Array, picked: Picked) -> Array:
        """Take entries along the axis, in the order of ``picked``."""
        if picked.is_all:
            return values
        if self.axis == -1:
            return values[..., picked.places]
        if not picked.size:
            return values[:0, ...]
        return self.xp.stack([values[int(place), ...] for place in picked.places], axis=0)

    def _joined(self, parts: list[Array]) -> Array:
        """Put parts one after another along the axis."""
        some = [part for part in parts if part.shape[self.axis]]
        if len(some) == 1:
            return some[0]
        return self.xp.concat(some or parts[:1], axis=self.axis)

    def _along(self, constants: Array, like: Array) -> Array:
        """Return ``constants`` so that they broadcast with ``like``."""
        if self.axis == -1 or like.ndim == 1:
            return constants
        return self.xp.reshape(constants, (-1, *(1,) * (like.ndim - 1)))


class Picked(NamedTuple):
    """Places along an axis: ``is_all`` where they are all of them, in their own order."""

    places: NDArray[np.intp]
    is_all: bool

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self.places)


def _picked(places: Sequence[int] | NDArray[np.intp], size: int) -> Picked:
    found = np.asarray(places, np.intp)
    return Picked(found, np.array_equal(found, np.arange(size)))
