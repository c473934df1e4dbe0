"""Constrained fine-tuning: PPO-Lagrangian over chunks, near the policy that it began with.

Sources: Schulman et al. (2017) for PPO; Ziegler et al., "Fine-Tuning Language Models from Human
Preferences" (2019), for the KL to a reference; Zhang et al., "SafeVLA" (2025), for a constrained
Markov decision process over a vision-language-action policy.
"""

from __future__ import annotations

from typing import Any

import torch as th

from safe_rl.algos.finetuning.policy import ChunkActorCritic
from safe_rl.algos.torch.ppo_lagrangian import PPOLagrangian
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import VLA

__all__ = ["ChunkPPOLagrangian"]


class ChunkPPOLagrangian(PPOLagrangian):
    """``PPOLagrangian`` whose step is a chunk of actions and whose actor is a trained policy.

    The environment is a vector of products under ``VectorChunkedSteps``: rewards and costs of a
    chunk are the sums over its actions, of which the batched monitor has judged each. Logged
    besides: ``train/reference_kl``.

    Args:
        kl_coef: what a nat of KL(actor || reference) costs per chunk, in units of reward.
        critic_only: iterations at the beginning in which the critics learn and the actor waits.
        first_std: standard deviation of every entry of an action at the beginning, in units of the
            policy's statistics; the reference gets it too. 0: what cloning left, which says how far
            the demonstrations differ, and not how far it is worth going.
        noise_modes: how many numbers of an action entry are random in a chunk, see
            :class:`~safe_rl.algos.finetuning.motion.MotionDistribution`. The fewer, the fewer
            episodes it takes to find out which of them were to blame.
        critic_learning_rate: of the critics, which begin from nothing; ``learning_rate`` is the
            actor's.
        **kwargs: as of ``PPOLagrangian``.
    """

    policy: ChunkActorCritic

    def __init__(
        self,
        *args: Any,
        kl_coef: float = 0.01,
        critic_only: int = 5,
        critic_learning_rate: float = 1e-3,
        first_std: float = 0.0,
        noise_modes: int = 1,
        **kwargs: Any,
    ) -> None:
        own = {
            "kl_coef": kl_coef,
            "critic_only": critic_only,
            "critic_learning_rate": critic_learning_rate,
            "first_std": first_std,
        }
        for name, value in own.items():
            if value < 0:
                raise ConfigurationError(f"{name} must be at least 0, got {value}")
        self.kl_coef, self.critic_only = kl_coef, critic_only
        self.critic_learning_rate, self.first_std = critic_learning_rate, first_std
        policy_kwargs = kwargs.get("policy_kwargs") or {}
        kwargs["policy_kwargs"] = {**policy_kwargs, "noise_modes": noise_modes}
        super().__init__(*args, **kwargs)
        self.hyperparameters |= own | {"noise_modes": noise_modes}

    def start_from(self, model: VLA) -> None:
        """Begin with the weights of a trained policy."""
        self.policy.start_from(model, self.first_std)

    def regularisation(self, observations: Any, logs: dict[str, list[float]]) -> th.Tensor:
        """Return what the distance from the reference costs."""
        kl = self.policy.reference_kl(observations).mean()
        logs.setdefault("reference_kl", []).append(kl.item())
        return self.kl_coef * kl

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        self.policy.optimizer.param_groups[1]["lr"] = self.critic_learning_rate

    def train(self) -> None:
        """Update the critics, and the actor unless it still waits."""
        self.policy.actor.requires_grad_(self.iteration > self.critic_only)
        super().train()
        self.policy.actor.requires_grad_(True)
