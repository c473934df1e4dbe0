"""Smooth noise: its density against torch's, its shape, and where its gradient points."""

from __future__ import annotations

import math

import pytest
import torch

from safe_rl.algos.finetuning.motion import MotionDistribution
from safe_rl.policies.vla import ChunkDistribution

CHUNK, ENTRIES = 8, 3


def drawn(modes: int, batch: int = 5) -> MotionDistribution:
    chunk = ChunkDistribution(torch.randn(batch, CHUNK, ENTRIES), 0.3 * torch.randn(ENTRIES))
    return MotionDistribution.of(chunk, modes)


def test_with_all_modes_it_is_a_diagonal_gaussian() -> None:
    torch.manual_seed(0)
    one, other = drawn(CHUNK), drawn(CHUNK)
    plain, another = (ChunkDistribution(d.mean, d.log_std) for d in (one, other))
    actions = torch.randn(5, CHUNK, ENTRIES)
    torch.testing.assert_close(one.log_prob(actions), plain.log_prob(actions).sum(1))
    torch.testing.assert_close(one.entropy(), plain.entropy().sum(1))
    torch.testing.assert_close(one.kl(other), plain.kl(another).sum(1))


@pytest.mark.parametrize("modes", [1, 2, 3])
def test_density_entropy_and_divergence_are_torchs_on_the_modes(modes: int) -> None:
    """The modes, written down by hand: a mean over the chunk, weighted with a cosine."""
    torch.manual_seed(0)
    one, other = drawn(modes), drawn(modes)
    rows = [[math.cos(math.pi * m * (t + 0.5) / CHUNK) for t in range(CHUNK)] for m in range(modes)]
    basis = torch.tensor([[x / math.hypot(*row) for x in row] for row in rows])
    shrink = math.sqrt(CHUNK / modes)

    def normal(own: MotionDistribution) -> torch.distributions.Normal:
        return torch.distributions.Normal(basis @ own.mean / shrink, own.log_std.exp())

    actions = torch.randn(5, CHUNK, ENTRIES)
    density = normal(one).log_prob(basis @ actions / shrink).sum((1, 2))
    torch.testing.assert_close(one.log_prob(actions), density)
    torch.testing.assert_close(one.entropy(), normal(one).entropy().sum((1, 2)))
    kl = torch.distributions.kl_divergence(normal(one), normal(other)).sum((1, 2))
    torch.testing.assert_close(one.kl(other), kl)


@pytest.mark.parametrize("modes", [1, 2, CHUNK])
def test_steps_deviate_as_far_as_was_asked_for(modes: int) -> None:
    torch.manual_seed(0)
    mean = torch.randn(1, CHUNK, 1).expand(20_000, CHUNK, 1)
    noise = MotionDistribution(mean, torch.tensor([-1.0]), modes).sample() - mean
    assert float(noise.square().mean()) == pytest.approx(math.exp(-2.0), rel=0.03)
    rank = torch.linalg.matrix_rank(noise[:100, :, 0], rtol=1e-3)
    assert int(rank) == modes
    if modes == 1:
        torch.testing.assert_close(noise, noise[:, :1].expand_as(noise))


def test_the_gradient_moves_the_mean_along_what_was_tried() -> None:
    torch.manual_seed(0)
    start = drawn(1)
    mean = start.mean.requires_grad_()
    start = start._replace(mean=mean)
    start.log_prob(start.sample()).sum().backward()
    assert mean.grad is not None
    torch.testing.assert_close(mean.grad, mean.grad[:, :1].expand_as(mean.grad))
