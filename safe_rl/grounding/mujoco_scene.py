"""Scene facts from a MuJoCo model and its data.

Geoms belong to entities by the body tree, never by the look of their names: an object's geoms are
those below its root body, whatever they are called. Every name given must exist and every geom that
can collide must belong to something, else ``GroundingError``: a finger that matches no geom would
otherwise mean that nothing is ever grasped.

MuJoCo itself is not imported here. Model and data are used as given, and the one function needed
from the library (the distance between two geoms) is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.geometry import Vector, boxes_overlap, difference, norm, rotate
from safe_rl.grounding.scene import STILL, BodyMotion, Contact, ObjectFacts, SceneFrame
from safe_rl.grounding.settings import GroundingSettings

_BASE, _FLOATING = "robot base", ""


class MujocoElement(Protocol):
    """A named element of a model."""

    id: int
    name: str


class MujocoModel(Protocol):
    """The parts of ``mujoco.MjModel`` that are read."""

    nbody: int
    ngeom: int
    nu: int
    body_parentid: np.ndarray
    body_rootid: np.ndarray
    geom_bodyid: np.ndarray
    geom_contype: np.ndarray
    geom_conaffinity: np.ndarray
    geom_aabb: np.ndarray
    geom_rbound: np.ndarray
    geom_pos: np.ndarray
    jnt_qposadr: np.ndarray
    jnt_range: np.ndarray

    def body(self, key: int | str) -> MujocoElement: ...
    def geom(self, key: int | str) -> MujocoElement: ...
    def joint(self, key: int | str) -> MujocoElement: ...
    def actuator(self, key: int | str) -> MujocoElement: ...


class MujocoData(Protocol):
    """The parts of ``mujoco.MjData`` that are read."""

    contact: Any
    ctrl: np.ndarray
    qpos: np.ndarray
    xpos: np.ndarray
    xquat: np.ndarray
    xmat: np.ndarray
    xaxis: np.ndarray
    cvel: np.ndarray
    subtree_com: np.ndarray
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray


GeomDistance = Callable[[int, int, float], float]
"""Signed distance in metres between two geoms, or the third argument where it is larger."""


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


class _Rows(NamedTuple):
    """One set of touching geoms, sorted out once: rows index MuJoCo's contact list."""

    contacts: frozenset[Contact]
    touched: frozenset[int]  # objects touched by the robot
    fingers: frozenset[tuple[int, int]]  # (object, finger)
    # (object, finger, row, sign): sign turns the contact normal from the finger to the object
    grips: tuple[tuple[int, int, int, float], ...]
    # (object, supporting entity, row, sign): sign turns the normal from the support to the object
    supports: tuple[tuple[int, str, int, float], ...]


def _resolve(lookup: Callable[[int | str], MujocoElement], kind: str, name: str, known: int) -> int:
    try:
        return lookup(name).id
    except KeyError:
        names = [lookup(index).name for index in range(known)]
        raise GroundingError(
            f"the model has no {kind} named {name!r}{near(name, names)}; "
            f"its {kind}s: {', '.join(repr(n) for n in names if n)}"
        ) from None


