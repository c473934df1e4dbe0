"""The actions that a policy may take: Gaussians, independent or correlated within a chunk."""

from __future__ import annotations

import math
from typing import NamedTuple

from safe_rl.policies.vla.backend import torch


class ChunkDistribution(NamedTuple):
    """A Gaussian over a chunk, in the units of the environment's actions.

    The entries of an action are independent. One entry's deviations at two steps of the chunk have
    the correlation ``correlation``: what is tried then is one motion and not eight that cancel each
    other out. Densities, entropies and divergences are given action by action; with a correlation,
    it is their sums over the chunk that mean something.

    Attributes:
        mean: ``[B, chunk, A]``.
        log_std: ``[A]``, or any shape that broadcasts to ``[B, 1, A]``.
        correlation: at least 0, below 1.
    """

    mean: torch.Tensor
    log_std: torch.Tensor
    correlation: float = 0.0

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Return the log density of each action of ``[B, chunk, A]``, ``[B, chunk]``."""
        scaled = (actions - self.mean) * torch.exp(-self.log_std)
        density = -0.5 * self._square(scaled) - self.log_std - 0.5 * math.log(2 * math.pi)
        return (density - 0.5 * self._log_volume()).sum(-1)

    def entropy(self) -> torch.Tensor:
        """Return the differential entropy of each action, ``[B, chunk]``."""
        entry = self.log_std + 0.5 * (math.log(2 * math.pi * math.e) + self._log_volume())
        return entry.expand(self.mean.shape).sum(-1)

    def kl(self, other: ChunkDistribution) -> torch.Tensor:
        """Return KL(self || other) of each action in nats, ``[B, chunk]``.

        Both have the same correlation.
        """
        ratio = torch.exp(2 * (self.log_std - other.log_std))
        apart = other._square((self.mean - other.mean) * torch.exp(-other.log_std))
        entry = other.log_std - self.log_std + 0.5 * (ratio + apart - 1)
        return entry.expand(self.mean.shape).sum(-1)

    def sample(self, generator: torch.Generator | None = None) -> torch.Tensor:
        """Draw a chunk, ``[B, chunk, A]``; no gradient flows through it."""
        with torch.no_grad():
            noise = torch.randn(self.mean.shape, generator=generator).to(self.mean)
            if self.correlation:
                common = torch.randn(self.mean[:, :1].shape, generator=generator).to(self.mean)
                own, shared = math.sqrt(1 - self.correlation), math.sqrt(self.correlation)
                noise = own * noise + shared * common
            return self.mean + noise * torch.exp(self.log_std)

    def _square(self, scaled: torch.Tensor) -> torch.Tensor:
        """``x' R^-1 x`` over the chunk, as a part for each action; R: ones, and correlations."""
        if not self.correlation:
            return scaled.square()
        rest = 1 - self.correlation
        part = self.correlation / (rest + self.correlation * self.mean.shape[1])
        return (scaled.square() - part * scaled * scaled.sum(1, keepdim=True)) / rest

    def _log_volume(self) -> float:
        """``log det R`` over the number of actions."""
        chunk, rest = self.mean.shape[1], 1 - self.correlation
        return ((chunk - 1) * math.log(rest) + math.log(rest + self.correlation * chunk)) / chunk
