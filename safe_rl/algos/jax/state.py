"""What an iteration takes and gives: one run's state, its controls and its measurements."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from gymnasium import spaces

from safe_rl.algos.jax.networks import Parameters
from safe_rl.algos.jax.statistics import RunningMoments

__all__ = [
    "Controls",
    "Counts",
    "EndedEpisodes",
    "LocalState",
    "Product",
    "RunState",
    "RunningEpisodes",
    "SharedState",
    "Transition",
]


class Counts(Protocol):
    """Triggered events and violations of the episodes that just ended, int32 ``[N, I]``."""

    @property
    def N(self) -> jax.Array:
        """Triggered events."""

    @property
    def V(self) -> jax.Array:
        """Violations."""


class Transition(Protocol):
    """What the learner reads of a step of ``N`` environments; see the product for the rest."""

    @property
    def observation(self) -> jax.Array:
        """What the policy acts on next, float32 ``[N, D]``."""

    @property
    def final_observation(self) -> jax.Array:
        """Of the state that the step reached, before any reset, float32 ``[N, D]``."""

    @property
    def reward(self) -> jax.Array:
        """Float32 ``[N]``."""

    @property
    def terminated(self) -> jax.Array:
        """Bool ``[N]``."""

    @property
    def truncated(self) -> jax.Array:
        """Bool ``[N]``."""

    @property
    def success(self) -> jax.Array:
        """Bool ``[N]``, of the state that the step reached."""

    @property
    def constraint_costs(self) -> jax.Array:
        """Float32 ``[N, K]``."""

    @property
    def counts(self) -> Counts:
        """Of episodes that ended, zero elsewhere."""


class Product(Protocol):
    """What the learner needs of an environment under specifications, ``FunctionalProduct``."""

    @property
    def observation_space(self) -> spaces.Box:
        """Of one environment; one axis."""

    @property
    def action_space(self) -> spaces.Box | spaces.Discrete:
        """Of one environment."""

    @property
    def constraints(self) -> tuple[Any, ...]:
        """With ``id``, ``kind``, ``value``, ``threshold`` and ``index``."""

    @property
    def specs(self) -> Any:
        """The specifications; ``instance_index`` says whose each monitor instance is."""

    def reset(self, key: jax.Array, num_envs: int) -> tuple[Any, jax.Array]:
        """Return the state and the observations ``[N, D]``."""

    def step(self, state: Any, actions: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        """Return the next state and the :class:`Transition`."""


class SharedState(NamedTuple):
    """What all environments of a run share.

    Attributes:
        params: of actor and critics.
        optimizer: optax's state.
        average: the averaged actor; empty if none is kept.
        averaged: updates that the average has taken, int32.
        observations: statistics of observations; of no entries unless they are normalised.
        returns: statistics of discounted returns, a scalar's.
        key: of the next iteration's random numbers.
    """

    params: Parameters
    optimizer: Any
    average: Any
    averaged: jax.Array
    observations: RunningMoments
    returns: RunningMoments
    key: jax.Array


class RunningEpisodes(NamedTuple):
    """Sums over the episodes under way, exact across iterations.

    Attributes:
        reward: float32 ``[N]``.
        length: int32 ``[N]``.
        costs: of each constraint, float32 ``[N, K]``.
        discounted: discounted return so far, for the normaliser, float32 ``[N]``.
    """

    reward: jax.Array
    length: jax.Array
    costs: jax.Array
    discounted: jax.Array

    @classmethod
    def start(cls, num_envs: int, num_costs: int) -> RunningEpisodes:
        """Return the sums of episodes that have not begun."""
        return cls(
            jnp.zeros(num_envs),
            jnp.zeros(num_envs, jnp.int32),
            jnp.zeros((num_envs, num_costs)),
            jnp.zeros(num_envs),
        )


class LocalState(NamedTuple):
    """What belongs to a shard of environments.

    Attributes:
        env: the product's state.
        observation: raw, float32 ``[N, D]``.
        episodes: sums of the episodes under way.
    """

    env: Any
    observation: jax.Array
    episodes: RunningEpisodes


class RunState(NamedTuple):
    """The whole of a run; the leaves of ``local`` have the shards as their first axis."""

    shared: SharedState
    local: LocalState


class Controls(NamedTuple):
    """What the host decides for an iteration, all float32.

    Attributes:
        multipliers: ``[K]``.
        learning_rate: of Adam.
        clip_range: of the probability ratios.
        ent_coef: entropy bonus in units of reward.
    """

    multipliers: jax.Array
    learning_rate: jax.Array
    clip_range: jax.Array
    ent_coef: jax.Array


class EndedEpisodes(NamedTuple):
    """Sums over the episodes that ended in an iteration.

    Attributes:
        episodes: how many, int32.
        reward: sum of their rewards.
        length: sum of their lengths, int32.
        success: how many ended in success, int32.
        costs: sums of each constraint's cost, ``[K]``.
        violations: V of each monitor instance, int32 ``[I]``.
        triggers: N of each monitor instance, int32 ``[I]``.
    """

    episodes: jax.Array
    reward: jax.Array
    length: jax.Array
    success: jax.Array
    costs: jax.Array
    violations: jax.Array
    triggers: jax.Array
