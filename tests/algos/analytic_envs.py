"""Small environments whose costs, sums and optima are known on paper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space


def constraint(name: str, threshold: float, kind: str = "episode") -> SimpleNamespace:
    """What ``ProductMDP.constraints`` holds, as far as a learner reads it."""
    return SimpleNamespace(id=name, kind=kind, value=threshold, cap=None, threshold=threshold)


class ScriptedEnv(gym.Env[Any, Any]):
    """Episodes of a fixed length, whose reward and costs are functions of the step alone.

    Step ``t`` (from 0) of an episode gives reward ``t + 1`` and the costs ``(10 + t, 100 * t)``, so
    every sum is known and no two differ by accident. Episodes end by truncation or termination.
    """

    def __init__(
        self,
        length: int = 5,
        truncates: bool = False,
        observation: str = "box",
        action: str = "discrete",
        costs: bool = True,
    ) -> None:
        self.length, self.truncates, self.costs = length, truncates, costs
        self.observation = observation
        self.observation_space = {
            "box": spaces.Box(-1.0, float(length), (2,), np.float32),
            "discrete": spaces.Discrete(length + 1),
            "multidiscrete": spaces.MultiDiscrete([length + 1, 2]),
            "dict": spaces.Dict(
                {
                    "step": spaces.Box(-1.0, float(length), (1,), np.float32),
                    "kind": spaces.Discrete(3),
                }
            ),
        }[observation]
        self.action_space = {
            "discrete": spaces.Discrete(3),
            "multidiscrete": spaces.MultiDiscrete([2, 3]),
            "box": spaces.Box(-1.0, 1.0, (2,), np.float32),
        }[action]
        self.now = 0
        self.noise = 0.0

    def _observe(self) -> Any:
        return {
            "box": np.array([self.now, self.noise], np.float32),
            "discrete": self.now,
            "multidiscrete": np.array([self.now, self.now % 2]),
            "dict": {"step": np.array([self.now], np.float32), "kind": self.now % 3},
        }[self.observation]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.now = 0
        self.noise = float(self.np_random.uniform())
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        t = self.now
        self.now += 1
        self.noise = float(self.np_random.uniform())
        over = self.now == self.length
        info = {"constraint_costs": np.array([10.0 + t, 100.0 * t])} if self.costs else {}
        truncated = over and self.truncates
        return self._observe(), t + 1.0, over and not truncated, truncated, info


class SavableEnv(ScriptedEnv):
    """The same, able to give and take its state (its random generator is Gymnasium's)."""

    def get_state(self) -> dict[str, Any]:
        return {"now": self.now, "noise": self.noise}

    def set_state(self, state: dict[str, Any]) -> None:
        self.now, self.noise = state["now"], state["noise"]


class ChoiceVectorEnv(VectorEnv[Any, Any, Any]):
    """One-step episodes: action 1 earns 1 and costs 1, action 0 earns and costs nothing.

    Under the limit ``d`` on the cost the optimum takes action 1 with probability ``d``, and the
    multiplier is 1: the reward that one more unit of cost would buy.
    """

    def __init__(self, num_envs: int, limit: float = 0.3) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.constraints = (constraint("choice", limit),)

    def _observe(self) -> np.ndarray:
        return np.ones((self.num_envs, 1), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._observe(), {}

    def step(self, actions: np.ndarray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        chosen = actions.astype(np.float64)
        over = np.ones(self.num_envs, np.bool_)
        info = {"constraint_costs": chosen[:, None], "final_obs": self._observe()}
        return self._observe(), chosen, over, ~over, info

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        assert state == {}
