"""What a chunk of actions leads to: violations and triggered events ahead, by specification."""

from __future__ import annotations

import torch
from torch import nn

from safe_rl.algos.imitation.batches import Batch, Tensor
from safe_rl.policies.vla import VLA


class OutcomePredictor(nn.Module):
    """Expected counts within the horizon, from what the policy sees and what it is about to do.

    The counts are fitted by the Poisson likelihood, whose minimiser is the mean for any
    distribution of counts, and which keeps predictions of rare events positive.
    """

    def __init__(self, policy: VLA, specifications: int, width: int = 128) -> None:
        """Build one for the states and chunks of ``policy``."""
        super().__init__()
        config = policy.config
        size = config.state_size + config.chunk * config.action_size
        self.net = nn.Sequential(
            nn.Linear(size, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 2 * specifications),
        )

    def log_counts(self, policy: VLA, state: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return logarithms of the expected violations and triggered events, ``[B, S]`` each.

        Args:
            policy: its statistics scale state and actions.
            state: ``[B, D]``.
            actions: ``[B, C, A]``; gradients flow through them.
        """
        seen = policy.normal_state(state)
        done = (actions - policy.action_mean) / policy.action_std
        found = self.net(torch.cat([seen, done.flatten(1)], dim=-1)).clamp(-12.0, 5.0)
        violations, triggers = found.chunk(2, dim=-1)
        return violations, triggers

    def loss(self, policy: VLA, batch: Batch) -> Tensor:
        """Return the negative log likelihood of what followed, a scalar."""
        predicted = self.log_counts(policy, batch.inputs["state"], batch.actions)
        observed = (batch.violations, batch.triggers)
        parts = [
            nn.functional.poisson_nll_loss(log, count, log_input=True)
            for log, count in zip(predicted, observed, strict=True)
        ]
        return torch.stack(parts).sum()
