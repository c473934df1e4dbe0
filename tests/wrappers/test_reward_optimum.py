"""Shaping leaves the optimum where it is, on small random decision processes solved exactly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from safe_rl.specs import Specification
from safe_rl.wrappers import ProductMDP, SafetyReward, TaskFormula

STATES, ACTIONS, OUTCOMES, HORIZON = 4, 2, 2, 3
SPECS = [
    Specification("answered", "G(a -> F b)", recovery="F c"),
    Specification("in_time", "G(a -> X X b)"),
    Specification("never", "G !(a & c)", trigger="a"),
]

History = tuple[int, ...]
"""What was done and what came of it: ``action * OUTCOMES + outcome``, from the start."""


class Forced(gym.Env[Any, Any]):
    """A random decision process whose outcomes are chosen from outside, so that it can be solved.

    Rewards are small beside the shaping, which could then easily turn the best choice.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shape = (STATES, ACTIONS, OUTCOMES)
        self.next_state = rng.integers(STATES, size=shape)
        self.reward = rng.normal(scale=0.1, size=shape)
        self.chance = rng.dirichlet(np.ones(OUTCOMES), size=(STATES, ACTIONS))
        self.letters = rng.random((STATES, 3)) < 0.5
        self.observation_space = spaces.Discrete(STATES)
        self.action_space = spaces.Discrete(ACTIONS * OUTCOMES)
        self.state = self.step_number = 0

    def propositions(self) -> dict[str, bool]:
        return dict(zip("abc", self.letters[self.state].tolist(), strict=True))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.step_number = 0
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        cell = (self.state, *divmod(int(action), OUTCOMES))
        self.state = int(self.next_state[cell])
        self.step_number += 1
        return self.state, float(self.reward[cell]), self.step_number == HORIZON, False, {}


Reward = Callable[[SafetyReward, float, dict[str, Any]], float]


def own(env: SafetyReward, reward: float, info: dict[str, Any]) -> float:
    return reward


def solved(
    seed: int, discount: float, paid: Reward = own, **kwargs: Any
) -> tuple[dict[History, NDArray[np.float64]], float]:
    """The values of the actions after each history, and the potential at the start."""
    mdp = Forced(seed)
    env = SafetyReward(ProductMDP(mdp, SPECS), **kwargs)
    rewards: dict[History, float] = {}
    chances: dict[History, float] = {}
    start = 0.0
    for path in product(range(ACTIONS * OUTCOMES), repeat=HORIZON):
        env.reset()
        start = env._phi
        for length, choice in enumerate(path, start=1):
            chances[path[:length]] = float(mdp.chance[(mdp.state, *divmod(choice, OUTCOMES))])
            _, reward, terminated, _, info = env.step(choice)
            rewards[path[:length]] = paid(env, float(reward), info)
            assert terminated == (length == HORIZON)
    values: dict[History, NDArray[np.float64]] = {}
    for length in range(HORIZON - 1, -1, -1):
        for past in product(range(ACTIONS * OUTCOMES), repeat=length):
            q = np.zeros(ACTIONS)
            for choice in range(ACTIONS * OUTCOMES):
                after = (*past, choice)
                later = values[after].max() if length + 1 < HORIZON else 0.0
                q[choice // OUTCOMES] += chances[after] * (rewards[after] + discount * later)
            values[past] = q
    return values, start


def best(values: dict[History, NDArray[np.float64]]) -> dict[History, int]:
    """The one best action after each history: rewards are real numbers, so nothing ties."""
    for q in values.values():
        first, second = np.sort(q)[::-1][:2]
        assert first - second > 1e-9
    return {past: int(q.argmax()) for past, q in values.items()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("potential", ["accepting", "doomed"])
@pytest.mark.parametrize("gamma", [1.0, 0.8])
def test_shaping_changes_no_best_action(seed: int, potential: Any, gamma: float) -> None:
    plain, _ = solved(seed, gamma)
    shaped, start = solved(seed, gamma, shaping=5.0, potential=potential, gamma=gamma)
    assert best(shaped) == best(plain)
    # All values at the start are lower by the potential there, and by nothing else.
    assert shaped[()] == pytest.approx(plain[()] - start)


@pytest.mark.parametrize("seed", range(3))
def test_progress_of_a_task_changes_no_best_action(seed: int) -> None:
    task = TaskFormula("F(b & X F c)", acceptance=0.1, keep_reward=True)
    near = TaskFormula("F(b & X F c)", acceptance=0.1, keep_reward=True, progress=5.0)
    plain, _ = solved(seed, 0.9, task=task, gamma=0.9)
    shaped, _ = solved(seed, 0.9, task=near, gamma=0.9)
    assert best(shaped) == best(plain)


def test_a_bonus_that_is_no_potential_would_be_noticed() -> None:
    """Paying for each step nearer, and taking nothing back, turns the best action."""

    def nearer(env: SafetyReward, reward: float, info: dict[str, Any]) -> float:
        return float(info["task_reward"]) + max(0.0, reward - float(info["task_reward"]))

    plain, _ = solved(0, 1.0)
    bonus, _ = solved(0, 1.0, nearer, shaping=5.0, potential="accepting", gamma=1.0)
    assert best(bonus) != best(plain)


def test_shaping_with_another_discount_would_be_noticed() -> None:
    """With a discount that is not the learner's, the potential does not cancel."""

    def turned(seed: int) -> bool:
        plain, _ = solved(seed, 1.0)
        other, _ = solved(seed, 1.0, shaping=5.0, potential="doomed", gamma=0.2)
        return best(other) != best(plain)

    assert any(turned(seed) for seed in range(4))
