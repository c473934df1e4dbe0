"""The script that opens robosuite's Door: take the lever from the front, turn it, pull, leave."""

from __future__ import annotations

import numpy as np

from safe_rl.envs.robosuite.motions import CLOSE, OPEN, Script, View, act, hold, turn_to

# Pointing at the door, along -y, with one finger above the lever and one below.
FACING = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
TURNED = 1.35  # rad of the latch, which is free then
OPEN_ENOUGH = 0.33  # rad of the hinge
_FREE = 0.16  # rad of the hinge
_PULL = np.array([-0.01, 0.05, 0.0])  # m per step, along the arc of the open door


def open_door(view: View) -> Script:
    """Open the door by more than 0.3 rad, and let it be."""
    lever = view["handle_pos"] + np.array([0.01, 0.0, 0.0])
    yield from _face(view, lever + np.array([0.0, 0.14, 0.0]))
    yield from _face(view, lever, slow=0.5)
    yield from hold(view, 12, CLOSE)
    for _ in range(60):
        if view["handle_qpos"][0] > TURNED:
            break
        yield act(view, turning(view["eef_pos"], view["handle_qpos"][0]), None, CLOSE)
    for _ in range(60):
        if view["hinge_qpos"][0] > OPEN_ENOUGH:
            break
        aim = pulling(view["eef_pos"], view["handle_qpos"][0], view["hinge_qpos"][0])
        yield act(view, aim, None, CLOSE)
    yield from hold(view, 3, OPEN)
    away = view["eef_pos"] + np.array([0.0, 0.25, -0.05])
    for _ in range(15):
        yield act(view, away, None, OPEN)
    yield from hold(view, None, OPEN)


def _face(view: View, target: np.ndarray, slow: float = 1.0) -> Script:
    for _ in range(60):
        near = np.linalg.norm(target - view["eef_pos"]) < 0.012
        if near and np.linalg.norm(turn_to(view, FACING)) < 0.15:
            return
        yield act(view, target, FACING, OPEN, slow)


def turning(gripper: np.ndarray, latch: float) -> np.ndarray:
    """Where the gripper goes on to turn the lever, from its place and the latch's angle."""
    return gripper + 0.05 * _along(latch)


def pulling(gripper: np.ndarray, latch: float, hinge: float) -> np.ndarray:
    """Where the gripper goes on to pull the door, from its place and both angles."""
    # Once the latch has left the frame it need not be turned any further.
    further = 0.02 if hinge < _FREE else 0.0
    return gripper + further * _along(latch) + _PULL


def _along(latch: float) -> np.ndarray:
    """The direction in which the lever's end moves when it is turned further."""
    return np.array([np.sin(latch), 0.0, -np.cos(latch)])