class MujocoScene:
    """A MuJoCo simulation as a ``Scene``.

    Call ``begin_frame()`` before a control step, ``observe_contacts()`` after each physics substep
    and ``frame()`` at its end. A contact that lives in any of the substeps is seen.
    """

    def __init__(
        self,
        model: MujocoModel,
        data: MujocoData,
        roles: SceneRoles,
        geom_distance: GeomDistance,
        settings: GroundingSettings | None = None,
    ) -> None:
        """Resolve ``roles`` in ``model``.

        Raises:
            GroundingError: for a name that the model lacks, an object or finger without a geom that
                can collide, or such a geom that belongs to nothing.
        """
        self._model, self._data, self._distance = model, data, geom_distance
        self._settings = settings or GroundingSettings()
        self._object_names = tuple(roles.objects)
        self._fixtures = frozenset(roles.fixtures)
        self._resolve_entities(roles)
        self._resolve_gripper(roles)
        self._object_bodies = [self._body(body) for body in roles.objects.values()]
        self._object_geoms = [self._geoms_of(name) for name in roles.objects]
        self._object_boxes = [
            self._box(body, geoms)
            for body, geoms in zip(self._object_bodies, self._object_geoms, strict=True)
        ]
        self._moving = {
            name: body for name, body in zip(self.objects, self._object_bodies, strict=True)
        }
        # The same few sets of touching geoms come back again and again.
        self._sorted: dict[bytes, _Rows] = {}
        self.begin_frame()

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that can be grasped."""
        return self._object_names

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of everything that a geom can belong to."""
        return tuple(dict.fromkeys(name for name in self._entity if name not in (_BASE, _FLOATING)))

    def _body(self, name: str) -> int:
        return _resolve(self._model.body, "body", name, self._model.nbody)

    def _resolve_entities(self, roles: SceneRoles) -> None:
        model = self._model
        owners: dict[int, str] = {self._body(roles.robot): ROBOT}
        owners |= {self._body(name): _BASE for name in roles.base}
        for group in (roles.fixtures, roles.objects):
            for name, body in group.items():
                if name in (ROBOT, _BASE) or name in owners.values():
                    raise GroundingError(f"entity name {name!r} is taken or given twice")
                owners[self._body(body)] = name
        fingers = {self._body(name): index for index, name in enumerate(roles.fingers)}
        by_body, finger_by_body = [_FLOATING] * model.nbody, [-1] * model.nbody
        for body in range(model.nbody):  # parents come before their children
            parent = int(model.body_parentid[body])
            by_body[body] = owners.get(body, by_body[parent] if body else _FLOATING)
            finger_by_body[body] = fingers.get(body, finger_by_body[parent] if body else -1)
        for name in roles.base_bodies:
            by_body[self._body(name)] = _BASE
        self._entity = [by_body[int(body)] for body in model.geom_bodyid]
        self._finger = [finger_by_body[int(body)] for body in model.geom_bodyid]
        for name, geom in roles.surroundings.items():
            self._entity[_resolve(model.geom, "geom", geom, model.ngeom)] = name
        self._collides = [
            bool(model.geom_contype[g] or model.geom_conaffinity[g]) for g in range(model.ngeom)
        ]
        # A geom without a name still has one here, or two of them would look like one contact.
        self._geom_names = [model.geom(g).name or f"geom {g}" for g in range(model.ngeom)]
        strays = [
            self._geom_names[g]
            for g in range(model.ngeom)
            if self._collides[g] and self._entity[g] == _FLOATING
        ]
        if strays:
            raise GroundingError(
                f"geoms that can collide but belong to no entity: {', '.join(map(repr, strays))}; "
                "give their body a role (robot, object, fixture) or list them as surroundings"
            )

    def _geoms_of(self, entity: str) -> list[int]:
        found = [g for g, e in enumerate(self._entity) if e == entity and self._collides[g]]
        if not found:
            raise GroundingError(f"{entity!r} has no geom that can collide, so nothing touches it")
        return found

    def _resolve_gripper(self, roles: SceneRoles) -> None:
        model, data = self._model, self._data
        self._gripper = self._body(roles.gripper)
        for index, name in enumerate(roles.fingers):
            if not any(f == index and c for f, c in zip(self._finger, self._collides, strict=True)):
                raise GroundingError(f"finger {name!r} has no geom that can collide")
        below = [False] * model.nbody
        for body in range(model.nbody):
            below[body] = body == self._gripper or (
                body > 0 and below[int(model.body_parentid[body])]
            )
        self._gripper_geoms = [
            g
            for g in range(model.ngeom)
            if below[int(model.geom_bodyid[g])] and self._collides[g]
        ]
        joints = [
            _resolve(model.joint, "joint", name, len(model.jnt_qposadr))
            for name in roles.finger_joints
        ]
        self._joint_addresses = [int(model.jnt_qposadr[joint]) for joint in joints]
        self._actuators = [
            _resolve(model.actuator, "actuator", name, model.nu) for name in roles.finger_actuators
        ]
        # The gripper's box covers its fingers wherever their joints may be: a box that shrank with
        # them would call an object gone that merely sits beside a closed gripper.
        low, high = self._corners(self._gripper, self._gripper_geoms)
        frame = data.xmat[self._gripper].reshape(3, 3)
        for index, joint in enumerate(joints):
            geoms = [g for g in self._gripper_geoms if self._finger[g] == index]
            finger_low, finger_high = self._corners(self._gripper, geoms)
            axis = frame.T @ data.xaxis[joint]
            for end in model.jnt_range[joint]:
                shift = axis * (end - data.qpos[self._joint_addresses[index]])
                low = np.minimum(low, finger_low + shift)
                high = np.maximum(high, finger_high + shift)
        self._gripper_box = _center_and_half(low, high)

    def _corners(self, body: int, geoms: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner, in ``body``'s frame, of the geoms' own bounding boxes."""
        data = self._data
        frame, origin = data.xmat[body].reshape(3, 3), data.xpos[body]
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = []
        for g in geoms:
            box = self._model.geom_aabb[g]
            local = box[:3] + signs * box[3:]
            world = data.geom_xpos[g] + local @ data.geom_xmat[g].reshape(3, 3).T
            points.append((world - origin) @ frame)
        stacked = np.concatenate(points)
        return stacked.min(axis=0), stacked.max(axis=0)

    def _box(self, body: int, geoms: Sequence[int]) -> tuple[Vector, Vector]:
        return _center_and_half(*self._corners(body, geoms))

    # --- contacts -------------------------------------------------------------------------------

    def begin_frame(self) -> None:
        """Forget the contacts of the frame before."""
        self._seen: dict[bytes, _Rows] = {}
        self._last_key: bytes | None = None
        self._opposed: set[int] = set()
        self._supports: set[tuple[int, str]] = set()

    def observe_contacts(self) -> None:
        """Take in the contacts of the substep that has just been simulated."""
        geoms = self._data.contact.geom
        key = geoms.tobytes()
        if key == self._last_key or key in self._seen:
            self._last_key = key
            return
        self._last_key = key
        rows = self._sorted.get(key)
        if rows is None:
            if len(self._sorted) >= 4096:  # bounds the memory of a very long run
                self._sorted.clear()
            rows = self._sorted[key] = self._sort(geoms.tolist())
        self._seen[key] = rows
        self._read_normals(rows)

    def _sort(self, pairs: list[list[int]]) -> _Rows:
        contacts, touched, fingers, grips, supports = set(), set(), set(), [], []
        number = {name: index for index, name in enumerate(self.objects)}
        for row, pair in enumerate(pairs):
            for (one, other), sign in ((pair, 1.0), (pair[::-1], -1.0)):
                # The contact normal points from the pair's first geom to its second.
                mine, theirs = self._entity[one], self._entity[other]
                if theirs not in number:
                    continue
                index = number[theirs]
                if mine == ROBOT:
                    touched.add(index)
                    if self._finger[one] >= 0:
                        fingers.add((index, self._finger[one]))
                        grips.append((index, self._finger[one], row, sign))
                elif mine in self._fixtures or (mine in number and mine != theirs):
                    supports.append((index, mine, row, sign))
            contact = self._contact(*pair)
            if contact is not None:
                contacts.add(contact)
        return _Rows(
            frozenset(contacts), frozenset(touched), frozenset(fingers), tuple(grips),
            tuple(supports),
        )  # fmt: skip

    def _contact(self, one: int, other: int) -> Contact | None:
        """The considered contact of two geoms: the robot's, or else an object's."""
        a, b = self._entity[one], self._entity[other]
        if b == ROBOT or (a != ROBOT and b in self.objects and a not in self.objects):
            one, other, a, b = other, one, b, a
        if a == b or _BASE in (a, b) or (a != ROBOT and a not in self.objects):
            return None
        if a in self.objects and b in self.objects and a > b:
            one, other, a, b = other, one, b, a
        return Contact((self._geom_names[one], self._geom_names[other]), (a, b))

    def _read_normals(self, rows: _Rows) -> None:
        if not rows.grips and not rows.supports:
            return
        frames = self._data.contact.frame
        for index, entity, row, sign in rows.supports:
            if sign * frames[row][2] >= self._settings.support_cosine:
                self._supports.add((index, entity))
        grips = rows.grips
        for position, (index, finger, row, sign) in enumerate(grips):
            if index in self._opposed:
                continue
            for index2, finger2, row2, sign2 in grips[position + 1 :]:
                if index2 != index or finger2 == finger:
                    continue
                cosine = float(frames[row][:3] @ frames[row2][:3]) * sign * sign2
                if cosine <= self._settings.opposing_cosine:
                    self._opposed.add(index)
                    break

    # --- facts ----------------------------------------------------------------------------------

    def frame(self) -> SceneFrame:
        """The facts about the frame that has just ended."""
        if self._last_key is not None:  # normals move while the set of contacts stays the same
            self._read_normals(self._seen[self._last_key])
        sets = tuple(self._seen.values())
        contacts = frozenset().union(*(rows.contacts for rows in sets))
        touched = frozenset().union(*(rows.touched for rows in sets))
        fingers = frozenset().union(*(rows.fingers for rows in sets))
        gripper = self._motion(self._gripper)
        objects = tuple(
            self._facts(index, gripper, index in touched, sum(i == index for i, _ in fingers))
            for index in range(len(self._object_names))
        )
        qpos, ctrl = self._data.qpos, self._data.ctrl
        joints = tuple(abs(float(qpos[address])) for address in self._joint_addresses)
        targets = tuple(abs(float(ctrl[actuator])) for actuator in self._actuators)
        return SceneFrame(gripper, joints, targets, objects, contacts)

    def _motion(self, body: int) -> BodyMotion:
        data = self._data
        position = tuple(data.xpos[body].tolist())
        wx, wy, wz, vx, vy, vz = data.cvel[body].tolist()
        cx, cy, cz = data.subtree_com[self._model.body_rootid[body]].tolist()
        # cvel is the velocity at the centre of mass of the body's tree: move it to the body.
        x, y, z = position[0] - cx, position[1] - cy, position[2] - cz
        linear = (vx + wy * z - wz * y, vy + wz * x - wx * z, vz + wx * y - wy * x)
        return BodyMotion(position, tuple(data.xquat[body].tolist()), linear, (wx, wy, wz))

    def _facts(self, index: int, gripper: BodyMotion, touched: bool, fingers: int) -> ObjectFacts:
        motion = self._motion(self._object_bodies[index])
        # A fixture before an object: what stands on the table and leans on a block is at rest when
        # it does not move against the table.
        support = min(
            (entity for i, entity in self._supports if i == index),
            key=lambda entity: (entity not in self._fixtures, entity),
            default=None,
        )
        carrier = self._moving.get(support) if support is not None else None
        return ObjectFacts(
            motion=motion,
            fingers=fingers,
            opposed=index in self._opposed,
            touched=touched,
            support=support,
            support_motion=STILL if carrier is None else self._motion(carrier),
            in_gripper_box=self._in_gripper_box(index, gripper, motion),
            cleared=fingers == 0 and self._cleared(index),
        )

    def _in_gripper_box(self, index: int, gripper: BodyMotion, motion: BodyMotion) -> bool:
        center, half = self._object_boxes[index]
        offset = rotate(motion.quaternion, center)
        middle = _plus(motion.position, offset)
        own_center, own_half = self._gripper_box
        own_middle = _plus(gripper.position, rotate(gripper.quaternion, own_center))
        if norm(difference(middle, own_middle)) > norm(half) + norm(own_half):
            return False
        xmat = self._data.xmat
        return boxes_overlap(
            own_middle,
            tuple(xmat[self._gripper].tolist()),
            own_half,
            middle,
            tuple(xmat[self._object_bodies[index]].tolist()),
            half,
        )

    def _cleared(self, index: int) -> bool:
        """Whether every gripper geom is further from the object than the clearance."""
        clearance = self._settings.gripper_clearance
        positions, bounds = self._data.geom_xpos, self._model.geom_rbound
        for mine in self._object_geoms[index]:
            here = tuple(positions[mine].tolist())
            for other in self._gripper_geoms:
                gap = norm(difference(here, tuple(positions[other].tolist())))
                if gap - bounds[mine] - bounds[other] > clearance:
                    continue
                if self._distance(mine, other, 2.0 * clearance) <= clearance:
                    return False
        return True


def _plus(u: Vector, v: Vector) -> Vector:
    return (u[0] + v[0], u[1] + v[1], u[2] + v[2])


def _center_and_half(low: np.ndarray, high: np.ndarray) -> tuple[Vector, Vector]:
    return tuple(((low + high) / 2).tolist()), tuple(((high - low) / 2).tolist())
