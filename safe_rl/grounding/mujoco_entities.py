"""Who is who in a MuJoCo model: every geom's entity, the fingers, the gripper, the objects.

Geoms belong to entities by the body tree, never by the look of their names: an object's geoms are
those below its root body, whatever they are called. Every name given must exist and every geom that
can collide must belong to something, else ``GroundingError``: a finger that matches no geom would
otherwise mean that nothing is ever grasped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.geometry import Vector

BASE, NOBODY = "robot base", ""

Array = NDArray[Any]
T = TypeVar("T")


class MujocoElement(Protocol):
    """A named element of a model."""

    id: int
    name: str


Lookup = Callable[[int | str], MujocoElement]


class MujocoModel(Protocol):
    """The parts of ``mujoco.MjModel`` that are read."""

    nbody: int
    ngeom: int
    njnt: int
    nu: int
    body_parentid: Array
    body_rootid: Array
    geom_bodyid: Array
    geom_contype: Array
    geom_conaffinity: Array
    geom_aabb: Array
    geom_rbound: Array
    jnt_qposadr: Array
    jnt_range: Array
    body: Lookup
    geom: Lookup
    joint: Lookup
    actuator: Lookup


class MujocoData(Protocol):
    """The parts of ``mujoco.MjData`` that are read."""

    contact: Any
    ctrl: Array
    qpos: Array
    xpos: Array
    xquat: Array
    xmat: Array
    xaxis: Array
    cvel: Array
    subtree_com: Array
    geom_xpos: Array
    geom_xmat: Array


@dataclass(frozen=True)
class SceneRoles:
    """Which bodies of a model play which part. A body stands for its whole subtree.

    Attributes:
        robot: root body of the robot.
        base: bodies of the robot's base, whose contacts are not considered.
        base_bodies: further bodies of the base, without their subtrees (a link that carries the
            rest of the arm).
        gripper: root body of the gripper; its frame is the gripper's frame.
        fingers: root body of each finger.
        finger_joints: joint of each finger; its reading is the distance from the closed position.
        finger_actuators: position actuator of each finger.
        objects: object name to root body, in the order of the propositions.
        fixtures: fixture name to root body; an object can rest on it.
        surroundings: name to geom, for geoms of the world that are no support (the floor).
    """

    robot: str
    base: tuple[str, ...]
    base_bodies: tuple[str, ...]
    gripper: str
    fingers: tuple[str, ...]
    finger_joints: tuple[str, ...]
    finger_actuators: tuple[str, ...]
    objects: Mapping[str, str]
    fixtures: Mapping[str, str]
    surroundings: Mapping[str, str]


@dataclass(frozen=True)
class Box:
    """A box in the frame of a body, in metres."""

    center: Vector
    half: Vector


@dataclass(frozen=True)
class MujocoEntities:
    """The roles, resolved to MuJoCo's numbers.

    Attributes:
        names: entities that can touch something, in the order of the model.
        of_geom: entity of each geom.
        finger_of_geom: finger of each geom, or -1.
        geom_names: name of each geom.
        objects: name of each object.
        object_bodies: root body of each object.
        object_geoms: its geoms that can collide.
        object_boxes: the box around them, in the body's frame.
        fixtures: names of the fixtures.
        gripper: root body of the gripper.
        gripper_geoms: its geoms that can collide.
        gripper_box: the box around them wherever the finger joints are, in the gripper's frame.
        joint_addresses: place of each finger joint in ``qpos``.
        actuators: actuator of each finger.
    """

    names: tuple[str, ...]
    of_geom: tuple[str, ...]
    finger_of_geom: tuple[int, ...]
    geom_names: tuple[str, ...]
    objects: tuple[str, ...]
    object_bodies: tuple[int, ...]
    object_geoms: tuple[tuple[int, ...], ...]
    object_boxes: tuple[Box, ...]
    fixtures: frozenset[str]
    gripper: int
    gripper_geoms: tuple[int, ...]
    gripper_box: Box
    joint_addresses: tuple[int, ...]
    actuators: tuple[int, ...]


def resolve_entities(model: MujocoModel, data: MujocoData, roles: SceneRoles) -> MujocoEntities:
    """Resolve ``roles`` in ``model``; ``data`` must hold the kinematics of some posture.

    Raises:
        GroundingError: for a name that the model lacks or that is given twice, an object or finger
            without a geom that can collide, or such a geom that belongs to nothing.
    """

    def body(name: str) -> int:
        return _number(model.body, "body", name, model.nbody)

    of_geom = _geom_entities(model, roles, body)
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    # A geom without a name still has one here, or two of them would look like one contact.
    geom_names = tuple(model.geom(g).name or f"geom {g}" for g in range(model.ngeom))
    strays = [
        name
        for name, entity, can in zip(geom_names, of_geom, collides, strict=True)
        if can and entity == NOBODY
    ]
    if strays:
        raise GroundingError(
            f"geoms that can collide but belong to no entity: {', '.join(map(repr, strays))}; "
            "give their body a role (robot, object, fixture) or list them as surroundings"
        )
    object_geoms = []
    for name in roles.objects:
        geoms = tuple(g for g in range(model.ngeom) if of_geom[g] == name and collides[g])
        if not geoms:
            raise GroundingError(f"{name!r} has no geom that can collide, so nothing touches it")
        object_geoms.append(geoms)
    object_bodies = tuple(body(name) for name in roles.objects.values())

    owned = _owned_by(model, {body(name): index for index, name in enumerate(roles.fingers)}, -1)
    finger_of_geom = tuple(owned[int(b)] for b in model.geom_bodyid)
    for index, name in enumerate(roles.fingers):
        if not any(f == index and can for f, can in zip(finger_of_geom, collides, strict=True)):
            raise GroundingError(f"finger {name!r} has no geom that can collide")
    gripper = body(roles.gripper)
    below = _owned_by(model, {gripper: True}, False)
    gripper_geoms = tuple(
        g for g in range(model.ngeom) if below[int(model.geom_bodyid[g])] and collides[g]
    )
    joints = [_number(model.joint, "joint", name, model.njnt) for name in roles.finger_joints]
    fingers = [[g for g in gripper_geoms if finger_of_geom[g] == i] for i in range(len(joints))]
    return MujocoEntities(
        names=tuple(dict.fromkeys(name for name in of_geom if name not in (BASE, NOBODY))),
        of_geom=of_geom,
        finger_of_geom=finger_of_geom,
        geom_names=geom_names,
        objects=tuple(roles.objects),
        object_bodies=object_bodies,
        object_geoms=tuple(object_geoms),
        object_boxes=tuple(
            _box(*_corners(model, data, b, geoms))
            for b, geoms in zip(object_bodies, object_geoms, strict=True)
        ),
        fixtures=frozenset(roles.fixtures),
        gripper=gripper,
        gripper_geoms=gripper_geoms,
        gripper_box=_gripper_box(model, data, gripper, gripper_geoms, joints, fingers),
        joint_addresses=tuple(int(model.jnt_qposadr[joint]) for joint in joints),
        actuators=tuple(
            _number(model.actuator, "actuator", name, model.nu) for name in roles.finger_actuators
        ),
    )


def _number(lookup: Lookup, kind: str, name: str, count: int) -> int:
    try:
        return lookup(name).id
    except KeyError:
        names = [lookup(index).name for index in range(count)]
        raise GroundingError(
            f"the model has no {kind} named {name!r}{near(name, names)}; "
            f"it has: {', '.join(repr(n) for n in names if n)}"
        ) from None


def _owned_by(model: MujocoModel, owners: Mapping[int, T], default: T) -> list[T]:
    """For each body, what its nearest ancestor (or itself) owns."""
    found: list[T] = []
    for body in range(model.nbody):  # parents come before their children
        inherited = found[int(model.body_parentid[body])] if body else default
        found.append(owners.get(body, inherited))
    return found


def _geom_entities(
    model: MujocoModel, roles: SceneRoles, body: Callable[[str], int]
) -> tuple[str, ...]:
    owners = {body(roles.robot): ROBOT} | {body(name): BASE for name in roles.base}
    for name, root in (*roles.fixtures.items(), *roles.objects.items()):
        if name in owners.values():
            raise GroundingError(f"the entity name {name!r} is reserved or given twice")
        owners[body(root)] = name
    by_body = _owned_by(model, owners, NOBODY)
    for name in roles.base_bodies:
        by_body[body(name)] = BASE
    of_geom = [by_body[int(b)] for b in model.geom_bodyid]
    for name, geom in roles.surroundings.items():
        of_geom[_number(model.geom, "geom", geom, model.ngeom)] = name
    return tuple(of_geom)


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


def _box(low: Array, high: Array) -> Box:
    center, half = ((low + high) / 2).tolist(), ((high - low) / 2).tolist()
    return Box((center[0], center[1], center[2]), (half[0], half[1], half[2]))


def _gripper_box(
    model: MujocoModel,
    data: MujocoData,
    gripper: int,
    geoms: Sequence[int],
    joints: Sequence[int],
    fingers: Sequence[Sequence[int]],
) -> Box:
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
    return _box(low, high)
