"""What a monitored episode costs: the one definition, on arrays, for one environment and for many.

Every cost is written as the value of an episode so far, a function of the counts N, V and U since
the reset. What a step costs is that value after the step less the value before it, so that the
steps of an episode sum to the episode's value by construction, whatever ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near
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
    """What an episode has cost so far.

    ``costs`` is float64 ``[..., specifications]``, ``constraint_costs`` float64
    ``[..., constraints]``.
    """

    costs: Floats
    constraint_costs: Floats


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

    Attributes:
        constraints: The ``K`` constraints, in the order of the signal's columns.
        weights: Each specification's weight in ``info["cost"]``, float64 ``[S]``.
        kind: What counts as cost: violations (V), steps in violation (U), or V less the credit of
            the triggered events where a per-trigger limit sets its price.
        membership: 1 where an instance belongs to a specification, float64 ``[I, S]``; ``None``
            where the two are the same.
    """

    constraints: tuple[Constraint, ...]
    weights: Floats
    kind: CostKind
    membership: Floats | None
    _columns: dict[LimitKind, NDArray[np.intp]]  # of the signal, per kind of limit
    _sources: dict[LimitKind, NDArray[np.intp]]  # the specification behind each of those columns
    _limits: Floats
    _caps: Floats

    @classmethod
    def from_specs(cls, specs: SpecSet, kind: CostKind = "violation") -> Self:
        """Read the costs off a bound set of specifications.

        Raises:
            ConfigurationError: ``kind`` is not a known kind of cost.
        """
        if kind not in get_args(CostKind):
            raise ConfigurationError(
                f"cost must be one of {get_args(CostKind)}, but is {kind!r}"
                + near(str(kind), get_args(CostKind))
            )
        constraints = constraints_of(specs)
        instance_index = np.asarray(specs.instance_index, np.intp)
        membership: Floats | None = None
        if not np.array_equal(instance_index, np.arange(len(specs))):
            membership = np.zeros((len(instance_index), len(specs)), np.float64)
            membership[np.arange(len(instance_index)), instance_index] = 1.0
        of_kind = {
            name: [k for k, c in enumerate(constraints) if c.kind == name]
            for name in get_args(LimitKind)
        }
        rates = [constraints[k] for k in of_kind["per_trigger"]]
        return cls(
            constraints=constraints,
            weights=np.array([s.weight for s in specs], np.float64),
            kind=kind,
            membership=membership,
            _columns={name: np.array(ks, np.intp) for name, ks in of_kind.items()},
            _sources={
                name: np.array([constraints[k].index for k in ks], np.intp)
                for name, ks in of_kind.items()
            },
            _limits=np.array([c.value for c in rates], np.float64),
            _caps=np.array([np.inf if c.cap is None else c.cap for c in rates], np.float64),
        )

    def per_specification(self, counts: NDArray[Any]) -> Floats:
        """Sum counts ``[..., I]`` over the instances of each specification: ``[..., S]``."""
        values = np.asarray(counts, np.float64)
        return values if self.membership is None else values @ self.membership

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
        signal = np.empty((*costs.shape[:-1], len(self.constraints)), np.float64)
        if len(columns := self._columns["episode"]):
            signal[..., columns] = costs[..., self._sources["episode"]]
        if len(columns := self._columns["probability"]):
            signal[..., columns] = violations[..., self._sources["probability"]] > 0
        if len(columns := self._columns["per_trigger"]):
            rated = self._sources["per_trigger"]
            credited = np.minimum(self.per_specification(counts.N)[..., rated], self._caps)
            signal[..., columns] = violations[..., rated] - self._limits * credited
            if self.kind == "per_trigger":
                costs = costs.copy()
                costs[..., rated] = signal[..., columns]
        return EpisodeValues(costs, signal)

    def memory(self, counts: Counts) -> Floats:
        """Return what the constraints remember of the episode, each in [0, 1], ``[..., M]``.

        One entry per probability constraint (1 once violated), then one per capped per-trigger
        constraint (credited events as a fraction of the cap). Together with the automata's states
        these make every signal of :meth:`episode_values` a function of the product's state. Events
        that a truncation left pending still count here: the state that a learner bootstraps from
        is the one in which the episode would have gone on.
        """
        violated = self.per_specification(counts.V)[..., self._sources["probability"]] > 0
        capped = np.isfinite(self._caps)
        caps = self._caps[capped]
        triggers = self.per_specification(counts.N + counts.pending)
        credited = np.minimum(triggers[..., self._sources["per_trigger"][capped]], caps) / caps
        return np.concatenate([violated, credited], axis=-1)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Name each entry of :meth:`memory`, in order."""
        violated = [f"{c.id}:violated" for c in self.constraints if c.kind == "probability"]
        rated = [c for c in self.constraints if c.kind == "per_trigger"]
        credited = [f"{c.id}:credited" for c in rated if c.cap is not None]
        return (*violated, *credited)
