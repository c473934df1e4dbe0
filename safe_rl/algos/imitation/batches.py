"""Moments as tensors: what a policy is shown, what was done, and what it led to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from safe_rl.algos.imitation.windows import Windows
from safe_rl.policies.vla import VLA, ChunkDistribution

Tensor = torch.Tensor


class Batch(NamedTuple):
    """Moments as a policy reads them.

    Attributes:
        inputs: what :meth:`~safe_rl.policies.vla.VLA.inputs` makes of them.
        actions: ``[B, C, A]``.
        mask: ``[B, C]``, 0 behind the end of the episode.
        weight: of each moment, ``[B]``.
        violations: ahead, ``[B, S]``.
        triggers: ahead, ``[B, S]``.
    """

    inputs: dict[str, Tensor]
    actions: Tensor
    mask: Tensor
    weight: Tensor
    violations: Tensor
    triggers: Tensor


def batch_of(
    model: VLA,
    windows: Windows,
    rows: NDArray[np.int64],
    weight: NDArray[np.float32] | None = None,
    cost: NDArray[np.float32] | None = None,
) -> Batch:
    """Return some moments.

    Args:
        model: whose inputs they become.
        windows: all moments.
        rows: which of them, ``[B]``.
        weight: of every moment, ``[M]``; default: 1.
        cost: that a policy which reads costs is told of every moment, ``[M]``.
    """
    device = model.log_std.device
    ones = np.ones(len(rows), np.float32)

    def tensor(values: NDArray[np.generic]) -> Tensor:
        return torch.as_tensor(values.astype(np.float32), device=device)

    return Batch(
        inputs=model.inputs(
            {name: value[rows] for name, value in windows.observations.items()},
            [windows.instructions[row] for row in rows],
            None if cost is None else cost[rows],
        ),
        actions=tensor(windows.actions[rows]),
        mask=tensor(windows.mask[rows]),
        weight=tensor(ones if weight is None else weight[rows]),
        violations=tensor(windows.violations[rows]),
        triggers=tensor(windows.triggers[rows]),
    )


def log_likelihood(distribution: ChunkDistribution, actions: Tensor, mask: Tensor) -> Tensor:
    """Return the mean log density of the actions of each chunk, per entry of an action, ``[B]``."""
    density = (distribution.log_prob(actions) * mask).sum(1) / mask.sum(1)
    return density / actions.shape[-1]
