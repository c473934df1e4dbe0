"""The flat state observation, and where each quantity is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from safe_rl.envs.robosuite.tasks import Task

_ROBOT_PARTS = (
    ("joint_pos", 7),  # rad
    ("joint_vel", 7),  # rad/s
    ("eef_pos", 3),  # m, world frame, the point between the finger pads
    ("eef_quat", 4),  # (w, x, y, z)
    ("gripper_qpos", 2),  # m
    ("gripper_qvel", 2),  # m/s
    ("gripper_target", 1),  # in [-1, 1]: the set point follows the action with a ramp
)
_OBJECT_PARTS = (
    ("pos", 3),  # m, world frame
    ("quat", 4),  # (w, x, y, z)
    ("linear", 3),  # m/s
    ("angular", 3),  # rad/s, in the object's frame
    ("from_eef", 3),  # m, position minus eef_pos
)
_JOINT_PARTS = ("qpos", "qvel")  # rad or m, and per second
_SITE_PARTS = ("pos", "from_eef")  # m


def observation_layout(task: Task) -> dict[str, slice]:
    """Name of each quantity to its place: the robot's, then by object, by joint and by site.

    >>> from safe_rl.envs.robosuite.tasks import find_task
    >>> observation_layout(find_task("Lift"))["cube_pos"]
    slice(26, 29, None)
    """
    parts = list(_ROBOT_PARTS)
    parts += [(f"{name}_{part}", size) for name in task.objects for part, size in _OBJECT_PARTS]
    parts += [(f"{name}_{part}", 1) for name in task.joints for part in _JOINT_PARTS]
    parts += [(f"{name}_{part}", 3) for name in task.sites for part in _SITE_PARTS]
    layout, start = {}, 0
    for name, size in parts:
        layout[name] = slice(start, start + size)
        start += size
    return layout


class StateReader:
    """Fills the observation from MuJoCo's arrays, addresses resolved once."""

    def __init__(self, task: Task, simulation: Any, device_features: Sequence[str]) -> None:
        """Read ``simulation``; ``device_features`` names what the grounding appends."""
        model = simulation.sim.model
        robot = simulation.robots[0]
        gripper = robot.gripper["right"]
        self.layout: Mapping[str, slice] = observation_layout(task)
        self.size = max(place.stop for place in self.layout.values())
        self.names = tuple(device_features)
        self._arm_qpos = [model.get_joint_qpos_addr(j) for j in robot.robot_model.joints]
        self._arm_qvel = [model.get_joint_qvel_addr(j) for j in robot.robot_model.joints]
        self._finger_qpos = [model.get_joint_qpos_addr(j) for j in gripper.joints]
        self._finger_qvel = [model.get_joint_qvel_addr(j) for j in gripper.joints]
        self._site = model.site_name2id(gripper.important_sites["grip_site"])
        self._eef = model.body_name2id(f"{gripper.naming_prefix}eef")
        self._gripper = gripper
        self._objects = []
        for name in task.objects:
            joint = getattr(simulation, name).joints[0]
            qpos, _ = model.get_joint_qpos_addr(joint)
            qvel, _ = model.get_joint_qvel_addr(joint)
            self._objects.append((self.layout[f"{name}_pos"].start, qpos, qvel))
        joints = task.joints.values()
        self._joint_qpos = [model.get_joint_qpos_addr(joint) for joint in joints]
        self._joint_qvel = [model.get_joint_qvel_addr(joint) for joint in joints]
        self._sites = [model.site_name2id(site) for site in task.sites.values()]
        self._further = self.size - 2 * len(self._joint_qpos) - 6 * len(self._sites)

    def read(self, data: Any, device_features: Sequence[float] | np.ndarray) -> np.ndarray:
        """A new float32 array ``[size + number of device features]``."""
        qpos, qvel = data.qpos, data.qvel
        eef = data.site_xpos[self._site]
        values = np.empty(self.size + len(device_features), dtype=np.float32)
        values[0:7] = qpos[self._arm_qpos]
        values[7:14] = qvel[self._arm_qvel]
        values[14:17] = eef
        values[17:21] = data.xquat[self._eef]
        values[21:23] = qpos[self._finger_qpos]
        values[23:25] = qvel[self._finger_qvel]
        # The two entries mirror each other (opposite signs): one says it all.
        values[25] = self._gripper.current_action[-1]
        for start, position, velocity in self._objects:
            values[start : start + 7] = qpos[position : position + 7]
            values[start + 7 : start + 13] = qvel[velocity : velocity + 6]
            values[start + 13 : start + 16] = qpos[position : position + 3] - eef
        start, count = self._further, len(self._joint_qpos)
        values[start : start + 2 * count : 2] = qpos[self._joint_qpos]
        values[start + 1 : start + 2 * count : 2] = qvel[self._joint_qvel]
        for number, site in enumerate(self._sites):
            begin = start + 2 * count + 6 * number
            values[begin : begin + 3] = data.site_xpos[site]
            values[begin + 3 : begin + 6] = data.site_xpos[site] - eef
        values[self.size :] = device_features
        return values
