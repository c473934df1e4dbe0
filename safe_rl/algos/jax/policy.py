"""A trained policy that acts on numpy observations, and needs no environment to be loaded."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from safe_rl.algos.jax.distributions import Categorical
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.statistics import RunningMoments, normalise
from safe_rl.errors import ConfigurationError

__all__ = ["Policy"]


class Policy:
    """The actor with the normaliser's statistics of its training, which no longer change.

    Attributes:
        observation_space: of one environment.
        action_space: of one environment.
        averaged: whether this is the averaged actor.

    Args:
        networks: the functions.
        observation_space: of one environment.
        actor: the actor's parameters.
        statistics: of observations; None if they are not normalised.
        averaged: whether ``actor`` is the average.
        seed: of the actions that are sampled when no generator is given.
    """

    def __init__(
        self,
        networks: Networks,
        observation_space: spaces.Box,
        actor: Any,
        statistics: RunningMoments | None,
        *,
        averaged: bool = False,
        seed: int = 0,
    ) -> None:
        self.observation_space = observation_space
        self.action_space = networks.action_space
        self.averaged = averaged
        self._networks = networks
        self._actor = actor
        self._statistics = statistics
        self._random = np.random.default_rng(seed)

        def forward(actor: Any, statistics: RunningMoments | None, observations: Any) -> Any:
            if statistics is not None:
                observations = normalise(observations, statistics)
            return networks.policy(actor, observations)

        self._forward = jax.jit(forward)

    def _distribution(self, observations: Any) -> Any:
        batch = np.asarray(observations, np.float32)
        if batch.ndim != 2 or batch.shape[1] != self._networks.observation_size:
            raise ConfigurationError(
                f"the policy was trained on observations [n, {self._networks.observation_size}], "
                f"got the shape {batch.shape}; evaluate it in the environment and under the "
                f"specifications of its run"
            )
        return self._forward(self._actor, self._statistics, batch)

    def act(
        self,
        observations: NDArray[Any],
        deterministic: bool = False,
        rng: np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return one action per row, as a Gymnasium vector environment takes them.

        Args:
            observations: raw, ``[n, D]``.
            deterministic: the most likely action instead of one that is drawn.
            rng: draws the actions; by default the policy's own generator.

        Returns:
            int64 ``[n]`` for Discrete actions, float32 ``[n, A]`` within the bounds for Box.
        """
        generator = self._random if rng is None else rng
        distribution = self._distribution(observations)
        if isinstance(distribution, Categorical):
            logits = np.asarray(distribution.logits, np.float64)
            noise = 0.0 if deterministic else generator.gumbel(size=logits.shape)
            choice: NDArray[np.int64] = np.argmax(logits + noise, axis=1).astype(np.int64)
            return choice
        assert isinstance(self.action_space, spaces.Box)
        actions = np.asarray(distribution.mean, np.float64)
        if not deterministic:
            deviation = np.exp(np.asarray(distribution.log_std, np.float64))
            actions = actions + deviation * generator.normal(size=actions.shape)
        clipped = np.clip(actions, self.action_space.low, self.action_space.high)
        bounded: NDArray[np.float32] = clipped.astype(np.float32)
        return bounded

    def action_probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """Return the distribution over discrete actions, ``[n, A]``, rows summing to 1.

        Raises:
            ConfigurationError: the action space is not Discrete.
        """
        if not self._networks.discrete:
            raise ConfigurationError(
                f"action probabilities exist for Discrete actions, not for {self.action_space}"
            )
        logits = np.asarray(self._distribution(observations).logits, np.float64)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return probabilities
