"""The arguments of a run, checked; plain values, so that a checkpoint can hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from safe_rl.algos.schedules import make_schedule
from safe_rl.errors import ConfigurationError, near

__all__ = ["Arguments"]

Annealed = float | Sequence[Any]
"""A number, ``(first, last)`` or ``(first, last, "geometric")``."""


@dataclass(frozen=True)
class Arguments:
    """Arguments as :class:`safe_rl.algos.PPOLagrangian` on PyTorch has them.

    Attributes:
        num_envs: environments side by side, over all shards.
        n_steps: steps of each environment in an iteration.
        batch_size: minibatch size, over all shards; divides ``n_steps * num_envs``.
        n_epochs: passes over each rollout.
        learning_rate: a number, ``(first, last)`` annealed linearly over the training, or
            ``(first, last, "geometric")``.
        gamma: discount factor of the reward.
        gae_lambda: GAE factor of the reward.
        cost_gamma: discount factor of the costs; None: as for the reward. The controller always
            sees undiscounted sums.
        cost_gae_lambda: GAE factor of the costs; None: as for the reward.
        vf_coef: weight of the value loss.
        cost_vf_coef: weight of the cost critics' loss, summed over the constraints; None: as
            ``vf_coef``.
        clip_range: PPO's clipping; as ``learning_rate``.
        ent_coef: entropy bonus in units of reward, divided by the advantages' scale as the rest of
            the objective is; as ``learning_rate``.
        normalize_advantage: centre and scale the combined advantage over the rollout.
        max_grad_norm: clips the gradients of actor, critic and cost critic, each on its own.
        multiplier_min_episodes: how many finished episodes a multiplier update needs.
        relative_violations: whether the controller sees violations as fractions of the limits.
        limit_margin: the part of each limit that the controller keeps in reserve.
        policy_average: weight of the past in an exponential average of the actor's parameters, one
            step per iteration; 0 keeps none.
        net_arch: widths of the hidden layers, of each network alike.
        share_cost_trunk: put the cost heads on the critic's hidden layers.
        log_std_init: first logarithm of a Box action's standard deviation.
        normalize_observations: by running mean and deviation.
        normalize_rewards: by the running deviation of the discounted return; never the costs.
        stats_window_size: episodes in logged means, at least: whole iterations are taken.
        target_kl: not supported; None.
    """

    num_envs: int = 1024
    n_steps: int = 32
    batch_size: int = 4096
    n_epochs: int = 4
    learning_rate: Annealed = 3e-4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    cost_gamma: float | None = None
    cost_gae_lambda: float | None = None
    vf_coef: float = 0.5
    cost_vf_coef: float | None = None
    clip_range: Annealed = 0.2
    ent_coef: Annealed = 0.0
    normalize_advantage: bool = True
    max_grad_norm: float = 0.5
    multiplier_min_episodes: int = 1
    relative_violations: bool = False
    limit_margin: float = 0.0
    policy_average: float = 0.0
    net_arch: tuple[int, ...] = (64, 64)
    share_cost_trunk: bool = False
    log_std_init: float = 0.0
    normalize_observations: bool = False
    normalize_rewards: bool = False
    stats_window_size: int = 100
    target_kl: float | None = None

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            ConfigurationError: one is out of its range, or two contradict each other.
        """
        object.__setattr__(self, "net_arch", tuple(int(width) for width in self.net_arch))
        for name in ("learning_rate", "clip_range", "ent_coef"):
            value = getattr(self, name)
            if callable(value):
                self._refuse(name, "a number or a pair, since a checkpoint cannot hold a function")
            make_schedule(value, name)
            if not isinstance(value, int | float):
                object.__setattr__(self, name, tuple(value))
        if self.target_kl is not None:
            self._refuse(
                "target_kl",
                "null here: the number of updates in an iteration is fixed when it is compiled. "
                "Take fewer epochs, or algo=ppo_lagrangian on PyTorch",
            )
        positive = ("num_envs", "n_steps", "batch_size", "n_epochs", "multiplier_min_episodes")
        for name in (*positive, "stats_window_size"):
            if getattr(self, name) < 1:
                self._refuse(name, "at least 1")
        if any(width < 1 for width in self.net_arch):
            self._refuse("net_arch", "widths of at least 1")
        for name in ("gamma", "gae_lambda", "cost_gamma", "cost_gae_lambda"):
            if getattr(self, name) is not None and not 0.0 <= getattr(self, name) <= 1.0:
                self._refuse(name, "between 0 and 1")
        for name in ("limit_margin", "policy_average"):
            if not 0.0 <= getattr(self, name) < 1.0:
                self._refuse(name, "at least 0 and below 1")
        size = self.rollout_size
        if self.batch_size > size or size % self.batch_size:
            near_sizes = [b for b in range(1, size + 1) if size % b == 0]
            best = min(near_sizes, key=lambda b: abs(b - self.batch_size))
            raise ConfigurationError(
                f"batch_size={self.batch_size} does not divide a rollout, n_steps * num_envs = "
                f"{self.n_steps} * {self.num_envs} = {size}; the nearest that does is {best}"
            )
        if self.normalize_advantage and size < 2:
            self._refuse("n_steps * num_envs", "greater than 1 to normalise advantages")

    def _refuse(self, name: str, wanted: str) -> None:
        value = getattr(self, name, self.rollout_size)
        raise ConfigurationError(f"{name} must be {wanted}; got {value!r}")

    def check_shards(self, shards: int) -> None:
        """Check that environments and minibatches split evenly.

        Raises:
            ConfigurationError: they do not.
        """
        for name in ("num_envs", "batch_size"):
            if getattr(self, name) % shards:
                raise ConfigurationError(
                    f"{name}={getattr(self, name)} cannot be split evenly over {shards} devices; "
                    f"use a multiple of {shards}, or devices=1"
                )

    @property
    def rollout_size(self) -> int:
        """Steps of one iteration, over all environments."""
        return self.n_steps * self.num_envs

    @property
    def num_minibatches(self) -> int:
        """Minibatches of one epoch."""
        return self.rollout_size // self.batch_size

    def for_costs(self, name: str) -> float:
        """Return ``gamma``, ``gae_lambda`` or ``vf_coef`` as it is for costs."""
        own = getattr(self, f"cost_{name}")
        return float(getattr(self, name) if own is None else own)

    def at(self, name: str, progress_remaining: float) -> float:
        """Return an annealed argument at a remaining progress (1 at the start, 0 at the end)."""
        schedule = make_schedule(getattr(self, name), name)
        return float(schedule(progress_remaining)) if callable(schedule) else schedule

    def plain(self) -> dict[str, Any]:
        """Return the values as JSON can hold them."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Arguments:
        """Return the arguments that :meth:`plain` wrote, or that a configuration file names.

        Raises:
            ConfigurationError: a name is unknown, or a value is out of its range.
        """
        known = [entry.name for entry in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigurationError(
                    f"there is no argument {name!r}{near(name, known)}; the arguments are "
                    f"{', '.join(known)}"
                )
        return cls(**values)
