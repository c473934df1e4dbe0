"""One action of the OSC_POSE controller towards a pose of the gripper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safe_rl.demonstrations.primitives.pose import Pose
from safe_rl.envs.robosuite.motions import REACH, TURN, rotation_vector

Action = NDArray[np.float64]

_PULL, _TWIST = 2.0, 1.5  # gains: how much further than the target the controller is sent


def servo(now: Pose, target: Pose, gripper: float, speed: float = 1.0) -> Action:
    """The action ``[7]`` that leads from ``now`` towards ``target``.

    Args:
        now: of the gripper.
        target: likewise.
        gripper: -1 opens, 1 closes, 0 keeps the fingers where they are.
        speed: part of the largest action that a motion may use along each axis.
    """
    action = np.empty(7)
    action[:3] = np.clip((target.position - now.position) / REACH * _PULL, -speed, speed)
    turn = rotation_vector(target.rotation @ now.rotation.T)
    action[3:6] = np.clip(turn / TURN * _TWIST, -1.0, 1.0)
    action[6] = gripper
    return action
