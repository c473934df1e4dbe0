"""Boxes around geoms and sites, in the frames of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safe_rl.errors import GroundingError
from safe_rl.grounding.arrays.scene import Half
from safe_rl.grounding.mujoco.bindings import Array, MujocoData, MujocoModel

_MUJOCO_BOX = 6  # mujoco.mjtGeom.mjGEOM_BOX


@dataclass(frozen=True)
class FixedBox:
    """A box in the frame of a body (a number), in metres."""

    body: int
    center: tuple[float, float, float]
    half: Half


def world_half(data: MujocoData, box: FixedBox) -> Half:
    """Half extents in m, along the world's axes, of the world-aligned box around ``box``."""
    turned = np.abs(data.xmat[box.body].reshape(3, 3)) @ np.asarray(box.half)
    x, y, z = turned.round(9).tolist()
    return (x, y, z)


def site_box(model: MujocoModel, site: int) -> FixedBox:
    """The box around a site of type box.

    Raises:
        GroundingError: for a site of another type.
    """
    if int(model.site_type[site]) != _MUJOCO_BOX:
        raise GroundingError(
            f"site {model.site(site).name!r} is an interior, so it must be of type box"
        )
    w, x, y, z = model.site_quat[site].tolist()
    turn = np.abs(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    half, middle = (turn @ model.site_size[site]).tolist(), model.site_pos[site].tolist()
    return FixedBox(
        int(model.site_bodyid[site]),
        (middle[0], middle[1], middle[2]),
        (half[0], half[1], half[2]),
    )


def _corners(
    model: MujocoModel, data: MujocoData, body: int, geoms: Sequence[int]
) -> tuple[Array, Array]:
    """Lowest and highest corner, in ``body``'s frame, of the geoms' own bounding boxes."""
    frame, origin = data.xmat[body].reshape(3, 3), data.xpos[body]
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points = []
    for g in geoms:
        box = model.geom_aabb[g]
        local = box[:3] + signs * box[3:]
        world = data.geom_xpos[g] + local @ data.geom_xmat[g].reshape(3, 3).T
        points.append((world - origin) @ frame)
    stacked = np.concatenate(points)
    return stacked.min(axis=0), stacked.max(axis=0)


def box_around(model: MujocoModel, data: MujocoData, body: int, geoms: Sequence[int]) -> FixedBox:
    """The box around the bounding boxes of geoms, in the frame of ``body``."""
    # Planes have no bounds; a fixture made of them alone (the floor) is a point.
    bounded = [g for g in geoms if model.geom_rbound[g] > 0]
    if not bounded:
        return FixedBox(body, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return _between(body, *_corners(model, data, body, bounded))


def _between(body: int, low: Array, high: Array) -> FixedBox:
    # Rounded, because the corners come from turned frames and are compared by value.
    center, half = ((low + high) / 2).round(9).tolist(), ((high - low) / 2).round(9).tolist()
    return FixedBox(body, (center[0], center[1], center[2]), (half[0], half[1], half[2]))


def gripper_box(
    model: MujocoModel,
    data: MujocoData,
    gripper: int,
    geoms: Sequence[int],
    joints: Sequence[int],
    fingers: Sequence[Sequence[int]],
) -> FixedBox:
    """The box around the gripper wherever its (sliding) finger joints may be.

    A box that shrank with the fingers would call an object gone that merely sits beside a closed
    gripper.
    """
    low, high = _corners(model, data, gripper, geoms)
    frame = data.xmat[gripper].reshape(3, 3)
    for joint, own in zip(joints, fingers, strict=True):
        finger_low, finger_high = _corners(model, data, gripper, own)
        axis = frame.T @ data.xaxis[joint]
        for end in model.jnt_range[joint]:
            shift = axis * (end - data.qpos[model.jnt_qposadr[joint]])
            low = np.minimum(low, finger_low + shift)
            high = np.maximum(high, finger_high + shift)
    return _between(gripper, low, high)
