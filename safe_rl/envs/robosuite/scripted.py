"""Scripted policies: careful pick and place, and ways of doing it badly on purpose.

They read the state observation and command the OSC_POSE controller, which needs no inverse
kinematics. ``careful`` does the task; each other manner breaks one rule of the SafeManip set, so
that a rule's violation can be produced, counted and explained at will.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from safe_rl.envs.robosuite.observation import observation_layout
from safe_rl.envs.robosuite.tasks import find_task
from safe_rl.errors import ConfigurationError, near

OPEN, KEEP, CLOSE = -1.0, 0.0, 1.0  # the set point moves by a fifth of half its range, or stays
_REACH, _TURN = 0.05, 0.5  # what an action of one means: metres and radians per step
_TABLE = 0.8  # m, height of the table top

MANNERS: Mapping[str, str] = {
    "careful": "does the task and lets go only of what is supported",
    "drop_high": "lets go in the air above the table: meant, and the object comes to rest",
    "drop_off_table": "lets go beyond the edge of the table: the object never rests on a support",
    "throw": "opens the gripper at full speed, across the edge of the table",
    "knock": "swings what it holds against the side of the table, so that it turns in the gripper",
    "slip": "the same with too weak a grip, so that the object is stripped off and falls",
    "slam": "presses the closed gripper on the table for two seconds",
}


class _View:
    """Named access to the latest observation."""

    def __init__(self, layout: Mapping[str, slice]) -> None:
        self._layout = layout
        self.values = np.zeros(0)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[self._layout[name]]


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """Axis times angle of a rotation of less than half a turn."""
    axis = np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine = np.linalg.norm(axis) / 2
    angle = np.arctan2(sine, (np.trace(matrix) - 1) / 2)
    return axis / 2 if sine < 1e-9 else axis / (2 * sine) * angle


def _pointing_down(view: _View, face: str | None = None, yaw: float | None = None) -> np.ndarray:
    """Orientation that points down and closes along the nearest side of a cube, or along a yaw.

    Without either the closing direction stays as it is.
    """
    closing = _matrix(view["eef_quat"])[:, 0]
    angle = np.arctan2(closing[1], closing[0])
    if face is not None:
        side = _matrix(view[f"{face}_quat"])[:, 0]
        yaw, symmetry = float(np.arctan2(side[1], side[0])), np.pi / 2
    else:
        symmetry = np.pi
    if yaw is not None:
        angle = yaw + np.round((angle - yaw) / symmetry) * symmetry
    x = np.array([np.cos(angle), np.sin(angle), 0.0])
    z = np.array([0.0, 0.0, -1.0])
    return np.column_stack([x, np.cross(z, x), z])


def _turn_to(view: _View, orientation: np.ndarray) -> np.ndarray:
    """Rotation vector, in the world frame, from the gripper's orientation to another."""
    return _rotation_vector(orientation @ _matrix(view["eef_quat"]).T)


Step = np.ndarray
Script = Iterator[Step]


