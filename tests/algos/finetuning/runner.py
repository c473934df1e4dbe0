"""An environment in which haste pays, and is against a rule: at most one fast step in eight."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from safe_rl.specs import Limit, Specification
from safe_rl.wrappers import VectorChunkedSteps, VectorProductMDP

SLOW = Specification(
    "not_fast", "G !fast", trigger="moving", recovery="F !fast", limit=Limit("episode", 1.0)
)
STEPS = 8


class Runner(gym.Env[Any, Any]):
    """Reward is the speed, an action in [-1, 1]. Observation: speed and a random number."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self) -> None:
        self.speed, self.noise, self.now = 0.0, 0.0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.speed, self.now = 0.0, 0
        return self._observe(), {"propositions": self.propositions()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.speed, self.now = float(action[0]), self.now + 1
        told = {"propositions": self.propositions()}
        return self._observe(), self.speed, False, self.now == STEPS, told

    def propositions(self) -> dict[str, bool]:
        return {"moving": self.speed != 0.0, "fast": self.speed > 0.5}

    def get_state(self) -> dict[str, Any]:
        return {"speed": self.speed, "noise": self.noise, "now": self.now}

    def set_state(self, state: dict[str, Any]) -> None:
        self.speed, self.noise, self.now = state["speed"], state["noise"], state["now"]

    def _observe(self) -> Any:
        self.noise = float(self.np_random.uniform(-1.0, 1.0))
        return np.array([self.speed, self.noise], np.float32)


def runners(
    count: int = 8, chunk: int = 2, mode: AutoresetMode = AutoresetMode.DISABLED
) -> VectorChunkedSteps:
    envs = SyncVectorEnv([Runner] * count, autoreset_mode=mode)
    return VectorChunkedSteps(VectorProductMDP(envs, [SLOW], cost="exposure"), chunk)
