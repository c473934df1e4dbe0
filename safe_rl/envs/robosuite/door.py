"""The script that opens robosuite's Door: take the lever from the front, turn it, pull, leave."""

from __future__ import annotations

import numpy as np

from safe_rl.envs.robosuite.motions import CLOSE, OPEN, Script, View, act, hold, turn_to

# Pointing at the door, along -y, with one finger above the lever and one below.
_FACING = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
_TURNED = 1.35  # rad, the latch is free
_FREE = 0.16  # rad of the hinge
_PULL = np.array([-0.01, 0.05, 0.0])  # m per step, along the arc of the open door


def open_door(view: View) -> Script:
    """Open the door by more than 0.3 rad, and let it be."""
    lever = view["handle_pos"] + np.array([0.01, 0.0, 0.0])
    yield from _face(view, lever + np.array([0.0, 0.14, 0.0]))
    yield from _face(view, lever, slow=0.5)
    yield from hold(view, 12, CLOSE)
    for _ in range(60):
        if view["handle_qpos"][0] > _TURNED:
            break
        yield act(view, view["eef_pos"] + 0.05 * _along(view), None, CLOSE)
    for _ in range(60):
        if view["hinge_qpos"][0] > 0.33:
            break
        # Once the latch has left the frame it need not be turned any further.
        further = 0.02 if view["hinge_qpos"][0] < _FREE else 0.0
        yield act(view, view["eef_pos"] + further * _along(view) + _PULL, None, CLOSE)
    yield from hold(view, 3, OPEN)
    away = view["eef_pos"] + np.array([0.0, 0.25, -0.05])
    for _ in range(15):
        yield act(view, away, None, OPEN)
    yield from hold(view, None, OPEN)


def _face(view: View, target: np.ndarray, slow: float = 1.0) -> Script:
    for _ in range(60):
        near = np.linalg.norm(target - view["eef_pos"]) < 0.012
        if near and np.linalg.norm(turn_to(view, _FACING)) < 0.15:
            return
        yield act(view, target, _FACING, OPEN, slow)


def _along(view: View) -> np.ndarray:
    """The direction in which the lever's end moves when it is turned further."""
    angle = view["handle_qpos"][0]
    return np.array([np.sin(angle), 0.0, -np.cos(angle)])
