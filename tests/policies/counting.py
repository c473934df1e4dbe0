"""A countdown environment, and a policy whose actions tell where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class Countdown(gym.Env):
    """Episode ``k`` of an environment lasts ``lengths[k % len(lengths)]`` steps.

    The state is (number of the environment, episode, step).
    """

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, number: int, lengths: Sequence[int]) -> None:
        self.number, self.lengths = number, lengths
        self.episode, self.time = -1, 0
        self.taken: list[list[NDArray[Any]]] = []

    @property
    def instruction(self) -> str:
        return f"task {self.number}.{self.episode}"

    def propositions(self) -> dict[str, bool]:
        return {"bad": self.time == 2}

    def _shown(self) -> NDArray[np.float32]:
        return np.array([self.number, self.episode, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.time = 0
        self.taken.append([])
        return self._shown(), {"success": False, "engaged": True}

    def step(self, action):
        self.time += 1
        self.taken[-1].append(np.array(action))
        over = self.time == self.lengths[self.episode % len(self.lengths)]
        return self._shown(), 1.0, over, False, {"success": over, "engaged": True}


class Telling:
    """Answers [seed's last digits / 1000, number of the action in its chunk / 10]."""

    chunk = 4

    def __init__(self) -> None:
        self.seeds: dict[int, int] = {}
        self.calls: list[tuple[list[int], list[float], list[str]]] = []

    def reset(self, rows: Sequence[int], seeds: Sequence[int]) -> None:
        self.seeds.update(zip(rows, seeds, strict=True))

    def act(self, observation: Mapping[str, NDArray[Any]], instruction, rows) -> NDArray[Any]:
        state = observation["state"]
        assert len(state) == len(instruction) == len(rows)
        self.calls.append((list(rows), state[:, 2].tolist(), list(instruction)))
        answer = np.zeros((len(rows), self.chunk, 2))
        answer[:, :, 0] = [[self.seeds[row] % 1000 / 1000] for row in rows]
        answer[:, :, 1] = np.arange(self.chunk) / 10
        return answer
