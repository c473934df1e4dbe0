"""Advantages recomputed by hand, for the reward and for every cost, as SB3's own test does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback

from safe_rl.algos import PPOLagrangian
from safe_rl.algos.torch.advantages import generalised_advantages, lagrangian_advantages
from safe_rl.algos.torch.buffers import CostRolloutBuffer
from tests.algos.analytic_envs import ScriptedEnv
from tests.algos.gae_by_hand import by_hand

REWARD_VALUE, COST_VALUES = 7.0, (3.0, 5.0)


class KnownValues(BaseCallback):
    """Pins every critic to a constant, and keeps each rollout's arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.rollouts: list[dict[str, np.ndarray]] = []

    def _on_training_start(self) -> None:
        policy = self.model.policy
        with th.no_grad():
            policy.value_net.weight.zero_()
            policy.value_net.bias.fill_(REWARD_VALUE)
            policy.cost_value_net.weight.zero_()
            policy.cost_value_net.bias.copy_(th.tensor(COST_VALUES))

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        buffer = self.model.rollout_buffer
        names = ("advantages", "returns", "cost_advantages", "cost_returns", "costs")
        self.rollouts.append({name: getattr(buffer, name).copy() for name in names})


@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("observation", ["box", "dict"])
def test_gae_of_reward_and_costs_by_hand(truncates: bool, observation: str) -> None:
    """cleanrl 198, purejaxrl 20: truncation is bootstrapped, termination is not; costs as well.

    omnisafe 87: the cost critics are trained on costs, the critic on rewards.
    """
    length, steps = 3, 8
    gamma, lam, cost_gamma, cost_lam = 0.9, 0.8, 0.5, 0.25
    model = PPOLagrangian(
        "MultiInputPolicy" if observation == "dict" else "MlpPolicy",
        ScriptedEnv(length, truncates, observation),
        n_steps=steps,
        batch_size=4,
        n_epochs=1,
        gamma=gamma,
        gae_lambda=lam,
        cost_gamma=cost_gamma,
        cost_gae_lambda=cost_lam,
        cost_limits=[1.0, 1.0],
        learning_rate=0.0,
        seed=0,
    )
    probe = KnownValues()
    model.learn(2 * steps, callback=probe)
    end = "cut" if truncates else "stop"
    ends = [end if (t + 1) % length == 0 else "" for t in range(16)]
    rewards = [t % length + 1.0 for t in range(16)]
    costs = [[10.0 + t % length for t in range(16)], [100.0 * (t % length) for t in range(16)]]
    for number, rollout in enumerate(probe.rollouts):
        part = slice(number * steps, (number + 1) * steps)
        expected = by_hand(rewards[part], ends[part], REWARD_VALUE, gamma, lam)
        np.testing.assert_allclose(rollout["advantages"][:, 0], expected, rtol=1e-5)
        np.testing.assert_allclose(
            rollout["returns"][:, 0], np.array(expected) + REWARD_VALUE, rtol=1e-5
        )
        for k, value in enumerate(COST_VALUES):
            expected = by_hand(costs[k][part], ends[part], value, cost_gamma, cost_lam)
            np.testing.assert_allclose(rollout["cost_advantages"][:, 0, k], expected, rtol=1e-5)
            np.testing.assert_allclose(
                rollout["cost_returns"][:, 0, k], np.array(expected) + value, rtol=1e-5
            )
            # What the environment charged is kept as it was: no bootstrap mixed into it.
            np.testing.assert_allclose(rollout["costs"][:, 0, k], costs[k][part])


