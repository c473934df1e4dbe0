"""Advantages recomputed by hand, for the reward and every cost, with both kinds of end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from safe_rl.algos.jax.advantages import generalised_advantages, lagrangian_advantages
from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.rollout import collect
from safe_rl.algos.jax.state import LocalState, RunningEpisodes, SharedState
from safe_rl.algos.jax.statistics import RunningMoments
from tests.algos.gae_by_hand import by_hand
from tests.algos.jax.analytic_products import ScriptedProduct

VALUES = (7.0, 3.0, 5.0)  # what the pinned critics say of every state


def pinned(params: Any) -> Any:
    """Critics that are constant, whatever they see."""
    for name, biases in (("critic", VALUES[:1]), ("cost_critic", VALUES[1:])):
        last = params[name]["net"]["Dense_1"]
        last["kernel"], last["bias"] = jnp.zeros_like(last["kernel"]), jnp.asarray(biases)
    return params


@pytest.mark.parametrize("truncates", [False, True])
def test_gae_of_reward_and_costs_by_hand(truncates: bool) -> None:
    """cleanrl 198, purejaxrl 20: truncation is bootstrapped, termination is not; costs as well."""
    length, steps = 3, 8
    discounts, lambdas = (0.9, 0.5, 0.5), (0.8, 0.25, 0.25)
    product = ScriptedProduct(length, truncates)
    arguments = Arguments(num_envs=1, n_steps=steps, batch_size=4, net_arch=(4,))
    networks = Networks(2, product.action_space, 2, (4,))
    key = jax.random.key(0)
    shared = SharedState(pinned(networks.init(0)), (), {}, 0, RunningMoments.start((0,)), None, key)
    env, observation = product.reset(key, 1)
    local = LocalState(env, observation, RunningEpisodes.start(1, 2))
    roll = jax.jit(lambda local, keys: collect(product, networks, arguments, shared, local, keys))
    end = "cut" if truncates else "stop"
    ends = [end if (t + 1) % length == 0 else "" for t in range(16)]
    signals = [
        [t % length + 1.0 for t in range(16)],
        [10.0 + t % length for t in range(16)],
        [100.0 * (t % length) for t in range(16)],
    ]
    for number in range(2):
        local, rollout, ended, _ = roll(local, jax.random.split(jax.random.key(number), (steps, 2)))
        values = networks.values(shared.params, rollout.observations)
        np.testing.assert_allclose(values[0, 0], VALUES)
        found = generalised_advantages(
            rollout.signals,
            values,
            networks.values(shared.params, local.observation),
            rollout.dones,
            rollout.bootstraps,
            jnp.asarray(discounts),
            jnp.asarray(lambdas),
        )
        part = slice(number * steps, (number + 1) * steps)
        for k, signal in enumerate(signals):
            expected = by_hand(signal[part], ends[part], VALUES[k], discounts[k], lambdas[k])
            np.testing.assert_allclose(found[:, 0, k], expected, rtol=1e-5)
            # What the environment charged is kept as it was: no bootstrap is mixed into it.
            np.testing.assert_allclose(rollout.signals[:, 0, k], signal[part])
        # Episodes of 3 steps in rollouts of 8: 2 end in the first, 3 in the second.
        assert int(ended.episodes) == 2 + number
        np.testing.assert_allclose(ended.costs, [33.0 * (2 + number), 300.0 * (2 + number)])


def test_undiscounted_advantage_is_the_episode_sum() -> None:
    costs = jnp.arange(6.0).reshape(6, 1, 1)
    dones = jnp.asarray([[False], [True], [False], [False], [True], [False]])
    nothing, one = jnp.zeros_like(costs), jnp.ones(1)
    found = generalised_advantages(costs, nothing, jnp.full((1, 1), 9.0), dones, nothing, one, one)
    np.testing.assert_allclose(found[:, 0, 0], [0 + 1, 1, 2 + 3 + 4, 3 + 4, 4, 5 + 9])


def test_combination_is_that_of_the_other_backend() -> None:
    """One affine map of ``A_r - lambda A_c``: no signal is rescaled by its own deviation."""
    rng = np.random.default_rng(1)
    advantages = np.concatenate(
        [rng.normal(size=(50, 4, 1)), 30.0 * rng.normal(size=(50, 4, 2)) + 5.0], axis=2
    )
    plain = advantages[..., 0] - 0.2 * advantages[..., 1] - 1.5 * advantages[..., 2]
    multipliers = jnp.asarray([0.2, 1.5])
    found, scale = lagrangian_advantages(jnp.asarray(advantages), multipliers, normalise=False)
    assert float(scale) == 1.0
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-4)
    found, scale = lagrangian_advantages(jnp.asarray(advantages), multipliers, normalise=True)
    assert float(scale) == pytest.approx(plain.std(), rel=1e-5)
    np.testing.assert_allclose(found, (plain - plain.mean()) / plain.std(), atol=1e-4)