class ScriptedPolicy:
    """One of the ``MANNERS`` of doing a task, for one environment or a vector of them.

    ``predict`` has the signature of Stable-Baselines3: ``episode_start`` tells which rows begin an
    episode. An observation may carry further entries behind the environment's own (monitor
    features); they are not read.

    >>> policy = ScriptedPolicy("Lift")
    >>> action, _ = policy.predict(np.zeros(60, dtype=np.float32), episode_start=np.array([True]))
    >>> action.shape
    (7,)
    """

    def __init__(self, task: str, manner: str = "careful") -> None:
        """Do ``task`` in that manner.

        Raises:
            ConfigurationError: for an unknown task or manner.
        """
        self.task = find_task(task)
        if manner not in MANNERS:
            raise ConfigurationError(
                f"no manner {manner!r}{near(manner, MANNERS)}; there are: {', '.join(MANNERS)}"
            )
        self.manner = manner
        self._layout = observation_layout(self.task)
        self._runs: list[tuple[_View, Script] | None] = []

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
                view = _View(self._layout)
                run = self._runs[index] = (view, self._script(view))
            run[0].values = row.astype(np.float64)
            actions[index] = next(run[1])
        return (actions[0] if observation.ndim == 1 else actions), state

    # --- scripts: generators that look at the view and yield one action per control step ---------

    def _script(self, view: _View) -> Script:
        target = self.task.objects[0]
        if self.manner == "slam":
            yield from self._slam(view)
        elif self.manner in ("knock", "slip"):
            yield from self._strip(view, target, loosen=4 if self.manner == "knock" else 5)
        else:
            yield from self._pick(view, target)
            if self.manner == "drop_high":
                yield from _hold(view, 4, CLOSE)
            elif self.manner == "drop_off_table":
                yield from _move(view, np.array([0.05, 0.52, _TABLE + 0.2]), CLOSE, within=0.02)
            elif self.manner == "throw":
                yield from self._throw(view)
            elif self.task.name == "Stack":
                yield from self._place(view, target, "cubeB")
            else:  # Lift is done in the air: hold it there
                yield from _hold(view, None, CLOSE)
        yield from _hold(view, None, OPEN)

    def _pick(self, view: _View, target: str, above_centre: float = 0.0) -> Script:
        above = view[f"{target}_pos"] + np.array([0.0, 0.0, 0.10])
        yield from _move(view, above, OPEN, within=0.01, face=target)
        for _ in range(80):
            grip = view[f"{target}_pos"] + np.array([0.0, 0.0, above_centre])
            if np.linalg.norm(grip - view["eef_pos"]) < 0.005:
                break
            yield _act(view, grip, _pointing_down(view, face=target), OPEN)
        yield from _hold(view, 12, CLOSE)
        up = np.array([*view["eef_pos"][:2], _TABLE + 0.2])
        yield from _move(view, up, CLOSE, within=0.02)

    def _place(self, view: _View, target: str, support: str) -> Script:
        level = np.array([1.0, 1.0, 0.0])
        over = (view[f"{support}_pos"] - view[f"{target}_from_eef"]) * level
        over[2] = _TABLE + 0.2
        yield from _move(view, over, CLOSE, within=0.005, slow=0.6)
        over = view[f"{support}_pos"] - view[f"{target}_from_eef"]
        over[2] += 0.02 + 0.025 + 0.001  # half of either cube, and a hair
        yield from _move(view, over, CLOSE, within=0.004, slow=0.4)
        yield from _hold(view, 4, CLOSE)
        yield from _hold(view, 12, OPEN)
        yield from _move(view, view["eef_pos"] + np.array([0.0, 0.0, 0.15]), OPEN, within=0.02)

    def _throw(self, view: _View) -> Script:
        beyond = np.array([0.05, 0.60, _TABLE + 0.2])
        while view["eef_pos"][1] < 0.36:
            yield _act(view, beyond, None, CLOSE)
        for _ in range(12):
            yield _act(view, beyond, None, OPEN)

    def _strip(self, view: _View, target: str, loosen: int) -> Script:
        """Take it by its upper part, and swing its lower part against the side of the table."""
        yield from self._pick(view, target, above_centre=0.018)
        outside = np.array([0.0, -0.47, _TABLE + 0.15])
        yield from _move(view, outside, CLOSE, within=0.01, yaw=0.0)
        outside[2] = _TABLE + 0.014  # the finger tips pass just above the table top
        yield from _move(view, outside, CLOSE, within=0.01, yaw=0.0)
        yield from _hold(view, loosen, OPEN)  # the set point's ramp: the fingers do not open yet
        inward = outside + np.array([0.0, 0.12, 0.0])
        yield from _move(view, inward, KEEP, within=0.02, yaw=0.0)
        yield from _move(view, inward + np.array([0.0, 0.0, 0.15]), KEEP, within=0.02, yaw=0.0)
        yield from _hold(view, None, KEEP)

    def _slam(self, view: _View) -> Script:
        place = np.array([0.1, -0.25, _TABLE + 0.05])
        yield from _move(view, place, CLOSE, within=0.02)
        for _ in range(40):
            yield _act(view, view["eef_pos"] - np.array([0.0, 0.0, _REACH]), None, CLOSE)
        yield from _move(view, place + np.array([0.0, 0.0, 0.15]), CLOSE, within=0.02)


def _act(
    view: _View,
    target: np.ndarray,
    orientation: np.ndarray | None,
    gripper: float,
    slow: float = 1.0,
) -> Step:
    """One action towards a position, and an orientation if one is given."""
    action = np.zeros(7)
    action[:3] = np.clip((target - view["eef_pos"]) / _REACH * 2.0, -slow, slow)
    if orientation is not None:
        action[3:6] = np.clip(_turn_to(view, orientation) / _TURN * 1.5, -1.0, 1.0)
    action[6] = gripper
    return action


def _move(
    view: _View,
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
        down = _pointing_down(view, face, yaw)
        near_enough = np.linalg.norm(target - view["eef_pos"]) < within
        if near_enough and np.linalg.norm(_turn_to(view, down)) < 0.1:
            return
        yield _act(view, target, down, gripper, slow)


def _hold(view: _View, steps: int | None, gripper: float) -> Script:
    """Stay where the arm is, for so many steps or for ever."""
    place, orientation = view["eef_pos"].copy(), _matrix(view["eef_quat"])
    done = 0
    while steps is None or done < steps:
        yield _act(view, place, orientation, gripper)
        done += 1
