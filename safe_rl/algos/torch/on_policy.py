"""What a constrained on-policy algorithm needs besides its update: rollouts, the loop, files.

The counterpart of SB3's ``OnPolicyAlgorithm``; an algorithm built on it overrides ``train``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch as th
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos.controllers import Controller
from safe_rl.algos.torch import checkpoint as checkpoints
from safe_rl.algos.torch.averaging import PolicyAverage
from safe_rl.algos.torch.buffers import CostRolloutBuffer
from safe_rl.algos.torch.constraints import ConstraintSet, EpisodeSums, read_costs
from safe_rl.algos.torch.policies import CostCriticMixin
from safe_rl.algos.torch.ratios import TriggerRatios
from safe_rl.algos.torch.vec_env import VectorEnvAdapter
from safe_rl.errors import ConfigurationError

__all__ = ["ConstrainedOnPolicyAlgorithm"]


class ConstrainedOnPolicyAlgorithm(OnPolicyAlgorithm):
    """Collects reward and costs, runs the training loop, and saves and restores a run.

    Attributes:
        constraints: names and limits.
        controller: moves the multipliers.
        episode_sums: of the episodes under way.
        trigger_ratios: V/N of per-trigger limits, for the log.
        recent_costs: sums of the last episodes, for the log.
        averaged: the averaged actor.
        cost_limits: as they were given; see ``resolve_constraints``.
        cost_key: entry of ``info`` with the costs of a step.
        hyperparameters: the constructor's arguments, from which a checkpoint builds a model.
        iteration: rollouts done.
        episodes: episodes ended.
        num_multiplier_updates: how often the multipliers moved.
    """

    policy: CostCriticMixin
    rollout_buffer: CostRolloutBuffer
    constraints: ConstraintSet
    controller: Controller
    episode_sums: EpisodeSums
    trigger_ratios: TriggerRatios
    recent_costs: deque[list[float]]
    averaged: PolicyAverage
    hyperparameters: dict[str, Any]
    cost_limits: Sequence[float] | Mapping[str, float] | float | None
    cost_key: str
    iteration: int
    episodes: int
    num_multiplier_updates: int
    _pending: list[NDArray[np.float64]]  # ended episodes, for the next update of the multipliers

    @staticmethod
    def _wrap_env(
        env: GymEnv | VectorEnv, verbose: int = 0, monitor_wrapper: bool = True
    ) -> VecEnv:
        if isinstance(env, VectorEnv):
            env = VectorEnvAdapter(env)
        return OnPolicyAlgorithm._wrap_env(env, verbose, monitor_wrapper)

    # --- collecting -----------------------------------------------------------------------------

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the buffer with ``n_rollout_steps`` steps of every environment.

        Returns:
            False if the callback asked to stop.
        """
        assert isinstance(rollout_buffer, CostRolloutBuffer)
        assert self._last_obs is not None, "No previous observation was provided"
        self.policy.set_training_mode(False)
        # First of all, so that a checkpoint written here is at a clean boundary: no random number
        # of this rollout has been drawn, and resuming draws the same ones.
        callback.on_rollout_start()
        rollout_buffer.reset()
        if self.use_sde:
            self.policy.reset_noise(env.num_envs)
        dones = np.zeros(env.num_envs, dtype=np.bool_)
        for step in range(n_rollout_steps):
            if self.use_sde and self.sde_sample_freq > 0 and step % self.sde_sample_freq == 0:
                self.policy.reset_noise(env.num_envs)
            with th.no_grad():
                obs_tensor = obs_as_tensor(self._last_obs, self.device)  # type: ignore[arg-type]
                actions_tensor, values, cost_values, log_probs = self.policy.forward_with_costs(
                    obs_tensor
                )
            actions = actions_tensor.cpu().numpy()
            env_actions = actions
            if isinstance(self.action_space, spaces.Box):
                if self.policy.squash_output:
                    env_actions = self.policy.unscale_action(actions)
                else:
                    env_actions = np.clip(actions, self.action_space.low, self.action_space.high)
            new_obs, rewards, dones, infos = env.step(env_actions)
            self.num_timesteps += env.num_envs
            costs = read_costs(infos, self.constraints)
            ended = self.episode_sums.add(costs, dones)
            self._note_ended(ended, infos, dones)

            callback.update_locals(locals())
            if not callback.on_step():
                return False
            self._update_info_buffer(infos, dones)

            bootstrap, cost_bootstraps = self._truncation_values(infos, dones)
            rollout_buffer.add_costs(costs, cost_values, cost_bootstraps, self._valid_steps(infos))
            rollout_buffer.add(
                self._last_obs,  # type: ignore[arg-type]
                actions,
                rewards + self.gamma * bootstrap,
                self._last_episode_starts,  # type: ignore[arg-type]
                values,
                log_probs,
            )
            self._last_obs = new_obs  # type: ignore[assignment]
            self._last_episode_starts = dones

        with th.no_grad():
            values, cost_values = self.policy.predict_all_values(
                obs_as_tensor(self._last_obs, self.device)  # type: ignore[arg-type]
            )
        rollout_buffer.compute_returns_and_advantage(last_values=values, dones=dones)
        rollout_buffer.compute_cost_returns_and_advantages(cost_values, dones)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def _note_ended(
        self,
        ended: NDArray[np.float64],
        infos: Sequence[dict[str, Any]],
        dones: NDArray[np.bool_],
    ) -> None:
        self.episodes += len(ended)
        self._pending.extend(ended)
        self.recent_costs.extend(ended.tolist())
        for index in np.flatnonzero(dones):
            self.trigger_ratios.add(infos[index])

    @staticmethod
    def _valid_steps(infos: Sequence[dict[str, Any]]) -> NDArray[np.bool_] | None:
        """Return which steps were real, or None for all (see next-step autoreset)."""
        arrays = getattr(infos, "arrays", None)
        if arrays is not None:
            return ~arrays["reset_step"] if "reset_step" in arrays else None
        marks = np.array([bool(info.get("reset_step", False)) for info in infos])
        return ~marks if marks.any() else None

    def _truncation_values(
        self, infos: Sequence[dict[str, Any]], dones: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the critics' values of the final states of truncated episodes, else 0.

        Shapes ``[n_envs]`` and ``[n_envs, K]``. An episode that terminated has no future.
        """
        values = np.zeros(len(infos), dtype=np.float32)
        cost_values = np.zeros((len(infos), len(self.constraints)), dtype=np.float32)
        cut = [
            int(index)
            for index in np.flatnonzero(dones)
            if infos[index].get("TimeLimit.truncated", False)
            and infos[index].get("terminal_observation") is not None
        ]
        if cut:
            finals = [infos[index]["terminal_observation"] for index in cut]
            batch: Any
            if isinstance(self.observation_space, spaces.Dict):
                batch = {key: np.stack([obs[key] for obs in finals]) for key in finals[0]}
            else:
                batch = np.stack(finals)
            with th.no_grad():
                reward_values, all_cost_values = self.policy.predict_all_values(
                    self.policy.obs_to_tensor(batch)[0]
                )
            values[cut] = reward_values.cpu().numpy().flatten()
            cost_values[cut] = all_cost_values.cpu().numpy()
        return values, cost_values

    # --- the loop --------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "PPOLagrangian",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Train; the arguments are those of SB3.

        Unlike SB3, an iteration is logged after its update, so that one row holds a rollout, its
        multipliers and its losses, and nothing is left over at a checkpoint.
        """
        if reset_num_timesteps:
            self.iteration = 0
        fresh = reset_num_timesteps or self._last_obs is None
        total_timesteps, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        if fresh:  # the environments were reset, so no running episode can be finished
            self.episode_sums.clear()
        callback.on_training_start(locals(), globals())
        assert self.env is not None
        while self.num_timesteps < total_timesteps:
            if not self.collect_rollouts(self.env, callback, self.rollout_buffer, self.n_steps):
                break
            self.iteration += 1
            self._update_current_progress_remaining(self.num_timesteps, total_timesteps)
            self.train()
            if log_interval is not None and self.iteration % log_interval == 0:
                self.dump_logs(self.iteration)
        callback.on_training_end()
        return self

    def resume(self, callback: MaybeCallback = None, **kwargs: Any) -> Self:
        """Finish the training that a loaded checkpoint had begun.

        The same as ``learn`` with the steps that were left and ``reset_num_timesteps=False``.
        """
        return self.learn(
            self._total_timesteps - self.num_timesteps,
            callback,
            reset_num_timesteps=False,
            **kwargs,
        )

    # --- policies, normalisers, files -----------------------------------------------------------

    def action_probabilities(
        self, observations: NDArray[Any] | dict[str, NDArray[Any]]
    ) -> NDArray[np.float64]:
        """Return the policy's distribution over discrete actions, ``[B, A]``, rows summing to 1.

        Args:
            observations: a batch ``[B, ...]``, normalised if the policy was trained so.

        Raises:
            ConfigurationError: the action space is not Discrete.
        """
        if not isinstance(self.action_space, spaces.Discrete):
            raise ConfigurationError(
                f"action probabilities exist for Discrete actions, not for {self.action_space}"
            )
        self.policy.set_training_mode(False)
        with th.no_grad():
            distribution = self.policy.get_distribution(self.policy.obs_to_tensor(observations)[0])
            logits = distribution.distribution.logits  # type: ignore[union-attr]
            probabilities: NDArray[np.float64] = th.softmax(logits.double(), -1).cpu().numpy()
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def use_averaged_policy(self) -> None:
        """Put the averaged actor in place of the last one; the critics stay.

        Raises:
            ConfigurationError: the model was built with ``policy_average=0``.
        """
        self.averaged.apply(self.policy)

    def evaluation_env(self, env: GymEnv | VectorEnv) -> VecEnv:
        """Return ``env`` with the statistics that this model was trained with, frozen.

        Observations are normalised as in training and rewards are left as they are. Without a
        normaliser in training, this only vectorises the environment.
        """
        wrapped = self._wrap_env(env)
        return checkpoints.wrap_frozen(wrapped, checkpoints.trained_normaliser(self))

    def save(self, path: str | os.PathLike[str], **unused: Any) -> Path:  # type: ignore[override]
        """Write everything to one file, atomically; ``.zip`` is added if there is no suffix.

        See :mod:`~safe_rl.algos.torch.checkpoint` for what it holds. For a file from which a run
        continues with the same numbers on any simulator, use :meth:`checkpoint` between rollouts,
        or ``CheckpointCallback``.
        """
        if unused:
            raise ConfigurationError(
                f"save() takes no {', '.join(unused)}: a checkpoint always holds everything"
            )
        return checkpoints.save(self, path)

    def checkpoint(self, path: str | os.PathLike[str]) -> Path:
        """Write a checkpoint between two rollouts from which a run resumes exactly.

        If the environment cannot give its state, it is re-seeded and reset *here*, in this run too,
        and the episodes under way are dropped: the resumed run then starts from the same reset.
        """
        return checkpoints.save(self, path, exact=True)

    @classmethod
    def load(  # type: ignore[override]
        cls,
        path: str | os.PathLike[str],
        env: GymEnv | VectorEnv | None = None,
        device: th.device | str = "auto",
        **kwargs: Any,
    ) -> Self:
        """Read a model that :meth:`save` wrote.

        With an environment built as it was, the run is restored: ``model.resume()`` goes on with
        the numbers of a run that was never stopped. A normaliser's statistics come with the
        file; an environment without ``VecNormalize`` is wrapped in one if training had it. Without
        an environment the model only predicts.

        Args:
            path: the file.
            env: the training environment, built as when the run started.
            device: where the networks go.
            **kwargs: replaces arguments of the model, such as a schedule that is a function and so
                could not be saved.

        Raises:
            CheckpointError: the file is missing or damaged, or belongs to another run.
        """
        return checkpoints.load(cls, path, env, device, kwargs)
