"""What fine-tuning tries: whole motions, of which few numbers are random."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch as th

from safe_rl.policies.vla import ChunkDistribution

__all__ = ["MotionDistribution"]


class MotionDistribution(NamedTuple):
    """A Gaussian over chunks whose noise is smooth: the first cosine modes of each action entry.

    With one mode an entry is off by the same amount in every step of the chunk; with two, by a
    ramp besides; with as many as the chunk has steps, the steps are independent. The mean square
    deviation of a step is ``exp(log_std) ** 2`` in every case, on average over the chunk.

    Densities are those of the random part, whose coordinates are the modes of a chunk's deviation
    from ``mean``. A gradient of the density therefore moves the mean along the modes alone. With a
    density over all steps of correlated noise it is the directions in which nothing is tried that
    make up nearly all of the gradient, as noise: their deviations are small and are divided by a
    small variance.

    Attributes:
        mean: ``[B, chunk, A]``, in the units of the environment's actions.
        log_std: ``[A]``, or any shape that broadcasts to ``[B, 1, A]``.
        modes: number of modes, 1 to ``chunk``.
    """

    mean: th.Tensor
    log_std: th.Tensor
    modes: int

    @classmethod
    def of(cls, chunk: ChunkDistribution, modes: int) -> MotionDistribution:
        """Return a distribution of the same mean and the same deviation of a step."""
        return cls(chunk.mean, chunk.log_std, modes)

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        """Return the log density of the modes of chunks ``[B, chunk, A]``, ``[B]``."""
        return self._in_modes().log_prob(self._modes_of(actions)).sum(1)

    def entropy(self) -> th.Tensor:
        """Return the differential entropy of the modes, ``[B]``."""
        return self._in_modes().entropy().sum(1)

    def kl(self, other: MotionDistribution) -> th.Tensor:
        """Return KL(self || other) in nats, ``[B]``; both have the same modes."""
        return self._in_modes().kl(other._in_modes()).sum(1)

    def sample(self) -> th.Tensor:
        """Draw chunks, ``[B, chunk, A]``; no gradient flows through them."""
        with th.no_grad():
            noise = th.randn_like(self.mean[:, : self.modes])
            smooth = th.einsum("mt,bma->bta", self._basis(), noise) * self._scale()
            return self.mean + smooth * th.exp(self.log_std)

    def _in_modes(self) -> ChunkDistribution:
        """The distribution of the coordinates, which are independent."""
        return ChunkDistribution(self._modes_of(self.mean), self.log_std)

    def _modes_of(self, chunks: th.Tensor) -> th.Tensor:
        """Coordinates ``[B, modes, A]`` whose noise has the deviation ``exp(log_std)``."""
        return th.einsum("mt,bta->bma", self._basis(), chunks) / self._scale()

    def _scale(self) -> float:
        """A mode's deviation over a step's: fewer modes have to be larger for the same steps."""
        return math.sqrt(self.mean.shape[1] / self.modes)

    def _basis(self) -> th.Tensor:
        """The first rows of the orthonormal cosine transform (DCT-II), ``[modes, chunk]``."""
        steps = self.mean.shape[1]
        time = (th.arange(steps, device=self.mean.device, dtype=self.mean.dtype) + 0.5) / steps
        order = th.arange(self.modes, device=self.mean.device, dtype=self.mean.dtype)[:, None]
        rows = th.cos(math.pi * order * time) * math.sqrt(2 / steps)
        return th.where(order == 0, rows / math.sqrt(2), rows)
