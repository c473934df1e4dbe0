"""Scene frames written by hand, for tests of grasp, release and contact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from safe_rl.grounding import AllowedContacts, FixtureRole, ObjectRole, SceneArrays, SceneRoles
from safe_rl.grounding.arrays import empty_scene

OPEN, HOLDING = 0.04, 0.02  # m, joint reading of each finger
Vector = tuple[float, float, float]


class Motion(NamedTuple):
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    linear: Vector = (0.0, 0.0, 0.0)
    angular: Vector = (0.0, 0.0, 0.0)


STILL = Motion()


class Facts(NamedTuple):
    """One object; ``support`` is "table" or the place of another object in the frame."""

    body: Motion
    fingers: int
    opposed: bool
    support: str | int | None
    near: bool
    cleared: bool


def facts(
    *,
    body: Motion = STILL,
    held: bool = False,
    fingers: int | None = None,
    opposed: bool | None = None,
    support: str | int | None = None,
    near: bool | None = None,
    cleared: bool | None = None,
) -> Facts:
    """An object; ``held`` sets what the other arguments do not."""
    return Facts(
        body=body,
        fingers=(2 if held else 0) if fingers is None else fingers,
        opposed=held if opposed is None else opposed,
        support=support,
        near=held if near is None else near,
        cleared=(not held) if cleared is None else cleared,
    )


def scene_roles(*names: str) -> SceneRoles:
    """These objects and a table; the robot may touch the objects."""
    return SceneRoles(
        tuple(ObjectRole(name, (0.03, 0.03, 0.03)) for name in names),
        (FixtureRole("table", "counter", (1.0, 1.0, 0.02)),),
        allowed=AllowedContacts(frozenset(names)),
    )


def frame(
    *objects: Facts,
    joints: float = HOLDING,
    target: float = 0.0,
    gripper: Motion = STILL,
    pressed: bool = False,
    rubbing: Iterable[int] = (),
) -> SceneArrays:
    """One frame; the robot touches the table if ``pressed``, and so do the objects ``rubbing``."""
    roles = scene_roles(*map(str, range(len(objects))))
    f = {name: np.array(value) for name, value in empty_scene(roles, np)._asdict().items()}
    f["gripper_position"][:], f["gripper_quaternion"][:] = gripper.position, gripper.quaternion
    f["gripper_linear"][:], f["gripper_angular"][:] = gripper.linear, gripper.angular
    f["finger_joints"][:], f["finger_targets"][:] = joints, target
    f["robot_fixture"][0] = pressed
    for i, each in enumerate(objects):
        f["object_positions"][i], f["object_quaternions"][i] = each.body[:2]
        f["object_linear"][i], f["object_angular"][i] = each.body[2:]
        f["finger_contacts"][i, : each.fingers] = True
        f["robot_object"][i] = each.fingers > 0
        f["opposed"][i], f["in_gripper_box"][i] = each.opposed, each.near
        f["gripper_gaps"][i] = 0.02 if each.cleared else 0.005
        if isinstance(each.support, int):
            f["on_object"][i, each.support] = True
        elif each.support is not None:
            f["on_fixture"][i, 0] = f["object_fixture"][i, 0] = True
    for i in rubbing:
        f["object_fixture"][i, 0] = True
    return SceneArrays(**f)
