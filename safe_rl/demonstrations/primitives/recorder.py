"""Records an episode step by step as it happens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.demonstrations.primitives.cameras import Cameras
from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.wrappers import ProductMDP


class Recorder:
    """Steps a monitored environment, and keeps what the steps showed.

    Attributes:
        info: of the last reset or step.
        ended: whether the environment has ended the episode.
    """

    def __init__(self, env: ProductMDP, seed: int, cameras: Cameras | None = None) -> None:
        """Begin an episode.

        Args:
            env: with the observation of the environment alone (``features=None``).
            seed: of the reset.
            cameras: whose images are observed beside the state.
        """
        base = env.unwrapped
        assert isinstance(base, RobosuiteEnv)
        self._env, self._base, self._seed, self._cameras = env, base, seed, cameras
        observation, self.info = env.reset(seed=seed)
        self._names = tuple(self.info["propositions"])
        self._letters: list[list[bool]] = []
        self._engaged: list[bool] = []
        self._states: list[NDArray[np.float64]] = []
        self._observations: dict[str, list[NDArray[Any]]] = {}
        self._actions: list[NDArray[np.float32]] = []
        self._rewards: list[float] = []
        self.ended = self._terminated = False
        self._placements = self._base.placements()
        self._look(observation)

    @property
    def steps(self) -> int:
        """Actions taken."""
        return len(self._actions)

    def step(self, action: NDArray[np.float64]) -> None:
        """Take a step with the action as float32, the numbers that are recorded."""
        taken = np.asarray(action, np.float32)
        observation, reward, terminated, truncated, self.info = self._env.step(taken)
        self.ended, self._terminated = bool(terminated or truncated), bool(terminated)
        self._actions.append(taken)
        self._rewards.append(float(reward))
        self._look(observation)

    def finish(self, instruction: str = "") -> Episode:
        """End the episode, as cut off unless the environment has ended it, and return it.

        Args:
            instruction: the task in words, where the environment does not say it.
        """
        if not self.ended and self.steps:
            self._env.end_episode(self.info)
        objects = {kind: tuple(names) for kind, names in self._base.objects.items()}
        return Episode(
            propositions=self._names,
            letters=np.array(self._letters, np.bool_),
            rewards=np.array(self._rewards, np.float64),
            terminated=self._terminated,
            truncated=not self._terminated,
            success=bool(self.info["success"]),
            engaged=np.array(self._engaged, np.bool_),
            objects=objects,
            env_id=str(getattr(self._base.spec, "id", "")),
            instruction=str(getattr(self._base, "instruction", instruction)),
            seed=self._seed,
            actions=np.array(self._actions, np.float32).reshape(self.steps, 7),
            states=np.array(self._states),
            placements=self._placements,
            observations={name: np.array(v) for name, v in self._observations.items()},
        )

    def _look(self, observation: NDArray[np.float32]) -> None:
        letter = self.info["propositions"]
        self._letters.append([bool(letter[name]) for name in self._names])
        self._engaged.append(bool(self.info["engaged"]))
        self._states.append(self._base.recorded_state())
        seen: dict[str, NDArray[Any]] = {"state": np.asarray(observation, np.float32)}
        if self._cameras is not None:
            seen |= {f"images.{name}": image for name, image in self._cameras.look().items()}
        for name, value in seen.items():
            self._observations.setdefault(name, []).append(value)
