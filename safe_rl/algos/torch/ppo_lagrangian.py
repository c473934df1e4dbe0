"""Proximal policy optimisation under constraints, by Lagrange multipliers.

Sources: Schulman et al., "Proximal Policy Optimization Algorithms" (2017), for the policy update;
Ray, Achiam & Amodei, "Benchmarking Safe Exploration in Deep Reinforcement Learning" (2019), for
its Lagrangian form; Altman, "Constrained Markov Decision Processes" (1999), for the saddle point.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch as th
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import GymEnv
from stable_baselines3.common.utils import FloatSchedule, explained_variance
from torch.nn import functional as F

from safe_rl.algos.controllers import Controller, make_controller
from safe_rl.algos.schedules import ScheduleLike, make_schedule
from safe_rl.algos.torch.advantages import lagrangian_advantages
from safe_rl.algos.torch.averaging import PolicyAverage
from safe_rl.algos.torch.buffers import CostDictRolloutBuffer, CostRolloutBuffer
from safe_rl.algos.torch.constraints import (
    EpisodeSums,
    resolve_constraints,
)
from safe_rl.algos.torch.on_policy import ConstrainedOnPolicyAlgorithm
from safe_rl.algos.torch.policies import (
    CostActorCriticPolicy,
    CostCnnPolicy,
    CostCriticMixin,
    CostMultiInputPolicy,
)
from safe_rl.algos.torch.ratios import TriggerRatios
from safe_rl.errors import ConfigurationError

__all__ = ["PPOLagrangian"]

_ACTION_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


class PPOLagrangian(ConstrainedOnPolicyAlgorithm):
    """PPO that maximises reward subject to limits on expected episode costs.

    The interface is that of SB3's ``PPO``. What is new: every constraint has its own head in a cost
    critic, its own advantage estimate and its own multiplier; a controller, separate from the
    policy, moves the multipliers once per rollout, from the episodes that *ended* since it last
    moved. A rollout in which no episode ends trains the policy and leaves the multipliers alone.

    The policy ascends ``A_r - sum_i lambda_i A_i``, combined in raw units and normalised as a whole
    (:func:`~safe_rl.algos.torch.advantages.lagrangian_advantages` says why). Rewards may be
    normalised by ``VecNormalize``; costs never are, so limits keep their unit. A multiplier is in
    units of (normalised) reward per unit of cost.

    Limits bound the undiscounted sum of a cost over an episode, and the controller always sees that
    sum. ``cost_gamma`` only shapes how the policy gradient assigns cost to actions. 1.0 is exact
    where episodes end by termination, as on KitchenGrid; where they end by truncation alone, an
    undiscounted value of the time after the truncation has no bound, so the default is ``gamma``.

    Without constraints (``cost_limits=[]``) this is PPO. With ``controller="unconstrained"`` it is
    PPO that measures and logs the costs too.

    Logged besides SB3's own: ``lambda/<id>``, ``cost/<id>`` (mean over the last
    ``stats_window_size`` episodes), ``limit/<id>``, ``violation/<id>`` (of the update, when
    episodes ended), ``ratio/<id>`` (V/N of a per-trigger limit), ``train/cost_value_loss``.

    Args:
        policy: "MlpPolicy", "MultiInputPolicy" (Dict observations), "CnnPolicy", or a class with
            ``CostCriticMixin``.
        env: a Gymnasium environment, an id, an SB3 ``VecEnv``, or a Gymnasium ``VectorEnv`` (such
            as ``VectorProductMDP``).
        learning_rate: a number, ``(first, last)`` annealed linearly over the training, ``(first,
            last, "geometric")``, or a function of the remaining progress (1 to 0).
        n_steps: steps of each environment per rollout.
        batch_size: minibatch size.
        n_epochs: passes over each rollout.
        gamma: discount factor of the reward.
        gae_lambda: GAE factor of the reward.
        cost_limits: see :func:`~safe_rl.algos.torch.constraints.resolve_constraints`; by default
            those of the environment's attribute ``constraints``.
        cost_key: entry of ``info`` with the costs of a step; ``"cost"`` for environments in the
            style of Safety-Gymnasium.
        controller: a :class:`~safe_rl.algos.controllers.Controller` or the name of one.
        controller_kwargs: its arguments, when it is given by name.
        multiplier_min_episodes: how many finished episodes a multiplier update needs.
        relative_violations: whether the controller sees each violation as a fraction of the limit
            that the specification gives, so that its gains suit small limits and large ones alike.
        limit_margin: the part of each limit that the controller keeps in reserve, since a policy
            that mixes two behaviours ends a little to either side of what it aims at.
        cost_gamma: discount factor of the costs; ``gamma`` by default.
        cost_gae_lambda: GAE factor of the costs; ``gae_lambda`` by default.
        cost_vf_coef: weight of the cost critics' loss; ``vf_coef`` by default.
        clip_range: PPO's clipping; as ``learning_rate``.
        normalize_advantage: centre and scale the combined advantage over the rollout.
        ent_coef: entropy bonus in units of reward; as ``learning_rate``. It is divided by
            the scale of the advantages like the rest of the objective, so it means the same
            whatever the multipliers are: an action that is worse by several times ``ent_coef`` is
            hardly taken. The optimum under constraints is a mixture, and it is this bonus that
            lets a policy stay at one: without it the policy is an almost all-or-nothing function
            of the multipliers, and circles. Give it a last value above 0.
        vf_coef: weight of the value loss.
        max_grad_norm: clips the gradients of actor, critic and cost critic, each on its own.
        use_sde: generalised state-dependent exploration, Box actions only.
        sde_sample_freq: see SB3.
        target_kl: beyond 1.5 times this divergence the actor waits for the next rollout, while the
            critics finish the epochs of theirs.
        policy_average: weight of the past in an exponential average of the actor's parameters, one
            step per rollout; 0 keeps none. :meth:`use_averaged_policy` puts it in place.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder for TensorBoard.
        policy_kwargs: arguments of the policy; ``share_cost_trunk=True`` puts the cost heads on the
            reward critic's layers, ``net_arch=dict(pi=..., vf=..., cost=...)`` sizes all three.
        verbose: 0 silent, 1 info, 2 debug.
        seed: of all random generators.
        device: "auto", "cpu", "cuda".

    Raises:
        ConfigurationError: arguments that contradict each other or the environment.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": CostActorCriticPolicy,
        "CnnPolicy": CostCnnPolicy,
        "MultiInputPolicy": CostMultiInputPolicy,
    }

    def __init__(
        self,
        policy: str | type[CostCriticMixin],
        env: GymEnv | VectorEnv | str | None,
        learning_rate: ScheduleLike = 3e-4,
        n_steps: int = 2048,
        batch_size: int = 64,
        n_epochs: int = 10,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        cost_limits: Sequence[float] | Mapping[str, float] | float | None = None,
        cost_key: str = "constraint_costs",
        controller: str | Controller = "pid",
        controller_kwargs: dict[str, Any] | None = None,
        multiplier_min_episodes: int = 1,
        relative_violations: bool = False,
        limit_margin: float = 0.0,
        cost_gamma: float | None = None,
        cost_gae_lambda: float | None = None,
        cost_vf_coef: float | None = None,
        clip_range: ScheduleLike = 0.2,
        normalize_advantage: bool = True,
        ent_coef: ScheduleLike = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        use_sde: bool = False,
        sde_sample_freq: int = -1,
        target_kl: float | None = None,
        policy_average: float = 0.0,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        arguments = dict(locals())
        # What a checkpoint needs to build the model again.
        self.hyperparameters: dict[str, Any] = {
            name: value
            for name, value in arguments.items()
            if name not in ("self", "env", "device", "_init_setup_model", "__class__")
        }
        super().__init__(
            policy,
            env,  # type: ignore[arg-type]
            learning_rate=make_schedule(learning_rate, "learning_rate"),
            n_steps=n_steps,
            gamma=gamma,
            gae_lambda=gae_lambda,
            ent_coef=0.0,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            use_sde=use_sde,
            sde_sample_freq=sde_sample_freq,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            device=device,
            seed=seed,
            _init_setup_model=False,
            supported_action_spaces=_ACTION_SPACES,
        )
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.normalize_advantage = normalize_advantage
        self.target_kl = target_kl
        self.cost_key = cost_key
        self.cost_limits = cost_limits
        self.cost_gamma = gamma if cost_gamma is None else cost_gamma
        self.cost_gae_lambda = gae_lambda if cost_gae_lambda is None else cost_gae_lambda
        self.cost_vf_coef = vf_coef if cost_vf_coef is None else cost_vf_coef
        self.clip_schedule = FloatSchedule(make_schedule(clip_range, "clip_range"))
        self.entropy_schedule = FloatSchedule(make_schedule(ent_coef, "ent_coef"))
        self.multiplier_min_episodes = multiplier_min_episodes
        self.relative_violations = relative_violations
        self.limit_margin = limit_margin
        self.policy_average = policy_average
        if isinstance(controller, Controller):
            if controller_kwargs:
                raise ConfigurationError(
                    f"controller is {controller!r} already, so controller_kwargs "
                    f"{controller_kwargs} would be ignored; give the controller's name, or no "
                    f"controller_kwargs"
                )
            self.controller = controller
        else:
            self.controller = make_controller(controller, **(controller_kwargs or {}))
        self._check_sizes()
        self.iteration = 0
        self.episodes = 0
        self.num_multiplier_updates = 0
        self._pending: list[NDArray[np.float64]] = []  # ended episodes, for the next update
        if self.env is not None:
            self.constraints = resolve_constraints(self.env, cost_limits, cost_key)
        if _init_setup_model:
            if self.env is None:
                raise ConfigurationError(
                    "PPOLagrangian needs an environment to learn in; PPOLagrangian.load(path) "
                    "reads a trained model without one"
                )
            self._setup_model()

    def _check_sizes(self) -> None:
        def refuse(name: str, value: object, wanted: str) -> None:
            raise ConfigurationError(f"{name} must be {wanted}, got {value!r}")

        for name in ("n_steps", "batch_size", "n_epochs", "multiplier_min_episodes"):
            if getattr(self, name) < 1:
                refuse(name, getattr(self, name), "at least 1")
        for name in ("gamma", "gae_lambda", "cost_gamma", "cost_gae_lambda"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                refuse(name, getattr(self, name), "between 0 and 1")
        if not 0.0 <= self.limit_margin < 1.0:
            refuse("limit_margin", self.limit_margin, "at least 0 and below 1")
        if not 0.0 <= self.policy_average < 1.0:
            refuse("policy_average", self.policy_average, "at least 0 and below 1")
        if self.env is not None:
            size = self.n_steps * self.env.num_envs
            if self.normalize_advantage and size < 2:
                refuse("n_steps * n_envs", size, "greater than 1 to normalise advantages")
            if self.batch_size > size:
                raise ConfigurationError(
                    f"batch_size={self.batch_size} is larger than a rollout, n_steps * n_envs = "
                    f"{self.n_steps} * {self.env.num_envs} = {size}; use a factor of that"
                )

    def _setup_model(self) -> None:
        count = len(self.constraints)
        is_dict = isinstance(self.observation_space, spaces.Dict)
        self.rollout_buffer_class = CostDictRolloutBuffer if is_dict else CostRolloutBuffer
        self.rollout_buffer_kwargs = {
            "num_costs": count,
            "cost_gamma": self.cost_gamma,
            "cost_gae_lambda": self.cost_gae_lambda,
        }
        if not issubclass(self.policy_class, CostCriticMixin):
            raise ConfigurationError(
                f"the policy {self.policy_class.__name__} has no cost critic; derive it from "
                f"CostCriticMixin, or use one of {', '.join(self.policy_aliases)}"
            )
        self.policy_kwargs = {**self.policy_kwargs, "num_costs": count}
        super()._setup_model()
        self.controller.start(count)
        self.episode_sums = EpisodeSums(self.n_envs, count)
        self.trigger_ratios = TriggerRatios(self.constraints, self.env, self._stats_window_size)
        self.recent_costs: deque[list[float]] = deque(maxlen=self._stats_window_size)
        self.averaged = PolicyAverage(self.policy, self.policy_average)

    @property
    def multipliers(self) -> NDArray[np.float64]:
        """The multipliers now in use, ``[K]``, in the order of ``constraints.ids``."""
        return self.controller.multipliers

    # --- learning -------------------------------------------------------------------------------

    def _update_multipliers(self) -> None:
        """Move the multipliers, if enough episodes have ended since they last moved."""
        ids, limits = self.constraints.ids, np.asarray(self.constraints.limits)
        if ids and len(self._pending) >= self.multiplier_min_episodes:
            values = np.mean(self._pending, axis=0)
            self._pending = []
            scales = np.asarray(self.constraints.scales)
            unit = scales if self.relative_violations else 1.0
            aims = self.constraints.aims(self.limit_margin, self.trigger_ratios.triggered())
            progress = 1.0 - self._current_progress_remaining
            self.controller.update(values / unit, aims / unit, progress=progress)
            self.num_multiplier_updates += 1
            for name, violation in zip(ids, values - limits, strict=True):
                self.logger.record(f"violation/{name}", float(violation))
        for name, multiplier, limit in zip(ids, self.multipliers, limits, strict=True):
            self.logger.record(f"lambda/{name}", float(multiplier))
            self.logger.record(f"limit/{name}", float(limit))
        if self.recent_costs:
            for name, cost in zip(ids, np.mean(list(self.recent_costs), axis=0), strict=True):
                self.logger.record(f"cost/{name}", float(cost))
        for name, ratio in self.trigger_ratios.means().items():
            self.logger.record(f"ratio/{name}", ratio)

    def regularisation(self, observations: Any, logs: dict[str, list[float]]) -> th.Tensor:
        """What else the policy pays for, in units of reward; nothing here.

        Args:
            observations: of a minibatch.
            logs: what a subclass appends to it is logged under ``train/``.
        """
        del observations, logs
        return th.zeros((), device=self.device)

    def train(self) -> None:
        """Move the multipliers, then update the policy and the critics on the rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        self._update_multipliers()
        clip_range = self.clip_schedule(self._current_progress_remaining)
        ent_coef = self.entropy_schedule(self._current_progress_remaining)
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        advantages, scale = lagrangian_advantages(
            buffer.advantages,
            buffer.cost_advantages,
            self.multipliers,
            normalise=self.normalize_advantage,
            valid=buffer.valid,
        )
        buffer.set_policy_advantages(advantages)
        groups = self.policy.parameter_groups()
        logs: dict[str, list[float]] = {
            name: []
            for name in (
                "policy_gradient_loss",
                "value_loss",
                "cost_value_loss",
                "entropy_loss",
                "approx_kl",
                "clip_fraction",
            )
        }
        actor_moves = True
        for _ in range(self.n_epochs):
            for batch in buffer.samples(self.batch_size):
                actions = batch.actions
                if isinstance(self.action_space, spaces.Discrete):
                    actions = actions.long().flatten()
                actor_loss = th.zeros((), device=self.device)
                if actor_moves:
                    values, cost_values, log_prob, entropy = self.policy.evaluate_with_costs(
                        batch.observations, actions
                    )
                    log_ratio = log_prob - batch.old_log_prob
                    ratio = th.exp(log_ratio)
                    clipped = th.clamp(ratio, 1 - clip_range, 1 + clip_range)
                    policy_loss = -th.min(
                        batch.advantages * ratio, batch.advantages * clipped
                    ).mean()
                    entropy_loss = log_prob.mean() if entropy is None else -entropy.mean()
                    with th.no_grad():
                        approx_kl = ((ratio - 1) - log_ratio).mean().item()
                        fraction = ((ratio - 1).abs() > clip_range).float().mean().item()
                    logs["policy_gradient_loss"].append(policy_loss.item())
                    logs["entropy_loss"].append(entropy_loss.item())
                    logs["approx_kl"].append(approx_kl)
                    logs["clip_fraction"].append(fraction)
                    actor_moves = self.target_kl is None or approx_kl <= 1.5 * self.target_kl
                    if actor_moves:
                        actor_loss = (
                            policy_loss
                            + ent_coef / scale * entropy_loss
                            + self.regularisation(batch.observations, logs) / scale
                        )
                else:
                    values, cost_values = self.policy.predict_all_values(batch.observations)
                value_loss = F.mse_loss(values.flatten(), batch.returns)
                cost_loss = th.zeros((), device=self.device)
                if len(self.constraints):
                    # Summed over the heads: the number of constraints must not weaken each.
                    cost_loss = ((cost_values - batch.cost_returns) ** 2).mean(0).sum()
                logs["value_loss"].append(value_loss.item())
                logs["cost_value_loss"].append(cost_loss.item())
                loss = actor_loss + self.vf_coef * value_loss + self.cost_vf_coef * cost_loss
                self.policy.optimizer.zero_grad()
                loss.backward()
                if not actor_moves:  # nor what it shares with the critics
                    for parameter in groups[0]:
                        parameter.grad = None
                for group in groups:
                    th.nn.utils.clip_grad_norm_(group, self.max_grad_norm, foreach=True)
                self.policy.optimizer.step()
            self._n_updates += 1
        self.averaged.update(self.policy)

        for name, numbers in logs.items():
            if numbers and (name != "cost_value_loss" or len(self.constraints)):
                self.logger.record(f"train/{name}", float(np.mean(numbers)))
        self.logger.record("train/explained_variance", float(explained))
        if hasattr(self.policy, "log_std"):
            self.logger.record("train/std", th.exp(self.policy.log_std).mean().item())
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/clip_range", clip_range)
        self.logger.record("train/ent_coef", ent_coef)
        self.logger.record("train/advantage_scale", scale)
        self.logger.record("rollout/episodes", self.episodes)
