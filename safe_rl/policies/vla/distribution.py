"""The actions that a policy may take: independent Gaussians, entry by entry."""

from __future__ import annotations

import math
from typing import NamedTuple

from safe_rl.policies.vla.backend import torch


class ChunkDistribution(NamedTuple):
    """A diagonal Gaussian over a chunk, in the units of the environment's actions.

    Attributes:
        mean: ``[B, chunk, A]``.
        log_std: ``[A]``, or any shape that broadcasts to the mean's.
    """

    mean: torch.Tensor
    log_std: torch.Tensor

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Return the log density of each action of ``[B, chunk, A]``, ``[B, chunk]``."""
        scaled = (actions - self.mean) * torch.exp(-self.log_std)
        density = -0.5 * scaled.square() - self.log_std - 0.5 * math.log(2 * math.pi)
        return density.sum(-1)

    def entropy(self) -> torch.Tensor:
        """Return the differential entropy of each action, ``[B, chunk]``."""
        entry = self.log_std + 0.5 * math.log(2 * math.pi * math.e)
        return entry.expand(self.mean.shape).sum(-1)

    def kl(self, other: ChunkDistribution) -> torch.Tensor:
        """Return KL(self || other) of each action in nats, ``[B, chunk]``."""
        ratio = torch.exp(2 * (self.log_std - other.log_std))
        apart = ((self.mean - other.mean) * torch.exp(-other.log_std)).square()
        entry = other.log_std - self.log_std + 0.5 * (ratio + apart - 1)
        return entry.expand(self.mean.shape).sum(-1)

    def sample(self, generator: torch.Generator | None = None) -> torch.Tensor:
        """Draw a chunk, ``[B, chunk, A]``; no gradient flows through it."""
        with torch.no_grad():
            noise = torch.randn(self.mean.shape, generator=generator).to(self.mean)
            return self.mean + noise * torch.exp(self.log_std)