def test_function_agrees_with_the_buffer_of_sb3() -> None:
    rng = np.random.default_rng(0)
    buffer = CostRolloutBuffer(
        20,
        spaces.Box(-1, 1, (2,)),
        spaces.Discrete(2),
        gae_lambda=0.9,
        gamma=0.95,
        n_envs=3,
        num_costs=2,
        cost_gamma=0.95,
        cost_gae_lambda=0.9,
    )
    for _ in range(20):
        signal = rng.normal(size=3).astype(np.float32)
        value = th.as_tensor(rng.normal(size=3).astype(np.float32))
        start = rng.random(3) < 0.2
        buffer.add_costs(np.stack([signal, -signal], 1), th.stack([value, -value], 1))
        buffer.add(np.zeros((3, 2)), np.zeros((3, 1)), signal, start, value, th.zeros(3))
    last = th.as_tensor(rng.normal(size=3).astype(np.float32))
    dones = np.array([True, False, False])
    buffer.compute_returns_and_advantage(last, dones)
    buffer.compute_cost_returns_and_advantages(th.stack([last, -last], 1), dones)
    np.testing.assert_allclose(buffer.cost_advantages[..., 0], buffer.advantages, atol=1e-5)
    np.testing.assert_allclose(buffer.cost_advantages[..., 1], -buffer.advantages, atol=1e-5)


def test_undiscounted_advantage_is_the_episode_sum() -> None:
    """gamma = lambda = 1 and no critic: the advantage is the exact sum of what is to come."""
    costs = np.arange(12, dtype=np.float64).reshape(6, 2, 1)
    starts = np.array([[1, 1], [0, 0], [0, 1], [1, 0], [0, 0], [0, 0]], dtype=np.float32)
    found = generalised_advantages(
        costs,
        np.zeros_like(costs),
        np.zeros((2, 1)),
        starts,
        np.array([True, True]),
        gamma=1.0,
        gae_lambda=1.0,
    )
    np.testing.assert_allclose(found[:, 0, 0], [0 + 2 + 4, 2 + 4, 4, 6 + 8 + 10, 8 + 10, 10])
    np.testing.assert_allclose(found[:, 1, 0], [1 + 3, 3, 5 + 7 + 9 + 11, 7 + 9 + 11, 9 + 11, 11])


def test_combination_keeps_the_direction_of_the_lagrangian() -> None:
    """One affine map of ``A_r - lambda A_c``: no signal is rescaled by its own deviation."""
    rng = np.random.default_rng(1)
    reward, costs = rng.normal(size=(50, 4)), 30.0 * rng.normal(size=(50, 4, 2)) + 5.0
    multipliers = np.array([0.2, 1.5])
    plain, unit = lagrangian_advantages(reward, costs, multipliers, normalise=False)
    assert unit == 1.0
    np.testing.assert_allclose(
        plain, reward - 0.2 * costs[..., 0] - 1.5 * costs[..., 1], rtol=1e-5, atol=1e-5
    )
    scaled, scale = lagrangian_advantages(reward, costs, multipliers)
    assert scale == pytest.approx(plain.std(), rel=1e-5)
    np.testing.assert_allclose(scaled, (plain - plain.mean()) / plain.std(), atol=1e-4)
    without, _ = lagrangian_advantages(reward, costs, np.zeros(2), normalise=False)
    np.testing.assert_allclose(without, reward, rtol=1e-6)


def test_invalid_steps_do_not_count_for_the_scale() -> None:
    reward = np.array([[1.0, 2.0], [3.0, 1e6]])
    valid = np.array([[True, True], [True, False]])
    found, _ = lagrangian_advantages(reward, np.zeros((2, 2, 0)), np.zeros(0), valid=valid)
    chosen = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(found[valid], (chosen - 2.0) / chosen.std(), atol=1e-5)


def test_cost_heads_learn_costs_and_the_value_head_rewards() -> None:
    """omnisafe 87: after training, each head predicts its own signal's episode sum."""
    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(length=2),
        n_steps=64,
        batch_size=64,
        n_epochs=20,
        gamma=1.0,
        gae_lambda=1.0,
        cost_limits=[1.0, 1.0],
        controller="unconstrained",
        learning_rate=(3.0, 0.0),
        max_grad_norm=1e6,
        seed=0,
        policy_kwargs={"net_arch": []},  # linear critics: the values are linear in the step
    )
    model.learn(64 * 15)
    start: Any = th.tensor([[0.0, 0.5]])
    with th.no_grad():
        value, cost_values = model.policy.predict_all_values(start)
    assert value.item() == pytest.approx(1 + 2, abs=0.3)
    assert cost_values[0, 0].item() == pytest.approx(10 + 11, abs=2.0)
    assert cost_values[0, 1].item() == pytest.approx(0 + 100, abs=10.0)
