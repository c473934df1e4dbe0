"""Distributions, statistics, shuffles and clipping, each against numpy or its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from gymnasium import spaces

from safe_rl.algos.jax.devices import choose_devices
from safe_rl.algos.jax.distributions import Categorical, DiagonalGaussian
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.statistics import RunningMoments, normalise, scale_rewards
from safe_rl.algos.jax.update import clip_groups, shuffled
from safe_rl.errors import ConfigurationError


def test_categorical() -> None:
    probabilities = np.array([0.5, 0.3, 0.2])
    logits = jnp.asarray(np.log(probabilities) + 4.0, jnp.float32)
    distribution = Categorical(jnp.broadcast_to(logits, (20_000, 3)))
    drawn = np.bincount(distribution.sample(jax.random.key(0)), minlength=3) / 20_000
    np.testing.assert_allclose(drawn, probabilities, atol=0.015)
    one = Categorical(logits[None])
    assert int(one.mode()[0]) == 0
    np.testing.assert_allclose(one.log_prob(jnp.asarray([2])), np.log([0.2]), rtol=1e-5)
    entropy = -np.sum(probabilities * np.log(probabilities))
    np.testing.assert_allclose(one.entropy(), [entropy], rtol=1e-5)


def test_diagonal_gaussian() -> None:
    mean, std = np.array([1.0, -2.0]), np.array([0.5, 2.0])
    distribution = DiagonalGaussian(jnp.asarray(mean)[None], jnp.log(jnp.asarray(std)))
    wide = DiagonalGaussian(jnp.broadcast_to(jnp.asarray(mean), (20_000, 2)), distribution.log_std)
    drawn = np.asarray(wide.sample(jax.random.key(1)))
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(drawn.std(0), std, rtol=0.05)
    action = np.array([0.3, 0.7])
    density = np.exp(-0.5 * ((action - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    found = distribution.log_prob(jnp.asarray(action)[None])
    np.testing.assert_allclose(found, [np.log(density).sum()], rtol=1e-5)
    entropy = np.sum(0.5 * np.log(2 * np.pi * np.e * std**2))
    np.testing.assert_allclose(distribution.entropy(), [entropy], rtol=1e-5)


def test_running_moments_are_those_of_all_that_was_seen() -> None:
    rng = np.random.default_rng(0)
    batches = [rng.normal(100.0 + 50.0 * i, 3.0 + i, size=(64 * (i + 1), 2)) for i in range(4)]
    statistics = RunningMoments.start((2,))
    for batch in batches:
        statistics = statistics.take(statistics.measure(batch.astype(np.float32)))
    every = np.concatenate(batches)
    np.testing.assert_allclose(statistics.mean, every.mean(0), rtol=1e-4)
    np.testing.assert_allclose(statistics.variance, every.var(0), rtol=1e-3)
    assert float(statistics.number) == pytest.approx(len(every), abs=1.0)
    scaled = normalise(jnp.asarray(every, jnp.float32), statistics)
    np.testing.assert_allclose(scaled.mean(0), 0.0, atol=1e-3)
    np.testing.assert_allclose(scaled.std(0), 1.0, atol=1e-3)
    assert float(normalise(jnp.full((1, 2), 1e6), statistics).max()) == 10.0
    alone = RunningMoments(jnp.asarray(5.0), jnp.asarray(4.0), jnp.asarray(9.0))
    np.testing.assert_allclose(scale_rewards(jnp.asarray([1.0, 100.0]), alone), [0.5, 10.0])


def test_shuffles_are_permutations_that_mix_times_and_environments() -> None:
    steps, num_envs = 6, 8
    draw = jax.jit(lambda key: shuffled(key, steps, num_envs))
    first, second = (np.asarray(draw(jax.random.key(i))) for i in range(2))
    for indices in (first, second):
        assert sorted(indices.tolist()) == list(range(steps * num_envs))
    assert not np.array_equal(first, second)
    minibatch = first[:num_envs]  # one row: every environment, at different times
    assert len(set((minibatch % num_envs).tolist())) == num_envs
    assert len(set((minibatch // num_envs).tolist())) > 1


def test_gradients_are_clipped_group_by_group() -> None:
    gradients: Any = {"actor": {"a": jnp.asarray([3.0, 4.0])}, "cost_critic": {"b": jnp.ones(1)}}
    clipped = clip_groups(gradients, 2.0)
    np.testing.assert_allclose(clipped["actor"]["a"], [1.2, 1.6], rtol=1e-5)
    np.testing.assert_allclose(clipped["cost_critic"]["b"], [1.0])


@pytest.mark.parametrize("shared", [False, True])
def test_each_constraint_has_a_head(shared: bool) -> None:
    networks = Networks(3, spaces.Discrete(2), 2, (4,), shared)
    params = networks.init(0)
    observations = jnp.ones((5, 3))
    assert networks.values(params, observations).shape == (5, 3)
    trunk = "trunk" in params["critic"]
    assert trunk == shared
    widths = params["cost_critic"]["net"]["Dense_0"]["kernel"].shape
    assert widths == ((4, 2) if shared else (3, 4))
    assert Networks(3, spaces.Discrete(2), 0, (4,), shared).init(0).keys() == {
        "actor",
        "critic",
    }


def test_spaces_and_devices_that_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="Discrete spaces that start at 0"):
        Networks(3, spaces.Discrete(2, start=1), 0, (4,))
    with pytest.raises(ConfigurationError, match="jax sees 1"):
        choose_devices(99)
    with pytest.raises(ConfigurationError, match="'auto' or a number"):
        choose_devices("all")
    assert len(choose_devices("auto", 7)) == 1
