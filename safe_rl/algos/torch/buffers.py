"""Rollout buffers that hold the costs of every constraint beside the reward."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer

from safe_rl.algos.torch.advantages import generalised_advantages

__all__ = ["CostDictRolloutBuffer", "CostRolloutBuffer", "CostRolloutSamples"]


class CostRolloutSamples(NamedTuple):
    """One minibatch; ``B`` samples, ``K`` constraints.

    ``advantages`` is what the policy ascends: the Lagrangian's once
    :meth:`CostRolloutBuffer.set_policy_advantages` has been called.
    """

    observations: th.Tensor | dict[str, th.Tensor]
    actions: th.Tensor
    old_values: th.Tensor
    old_log_prob: th.Tensor
    advantages: th.Tensor
    returns: th.Tensor
    cost_returns: th.Tensor


class CostRolloutBuffer(RolloutBuffer):
    """SB3's rollout buffer with arrays ``[n_steps, n_envs, K]`` for the costs.

    Costs are kept in their own units, as the environment gave them; the value that stands for the
    future of a truncated episode is kept apart from them, in ``cost_bootstraps``.

    ``valid`` marks the real transitions. In a vector environment of Gymnasium's next-step autoreset
    mode the step that resets is none; such a step is stored and never drawn.

    Args:
        num_costs: the number of constraints, ``K``.
        cost_gamma: discount factor of the costs.
        cost_gae_lambda: GAE factor of the costs.
    """

    costs: NDArray[np.float32]
    cost_bootstraps: NDArray[np.float32]
    cost_values: NDArray[np.float32]
    cost_advantages: NDArray[np.float32]
    cost_returns: NDArray[np.float32]
    valid: NDArray[np.bool_]

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: th.device | str = "auto",
        gae_lambda: float = 1,
        gamma: float = 0.99,
        n_envs: int = 1,
        num_costs: int = 0,
        cost_gamma: float = 0.99,
        cost_gae_lambda: float = 1.0,
    ) -> None:
        self.num_costs = num_costs
        self.cost_gamma = cost_gamma
        self.cost_gae_lambda = cost_gae_lambda
        super().__init__(
            buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs
        )

    def reset(self) -> None:
        """Empty the buffer."""
        super().reset()
        shape = (self.buffer_size, self.n_envs, self.num_costs)
        self.costs = np.zeros(shape, dtype=np.float32)
        self.cost_bootstraps = np.zeros(shape, dtype=np.float32)
        self.cost_values = np.zeros(shape, dtype=np.float32)
        self.cost_advantages = np.zeros(shape, dtype=np.float32)
        self.cost_returns = np.zeros(shape, dtype=np.float32)
        self.valid = np.ones(shape[:2], dtype=np.bool_)

    def add_costs(
        self,
        costs: NDArray[np.floating],
        cost_values: th.Tensor,
        cost_bootstraps: NDArray[np.floating] | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> None:
        """Store the costs of one step; call it before :meth:`add`, which moves on.

        Args:
            costs: of each environment and constraint, ``[n_envs, K]``.
            cost_values: the cost critics' values of the states acted in, ``[n_envs, K]``.
            cost_bootstraps: their values of the final states of truncated episodes, else 0.
            valid: false where the step only reset its environment, ``[n_envs]``.
        """
        self.costs[self.pos] = costs
        self.cost_values[self.pos] = cost_values.clone().cpu().numpy()
        if cost_bootstraps is not None:
            self.cost_bootstraps[self.pos] = cost_bootstraps
        if valid is not None:
            self.valid[self.pos] = valid

    def compute_cost_returns_and_advantages(
        self, last_cost_values: th.Tensor, dones: NDArray[np.bool_]
    ) -> None:
        """Compute GAE and TD(lambda) returns of every cost.

        Args:
            last_cost_values: the cost critics' values after the last step, ``[n_envs, K]``.
            dones: whether the last step ended an episode, ``[n_envs]``.
        """
        self.cost_advantages = generalised_advantages(
            self.costs,
            self.cost_values,
            last_cost_values.clone().cpu().numpy(),
            self.episode_starts,
            dones,
            gamma=self.cost_gamma,
            gae_lambda=self.cost_gae_lambda,
            bootstraps=self.cost_bootstraps,
        )
        self.cost_returns = self.cost_advantages + self.cost_values

    def set_policy_advantages(self, advantages: NDArray[np.float32]) -> None:
        """Replace the advantages that minibatches carry, ``[n_steps, n_envs]``."""
        self.advantages = advantages

    def samples(self, batch_size: int | None = None) -> Generator[CostRolloutSamples, None, None]:
        """Yield the valid transitions once, in random minibatches."""
        if not self.generator_ready:
            names = ["actions", "values", "log_probs", "advantages", "returns"]
            if isinstance(self.observations, dict):
                for key, value in self.observations.items():
                    self.observations[key] = self.swap_and_flatten(value)
            else:
                names.append("observations")
            for name in (*names, "cost_returns", "valid"):
                self.__dict__[name] = self.swap_and_flatten(self.__dict__[name])
            self.generator_ready = True
        # SB3's generator: the global one, which its seeding sets and a checkpoint carries.
        indices = np.random.permutation(np.flatnonzero(self.valid))  # noqa: NPY002
        batch_size = batch_size or len(indices)
        for start in range(0, len(indices), batch_size):
            chosen = indices[start : start + batch_size]
            if isinstance(self.observations, dict):
                observations: th.Tensor | dict[str, th.Tensor] = {
                    key: self.to_torch(value[chosen]) for key, value in self.observations.items()
                }
            else:
                observations = self.to_torch(self.observations[chosen])
            yield CostRolloutSamples(
                observations,
                self.to_torch(self.actions[chosen].astype(np.float32, copy=False)),
                self.to_torch(self.values[chosen].flatten()),
                self.to_torch(self.log_probs[chosen].flatten()),
                self.to_torch(self.advantages[chosen].flatten()),
                self.to_torch(self.returns[chosen].flatten()),
                self.to_torch(self.cost_returns[chosen]),
            )


class CostDictRolloutBuffer(CostRolloutBuffer, DictRolloutBuffer):
    """:class:`CostRolloutBuffer` for dictionary observations."""
