"""Scene facts from a MuJoCo simulation: contacts over all substeps, motions, boxes, gaps.

MuJoCo itself is not imported here. Model and data are used as given, and the one function needed
from the library (the distance between two geoms) is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.geometry import (
    PosedBox,
    Vector,
    boxes_gap,
    boxes_overlap,
    difference,
    norm,
    rotate,
)
from safe_rl.grounding.mujoco_entities import (
    BASE,
    MujocoData,
    MujocoModel,
    SceneRoles,
    resolve_entities,
)
from safe_rl.grounding.scene import STILL, BodyMotion, Contact, ObjectFacts, SceneFrame
from safe_rl.grounding.settings import GroundingSettings

GeomDistance = Callable[[int, int, float], float]
"""Signed distance in metres between two geoms, or the third argument where it is larger."""

_REMEMBERED_SETS = 4096


class _Touching(NamedTuple):
    """One set of touching geoms, sorted out once: rows index MuJoCo's contact list."""

    contacts: frozenset[Contact]
    touched: frozenset[int]  # objects touched by the robot
    fingers: frozenset[tuple[int, int]]  # (object, finger)
    # (object, finger, row, sign): sign turns the contact normal from the finger to the object
    grips: tuple[tuple[int, int, int, float], ...]
    # (object, supporting entity, row, sign): sign turns the normal from the support to the object
    supports: tuple[tuple[int, str, int, float], ...]


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
        """Resolve ``roles`` in ``model``, as ``resolve_entities`` does.

        Raises:
            GroundingError: see ``resolve_entities``.
        """
        self._model, self._data, self._distance = model, data, geom_distance
        self._settings = settings or GroundingSettings()
        self._who = resolve_entities(model, data, roles)
        self._number = {name: index for index, name in enumerate(self._who.objects)}
        # The same few sets of touching geoms come back again and again.
        self._sorted: dict[bytes, _Touching] = {}
        self.begin_frame()

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that can be grasped."""
        return self._who.objects

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of everything that a geom can belong to, the robot's base apart."""
        return self._who.names

    # --- contacts -------------------------------------------------------------------------------

    def begin_frame(self) -> None:
        """Forget the contacts of the frame before."""
        self._seen: dict[bytes, _Touching] = {}
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
            if len(self._sorted) >= _REMEMBERED_SETS:  # bounds the memory of a very long run
                self._sorted.clear()
            rows = self._sorted[key] = self._sort(geoms.tolist())
        self._seen[key] = rows
        self._read_normals(rows)

    def _sort(self, pairs: list[list[int]]) -> _Touching:
        contacts: set[Contact] = set()
        touched: set[int] = set()
        fingers: set[tuple[int, int]] = set()
        grips: list[tuple[int, int, int, float]] = []
        supports: list[tuple[int, str, int, float]] = []
        who, number = self._who, self._number
        for row, pair in enumerate(pairs):
            for (one, other), sign in ((pair, 1.0), (pair[::-1], -1.0)):
                # The contact normal points from the pair's first geom to its second.
                mine, theirs = self._who.of_geom[one], self._who.of_geom[other]
                if theirs not in number:
                    continue
                index = number[theirs]
                if mine == ROBOT:
                    touched.add(index)
                    if who.finger_of_geom[one] >= 0:
                        fingers.add((index, who.finger_of_geom[one]))
                        grips.append((index, who.finger_of_geom[one], row, sign))
                elif mine in who.fixtures or (mine in number and mine != theirs):
                    supports.append((index, mine, row, sign))
            contact = self._contact(*pair)
            if contact is not None:
                contacts.add(contact)
        return _Touching(
            frozenset(contacts), frozenset(touched), frozenset(fingers), tuple(grips),
            tuple(supports),
        )  # fmt: skip

    def _contact(self, one: int, other: int) -> Contact | None:
        """The considered contact of two geoms: the robot's, or else an object's."""
        a, b = self._who.of_geom[one], self._who.of_geom[other]
        if b == ROBOT or (a != ROBOT and b in self._number and a not in self._number):
            one, other, a, b = other, one, b, a
        if a == b or BASE in (a, b) or (a != ROBOT and a not in self._number):
            return None
        if a in self._number and b in self._number and a > b:
            one, other, a, b = other, one, b, a
        return Contact((self._who.geom_names[one], self._who.geom_names[other]), (a, b))

    def _read_normals(self, rows: _Touching) -> None:
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
        gripper = self._motion(self._who.gripper)
        objects = tuple(
            self._facts(index, gripper, index in touched, sum(i == index for i, _ in fingers))
            for index in range(len(self._who.objects))
        )
        qpos, ctrl = self._data.qpos, self._data.ctrl
        joints = tuple(abs(float(qpos[address])) for address in self._who.joint_addresses)
        targets = tuple(abs(float(ctrl[actuator])) for actuator in self._who.actuators)
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
        motion = self._motion(self._who.object_bodies[index])
        # A fixture before an object: what stands on the table and leans on a block is at rest when
        # it does not move against the table.
        support = min(
            (entity for i, entity in self._supports if i == index),
            key=lambda entity: (entity not in self._who.fixtures, entity),
            default=None,
        )
        carrier = None if support is None else self._number.get(support)
        carried = STILL if carrier is None else self._motion(self._who.object_bodies[carrier])
        return ObjectFacts(
            motion=motion,
            fingers=fingers,
            opposed=index in self._opposed,
            touched=touched,
            support=support,
            support_motion=carried,
            in_gripper_box=self._in_gripper_box(index, gripper, motion),
            cleared=fingers == 0 and self._cleared(index),
        )

    def _in_gripper_box(self, index: int, gripper: BodyMotion, motion: BodyMotion) -> bool:
        mine, other = self._who.object_boxes[index], self._who.gripper_box
        here = _plus(motion.position, rotate(motion.quaternion, mine.center))
        there = _plus(gripper.position, rotate(gripper.quaternion, other.center))
        if norm(difference(here, there)) > norm(mine.half) + norm(other.half):
            return False
        xmat = self._data.xmat
        my_axes = tuple(xmat[self._who.object_bodies[index]].tolist())
        other_axes = tuple(xmat[self._who.gripper].tolist())
        return boxes_overlap(
            PosedBox(here, my_axes, mine.half), PosedBox(there, other_axes, other.half)
        )

    def _cleared(self, index: int) -> bool:
        """Whether every gripper geom is further from the object than the clearance."""
        clearance = self._settings.gripper_clearance
        positions, bounds = self._data.geom_xpos, self._model.geom_rbound
        for mine in self._who.object_geoms[index]:
            here = tuple(positions[mine].tolist())
            for other in self._who.gripper_geoms:
                apart = norm(difference(here, tuple(positions[other].tolist())))
                if apart - bounds[mine] - bounds[other] > clearance:
                    continue
                gap = self._distance(mine, other, 2.0 * clearance)
                if gap == 0.0:
                    # MuJoCo (3.9) answers exactly zero for some pairs that are well apart, when
                    # their edges line up. The gap of their boxes is never larger than the true one.
                    gap = boxes_gap(self._geom_box(mine), self._geom_box(other))
                if gap <= clearance:
                    return False
        return True

    def _geom_box(self, geom: int) -> PosedBox:
        box, axes = self._model.geom_aabb[geom], self._data.geom_xmat[geom]
        center = self._data.geom_xpos[geom] + axes.reshape(3, 3) @ box[:3]
        return PosedBox(tuple(center.tolist()), tuple(axes.tolist()), tuple(box[3:].tolist()))


def _plus(u: Vector, v: Vector) -> Vector:
    return (u[0] + v[0], u[1] + v[1], u[2] + v[2])
