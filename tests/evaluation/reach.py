"""A walk to a goal in which haste is a violation, for tests of the protocol."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from safe_rl.specs import Specification

NO_HIT = Specification("no_hit", "G !hit", trigger="touch", recovery="F !hit")


class Reach(gym.Env):
    """A walk to the right: at 5 the goal, which ends the episode; a hit is a step beyond 1.4.

    The first state is drawn by the seed; whatever ends an episode is the goal or step 12.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Box(-2.0, 2.0, (1,), np.float32)
    instruction = "walk"
    begun: list[float] = []

    def propositions(self):
        return {"touch": self.place > 1.0, "hit": self.moved > 1.4}

    def _told(self):
        return np.array([self.place], np.float32), {
            "engaged": self.touched, "success": self.place >= 5.0
        }  # fmt: skip

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.moved, self.time = float(self.np_random.uniform(-1, 0)), 0.0, 0
        self.touched = False
        Reach.begun.append(self.place)
        return self._told()

    def step(self, action):
        self.moved = float(action[0])
        self.place += self.moved
        self.time += 1
        self.touched = self.touched or self.place > 1.0
        observation, info = self._told()
        return observation, self.moved, info["success"], self.time >= 12, info
