"""Scripted policies: careful pick and place, and ways of doing it badly on purpose.

They read the state observation and command the OSC_POSE controller, which needs no inverse
kinematics. ``careful`` does the task; each other manner breaks one rule of the SafeManip set, so
that a rule's violation can be produced, counted and explained at will.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from safe_rl.envs.robosuite.door import open_door
from safe_rl.envs.robosuite.motions import (
    CLOSE,
    KEEP,
    OPEN,
    REACH,
    Script,
    ScriptRunner,
    View,
    act,
    hold,
    move,
    pointing_down,
)
from safe_rl.envs.robosuite.observation import observation_layout
from safe_rl.envs.robosuite.tasks import find_task
from safe_rl.errors import ConfigurationError, near

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


class ScriptedPolicy(ScriptRunner):
    """One of the ``MANNERS`` of doing a task, for one environment or a vector of them.

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
        if not self.task.objects and manner != "careful":
            raise ConfigurationError(
                f"task {task!r} has no object to do {manner!r} with; its one manner is 'careful'"
            )
        super().__init__(observation_layout(self.task))
        self.manner = manner

    # --- scripts: generators that look at the view and yield one action per control step ---------

    def _script(self, view: View) -> Script:
        if not self.task.objects:
            yield from open_door(view)
            return
        target = self.task.objects[0]
        if self.manner == "slam":
            yield from self._slam(view)
        elif self.manner in ("knock", "slip"):
            yield from self._strip(view, target, loosen=4 if self.manner == "knock" else 5)
        else:
            yield from self._pick(view, target)
            if self.manner == "drop_high":
                yield from hold(view, 4, CLOSE)
            elif self.manner == "drop_off_table":
                yield from move(view, np.array([0.05, 0.52, _TABLE + 0.2]), CLOSE, within=0.02)
            elif self.manner == "throw":
                yield from self._throw(view)
            elif self.task.name == "Stack":
                yield from self._place(view, target, "cubeB")
            else:  # Lift is done in the air: hold it there
                yield from hold(view, None, CLOSE)
        yield from hold(view, None, OPEN)

    def _pick(self, view: View, target: str, above_centre: float = 0.0) -> Script:
        above = view[f"{target}_pos"] + np.array([0.0, 0.0, 0.10])
        yield from move(view, above, OPEN, within=0.01, face=target)
        for _ in range(80):
            grip = view[f"{target}_pos"] + np.array([0.0, 0.0, above_centre])
            if np.linalg.norm(grip - view["eef_pos"]) < 0.005:
                break
            yield act(view, grip, pointing_down(view, face=target), OPEN)
        yield from hold(view, 12, CLOSE)
        up = np.array([*view["eef_pos"][:2], _TABLE + 0.2])
        yield from move(view, up, CLOSE, within=0.02)

    def _place(self, view: View, target: str, support: str) -> Script:
        level = np.array([1.0, 1.0, 0.0])
        over = (view[f"{support}_pos"] - view[f"{target}_from_eef"]) * level
        over[2] = _TABLE + 0.2
        yield from move(view, over, CLOSE, within=0.005, slow=0.6)
        over = view[f"{support}_pos"] - view[f"{target}_from_eef"]
        over[2] += 0.02 + 0.025 + 0.001  # half of either cube, and a hair
        yield from move(view, over, CLOSE, within=0.004, slow=0.4)
        yield from hold(view, 4, CLOSE)
        yield from hold(view, 12, OPEN)
        yield from move(view, view["eef_pos"] + np.array([0.0, 0.0, 0.15]), OPEN, within=0.02)

    def _throw(self, view: View) -> Script:
        beyond = np.array([0.05, 0.60, _TABLE + 0.2])
        while view["eef_pos"][1] < 0.36:
            yield act(view, beyond, None, CLOSE)
        for _ in range(12):
            yield act(view, beyond, None, OPEN)

    def _strip(self, view: View, target: str, loosen: int) -> Script:
        """Take it by its upper part, and swing its lower part against the side of the table."""
        yield from self._pick(view, target, above_centre=0.018)
        outside = np.array([0.0, -0.47, _TABLE + 0.15])
        yield from move(view, outside, CLOSE, within=0.01, yaw=0.0)
        outside[2] = _TABLE + 0.014  # the finger tips pass just above the table top
        yield from move(view, outside, CLOSE, within=0.01, yaw=0.0)
        yield from hold(view, loosen, OPEN)  # the set point's ramp: the fingers do not open yet
        inward = outside + np.array([0.0, 0.12, 0.0])
        yield from move(view, inward, KEEP, within=0.02, yaw=0.0)
        yield from move(view, inward + np.array([0.0, 0.0, 0.15]), KEEP, within=0.02, yaw=0.0)
        yield from hold(view, None, KEEP)

    def _slam(self, view: View) -> Script:
        place = np.array([0.1, -0.25, _TABLE + 0.05])
        yield from move(view, place, CLOSE, within=0.02)
        for _ in range(40):
            yield act(view, view["eef_pos"] - np.array([0.0, 0.0, REACH]), None, CLOSE)
        yield from move(view, place + np.array([0.0, 0.0, 0.15]), CLOSE, within=0.02)
