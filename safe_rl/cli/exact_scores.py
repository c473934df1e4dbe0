"""Exact scores of a policy on KitchenGrid: the same policy, solved for instead of sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.exact import Evaluation, ProductCMDP
from safe_rl.envs.kitchen_grid import KitchenGridVector, build_tables
from safe_rl.errors import ConfigurationError
from safe_rl.wrappers import VectorProductMDP
from safe_rl.wrappers.features import MonitorFeatures, ObservationMerger

WITHIN = 0.05
"""How far past its limit a learned policy may be and still count as at the limit (relative)."""


@dataclass(frozen=True)
class ExactLimit:
    """A limit, and the exact value of what it bounds.

    Attributes:
        id: the specification.
        kind: ``"episode"``, ``"probability"`` or ``"per_trigger"``.
        limit: in the unit of the kind.
        value: E[cost], P(any violation) or E[V]/E[N]; ``None`` where E[N] is zero.
    """

    id: str
    kind: str
    limit: float
    value: float | None

    @property
    def met(self) -> bool | None:
        """Whether the value is at most the limit; ``None`` where nothing ever triggers."""
        # the solver's tolerance is not an excess
        return None if self.value is None else self.value <= self.limit * (1 + 1e-6) + 1e-9

    @property
    def within_tolerance(self) -> bool | None:
        """Whether the value is at most 5% past the limit."""
        return None if self.value is None else self.value <= self.limit * (1 + WITHIN) + 1e-9


def exact_limits(cmdp: ProductCMDP, evaluation: Evaluation) -> tuple[ExactLimit, ...]:
    """Return each limit beside the exact value of what it bounds, in the limit's own unit."""
    rows = []
    index = np.asarray(cmdp.specs.instance_index)
    for position, constraint in enumerate(cmdp.constraints):
        value: float | None = float(evaluation.constraint_values[position])
        if constraint.kind == "per_trigger":
            own = index == constraint.index
            violated = float(evaluation.violated[own].sum())
            # the signal is V - d * (credited N), so the credited N can be read off it
            credited = (
                float(evaluation.triggered[own].sum())
                if constraint.cap is None
                else (violated - evaluation.constraint_values[position]) / constraint.value
            )
            value = violated / credited if credited > 1e-12 else None
        rows.append(ExactLimit(constraint.id, constraint.kind, constraint.value, value))
    return tuple(rows)


class HasProbabilities(Protocol):
    """A policy whose distribution over actions is known."""

    def probabilities(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the distribution over discrete actions, float64 ``[N, A]``."""


def policy_table(
    policy: HasProbabilities, product: VectorProductMDP, cmdp: ProductCMDP
) -> NDArray[np.float64]:
    """Return the trained policy's action probabilities in every product state, ``[N, A]``.

    The observation of a product state is what :class:`VectorProductMDP` would show there.

    Raises:
        ConfigurationError: the environment is not the array version of KitchenGrid.
    """
    kitchen = product.unwrapped
    if not isinstance(kitchen, KitchenGridVector):
        raise ConfigurationError(
            f"exact scores need the array version of KitchenGrid, got {kitchen}; use "
            "env=kitchen_grid with env.vectorization=vector_entry_point"
        )
    tables = build_tables(kitchen.parameters)
    features = MonitorFeatures(
        [instance.id for instance in product.specs.instances],
        product.episodes.tables.num_states,
        product.episodes.model.memory_names,
        "one_hot",
    )
    merger = ObservationMerger(kitchen.single_observation_space, features.low, features.high)
    vectors = features.vector(cmdp.automata, cmdp.memory_features)
    return policy.probabilities(merger.merge(tables.features[cmdp.env_states], vectors))


class TablePolicy:
    """Acts by a table of probabilities over product states, such as the optimum's."""

    def __init__(
        self,
        table: NDArray[np.float64],
        product: VectorProductMDP,
        cmdp: ProductCMDP,
        seed: int,
    ) -> None:
        """Remember where the states are read from."""
        self._cumulative = np.cumsum(table, axis=1)
        self._product = product
        self._cmdp = cmdp
        self._random = np.random.default_rng(seed)

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Sample one action per environment."""
        kitchen: Any = self._product.unwrapped
        size = self._cmdp.memory.shape[1]  # what the limits remember ends the observation
        states = self._cmdp.indices(
            kitchen.state_indices,
            self._product.episodes.state.automaton,
            observations[:, observations.shape[1] - size :],
        )
        cumulative = self._cumulative[states]
        draws = self._random.random((len(states), 1)) * cumulative[:, -1:]
        return np.minimum((draws >= cumulative).sum(axis=1), cumulative.shape[1] - 1)


def exact_json(limits: tuple[ExactLimit, ...], evaluation: Evaluation) -> Mapping[str, Any]:
    """Return exact scores as plain data."""
    return {
        "return": evaluation.value,
        "length": evaluation.length,
        "limits": [
            {
                "id": row.id,
                "kind": row.kind,
                "limit": row.limit,
                "value": row.value,
                "met": row.met,
                "within_5_percent": row.within_tolerance,
            }
            for row in limits
        ],
        "expected_N": evaluation.triggered.tolist(),
        "expected_V": evaluation.violated.tolist(),
        "expected_U": evaluation.exposed.tolist(),
    }
