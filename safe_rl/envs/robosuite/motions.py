"""Motions of a Panda under robosuite's OSC_POSE controller, from which scripts are made.

A script is a generator that looks at the latest observation and yields one action per control step.
No inverse kinematics: the controller is told positions and turns of the gripper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

OPEN, KEEP, CLOSE = -1.0, 0.0, 1.0  # the set point moves by a fifth of half its range, or stays
REACH, TURN = 0.05, 0.5  # what an action of one means: metres and radians per step


class View:
    """Named access to the latest observation."""

    def __init__(self, layout: Mapping[str, slice]) -> None:
        """See the quantities of ``layout`` once ``values`` holds an observation."""
        self._layout = layout
        self.values = np.zeros(0)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[self._layout[name]]


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """The matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """Axis times angle of a rotation of less than half a turn."""
    axis = np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine = np.linalg.norm(axis) / 2
    angle = np.arctan2(sine, (np.trace(matrix) - 1) / 2)
    return axis / 2 if sine < 1e-9 else axis / (2 * sine) * angle


def pointing_down(view: View, face: str | None = None, yaw: float | None = None) -> np.ndarray:
    """Orientation that points down and closes along the nearest side of a cube, or along a yaw.

    Without either the closing direction stays as it is.
    """
    closing = rotation(view["eef_quat"])[:, 0]
    angle = np.arctan2(closing[1], closing[0])
    if face is not None:
        side = rotation(view[f"{face}_quat"])[:, 0]
        yaw, symmetry = float(np.arctan2(side[1], side[0])), np.pi / 2
    else:
        symmetry = np.pi
    if yaw is not None:
        angle = yaw + np.round((angle - yaw) / symmetry) * symmetry
    x = np.array([np.cos(angle), np.sin(angle), 0.0])
    z = np.array([0.0, 0.0, -1.0])
    return np.column_stack([x, np.cross(z, x), z])


def turn_to(view: View, orientation: np.ndarray) -> np.ndarray:
    """Rotation vector, in the world frame, from the gripper's orientation to another."""
    return rotation_vector(orientation @ rotation(view["eef_quat"]).T)


Step = np.ndarray
Script = Iterator[Step]


class ScriptRunner(ABC):
    """A policy that runs one script per environment.

    ``predict`` has the signature of Stable-Baselines3: ``episode_start`` tells which rows begin an
    episode. An observation may carry further entries behind the environment's own (monitor
    features); they are not read.
    """

    def __init__(self, layout: Mapping[str, slice]) -> None:
        """Read observations by ``layout``."""
        self._layout = layout
        self._runs: list[tuple[View, Script] | None] = []

    @abstractmethod
    def _script(self, view: View) -> Script:
        """What one episode does; it must never end."""

    def predict(
        self,
        observation: np.ndarray,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Actions for observations ``[d]`` or ``[num_envs, d]``, and ``state`` as it came.

        Args:
            observation: the environment's observation, or one per row.
            state: not used: each row's script is kept here.
            episode_start: per row, whether an episode begins; default: at the first call only.
            deterministic: not used: a script draws nothing.
        """
        rows = np.atleast_2d(observation)
        if len(self._runs) != len(rows):
            self._runs = [None] * len(rows)
        starts = (
            np.zeros(len(rows), bool) if episode_start is None else np.atleast_1d(episode_start)
        )
        actions = np.empty((len(rows), 7), dtype=np.float32)
        for index, row in enumerate(rows):
            run = self._runs[index]
            if run is None or starts[index]:
                view = View(self._layout)
                run = self._runs[index] = (view, self._script(view))
            run[0].values = row.astype(np.float64)
            actions[index] = next(run[1])
        return (actions[0] if observation.ndim == 1 else actions), state


def act(
    view: View,
    target: np.ndarray,
    orientation: np.ndarray | None,
    gripper: float,
    slow: float = 1.0,
) -> Step:
    """One action towards a position, and an orientation if one is given."""
    action = np.zeros(7)
    action[:3] = np.clip((target - view["eef_pos"]) / REACH * 2.0, -slow, slow)
    if orientation is not None:
        action[3:6] = np.clip(turn_to(view, orientation) / TURN * 1.5, -1.0, 1.0)
    action[6] = gripper
    return action


def move(
    view: View,
    target: np.ndarray,
    gripper: float,
    *,
    within: float,
    face: str | None = None,
    yaw: float | None = None,
    slow: float = 1.0,
) -> Script:
    """Go to ``target`` until as near as ``within`` metres and 0.1 rad, for 80 steps at most."""
    for _ in range(80):
        down = pointing_down(view, face, yaw)
        near_enough = np.linalg.norm(target - view["eef_pos"]) < within
        if near_enough and np.linalg.norm(turn_to(view, down)) < 0.1:
            return
        yield act(view, target, down, gripper, slow)


def hold(view: View, steps: int | None, gripper: float) -> Script:
    """Stay where the arm is, for so many steps or for ever."""
    place, orientation = view["eef_pos"].copy(), rotation(view["eef_quat"])
    done = 0
    while steps is None or done < steps:
        yield act(view, place, orientation, gripper)
        done += 1
