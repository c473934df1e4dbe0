"""A MuJoCo simulation as frames for the array grounding.

MuJoCo itself is not imported here. Model and data are used as given, and the one function needed
from the library (the distance between two geoms) is passed in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.grounding.arrays.contacts import ForbiddenContacts
from safe_rl.grounding.arrays.scene import SceneArrays, SceneRoles
from safe_rl.grounding.arrays.vocabulary import vocabulary
from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.mujoco.bindings import GeomDistance, MujocoData, MujocoModel
from safe_rl.grounding.mujoco.boxes import FixedBox
from safe_rl.grounding.mujoco.contacts import Contact, ContactGatherer
from safe_rl.grounding.mujoco.entities import ResolvedJoint, resolve_entities
from safe_rl.grounding.mujoco.gaps import GripperGaps
from safe_rl.grounding.mujoco.liquid import Liquid
from safe_rl.grounding.mujoco.names import MujocoRoles
from safe_rl.grounding.settings import GroundingSettings

Floats = NDArray[np.floating]


class MujocoFrame(NamedTuple):
    """One control frame.

    Attributes:
        arrays: the facts; nobody changes them later.
        touching: the considered contacts of each set of touching geoms that was seen, for people.
    """

    arrays: SceneArrays
    touching: tuple[frozenset[Contact], ...]

    @property
    def contacts(self) -> frozenset[Contact]:
        """All considered contacts of the frame."""
        return frozenset().union(*self.touching)


class MujocoScene:
    """Frames of a MuJoCo simulation.

    Call ``begin_frame()`` before a control step, ``observe_contacts()`` after each physics substep
    and ``frame()`` at its end. A contact that lives in any of the substeps is seen.

    Attributes:
        roles: who is in the scene, for the array grounding.
        entities: who is who among the model's bodies and geoms.
    """

    def __init__(
        self,
        model: MujocoModel,
        data: MujocoData,
        names: MujocoRoles,
        geom_distance: GeomDistance,
        settings: GroundingSettings | None = None,
        propositions: Collection[str] | None = None,
    ) -> None:
        """Resolve ``names`` in ``model``; ``data`` must hold the kinematics of some posture.

        Args:
            model: ``mujoco.MjModel``.
            data: ``mujoco.MjData``.
            names: who is who.
            geom_distance: ``mj_geomDistance`` on this model and data.
            settings: the constants of the grounding.
            propositions: what will be grounded; gaps that none of it needs are not computed.
                Default: all.

        Raises:
            GroundingError: see ``resolve_entities``; for an unknown proposition.
        """
        self._data = data
        settings = settings or GroundingSettings()
        self.entities = who = resolve_entities(model, data, names)
        self.roles: SceneRoles = who.roles
        wanted = None if propositions is None else tuple(sorted(propositions))
        parts = vocabulary(self.roles, wanted).parts
        self._contacts = ContactGatherer(data, who, settings)
        self._gaps = GripperGaps(model, data, who, geom_distance, settings, parts)
        # A fixture moves with what carries its contents, else with its body.
        carriers = tuple(
            box if inside is None else inside
            for box, inside in zip(who.fixtures, who.interiors, strict=True)
        )
        boxes = (who.objects, carriers, who.fixtures, who.components)
        self._boxes = _Boxes(model, data, (who.gripper, *(box for some in boxes for box in some)))
        ends = np.cumsum([1, *map(len, boxes)]).tolist()
        self._slices = tuple(slice(*pair) for pair in zip(ends, ends[1:], strict=False))
        fixtures = tuple(names.fixtures.values())
        self._joints = _Joints(data, who.joints)
        self._taps = _Joints(data, who.taps)
        self._tap_on = np.asarray([f.tap_on for f in fixtures])
        self._has_tap = np.asarray([joint is not None for joint in who.taps], dtype=bool)
        self._has_outlet = np.asarray([site >= 0 for site in who.outlets], dtype=bool)
        self._sites = np.asarray([site for site in who.outlets if site >= 0], dtype=np.intp)
        self._washes = np.asarray([f.washes for f in fixtures], dtype=bool)
        self._fixture_half = np.asarray([f.half for f in self.roles.fixtures])
        self._receptacle = np.asarray([o.receptacle for o in self.roles.objects], dtype=bool)
        self._receptacles = self._receptacle.nonzero()[0]
        self._half = np.asarray([o.half for o in self.roles.objects]).reshape(-1, 3)
        self._liquid = Liquid(data, who, names.particles, settings)
        self._fingers = np.asarray(who.finger_joints, dtype=np.intp)
        self._actuators = np.asarray(who.finger_actuators, dtype=np.intp)

    def begin_frame(self) -> None:
        """Forget the contacts of the frame before."""
        self._contacts.begin_frame()

    def observe_contacts(self) -> None:
        """Take in the contacts of the substep that has just been simulated."""
        self._contacts.observe()

    def frame(self) -> MujocoFrame:
        """The facts about the frame that has just ended."""
        data = self._data
        touch, touching = self._contacts.gathered()
        place, turn, linear, angular, axes = self._boxes.motions()
        things, carriers, fixtures, components = self._slices
        gaps, component_gaps = self._gaps.measure()
        if touch.object_object[:, self._receptacles].any():
            touch.on_object[:] |= self._heaped(
                touch.on_object, touch.object_object, place[things], axes[things]
            )
        outlets, running, washed = self._water(place[0], place[fixtures])
        liquid, moving, spilled = self._liquid.amounts(place[things], axes[things], place[fixtures])
        arrays = SceneArrays(
            gripper_position=place[0],
            gripper_quaternion=turn[0],
            gripper_linear=linear[0],
            gripper_angular=angular[0],
            finger_joints=np.abs(data.qpos[self._fingers], dtype=np.float32),
            finger_targets=np.abs(data.ctrl[self._actuators], dtype=np.float32),
            object_positions=place[things],
            object_quaternions=turn[things],
            object_linear=linear[things],
            object_angular=angular[things],
            finger_contacts=touch.finger_contacts,
            opposed=touch.opposed,
            in_gripper_box=self._gaps.in_gripper_box(place[0], place[things], axes),
            gripper_gaps=gaps,
            robot_object=touch.robot_object,
            object_object=touch.object_object,
            object_fixture=touch.object_fixture,
            robot_fixture=touch.robot_fixture,
            on_object=touch.on_object,
            on_fixture=touch.on_fixture,
            fixture_positions=place[fixtures],
            fixture_linear=linear[carriers],
            interiors=place[carriers],
            joint_fractions=self._joints.fractions(),
            part_contacts=touch.part_contacts,
            component_positions=place[components],
            component_gaps=component_gaps,
            robot_component=touch.robot_component,
            liquid=liquid,
            liquid_moving=moving,
            liquid_spilled=spilled,
            dispensing=running,
            outlets=outlets,
            sanitising=washed,
        )
        return MujocoFrame(arrays, touching)

    def forbidden(self, frame: MujocoFrame, wrong: ForbiddenContacts) -> tuple[Contact, ...]:
        """The contacts of a frame that no rule allows, in a fixed order.

        Args:
            frame: the frame.
            wrong: what ``FrameGrounding.forbidden`` says about it.
        """
        roles = self.roles
        things = (*roles.object_names, *roles.fixture_names)
        parts = tuple(part.name for part in roles.components)
        fixture_of = {part.name: part.fixture for part in roles.components}
        touched = (*things, *parts)
        by_robot = np.concatenate([wrong.robot_object, wrong.robot_fixture, wrong.robot_component])
        pairs = {(ROBOT, touched[place]) for place in by_robot.nonzero()[0]}
        held = np.concatenate([wrong.object_object, wrong.object_fixture], axis=1)
        pairs |= {(things[i], things[j]) for i, j in zip(*held.nonzero(), strict=True)}
        found = []
        for contact in frame.contacts:
            one, other = contact.entities
            # What an object touches at a handle, it touches at the handle's fixture.
            other = other if one == ROBOT else fixture_of.get(other, other)
            if (one, other) in pairs or (other, one) in pairs:
                found.append(contact)
        return tuple(sorted(found))

    def _heaped(
        self,
        on_object: NDArray[np.bool_],
        touching: NDArray[np.bool_],
        place: Floats,
        axes: Floats,
    ) -> NDArray[np.bool_]:
        """What is inside a receptacle rests in it where it touches it, or other contents of it.

        The walls of a bowl carry what is wedged between them, though none of them is below it.
        """
        offset = place[:, None] - place[None]  # from the receptacle, by column, to the content
        local = np.einsum("ijk,jkl->ijl", offset, axes)
        inside = (np.abs(local) <= self._half[None]).all(axis=-1) & self._receptacle
        within = touching & inside & ~on_object.T
        rests: NDArray[np.bool_] = on_object | (within & ~within.T)
        for _ in range(len(place) - 1):
            further = rests | ((on_object @ rests) & inside)
            if (further == rests).all():
                break
            rests = further
        np.fill_diagonal(rests, False)
        return rests

    def _water(
        self, gripper: Floats, fixtures: Floats
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """The outlets ``[F, 3]``, which of them run ``[F]``, and whether the gripper is washed."""
        outlets = np.zeros((len(fixtures), 3), dtype=np.float32)
        running = np.zeros(len(fixtures), dtype=bool)
        if not self._has_outlet.any():
            return outlets, running, _DRY
        outlets[self._has_outlet] = self._data.site_xpos[self._sites]
        running = self._has_tap & (self._taps.fractions() >= self._tap_on) & self._has_outlet
        below = (np.abs(gripper[:2] - fixtures[:, :2]) <= self._fixture_half[:, :2]).all(axis=1)
        washed = self._washes & running & below & (gripper[2] < outlets[:, 2])
        return outlets, running, np.asarray(washed.any())


_DRY = np.asarray(False)


class _Boxes:
    """Boxes that move with bodies: their centres' places and motions."""

    def __init__(self, model: MujocoModel, data: MujocoData, boxes: tuple[FixedBox, ...]) -> None:
        self._data = data
        self._bodies = np.asarray([box.body for box in boxes], dtype=np.intp)
        self._roots = model.body_rootid[self._bodies]
        self._centers = np.asarray([box.center for box in boxes]).reshape(-1, 1, 3)

    def motions(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Places ``[N, 3]``, quaternions, velocities in m/s and rad/s, and axes ``[N, 3, 3]``.

        All in the world; the axes of each box are the columns.
        """
        data, bodies = self._data, self._bodies
        axes: Floats = data.xmat[bodies].reshape(-1, 3, 3)
        place = (data.xpos[bodies] + (axes * self._centers).sum(axis=-1)).astype(np.float32)
        spatial = data.cvel[bodies].astype(np.float32)
        # cvel is the velocity at the centre of mass of the body's tree: move it to the box.
        arm = place - data.subtree_com[self._roots].astype(np.float32)
        angular = spatial[:, :3]
        linear = spatial[:, 3:].copy()
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            linear[:, i] += angular[:, j] * arm[:, k] - angular[:, k] * arm[:, j]
        return place, data.xquat[bodies].astype(np.float32), linear, angular, axes


class _Joints:
    """How far each fixture's joint is from closed, 0, to open, 1; 0 where there is none."""

    def __init__(self, data: MujocoData, joints: tuple[ResolvedJoint | None, ...]) -> None:
        self._data = data
        there = [(i, joint) for i, joint in enumerate(joints) if joint is not None]
        self._places = np.asarray([i for i, _ in there], dtype=np.intp)
        self._addresses = np.asarray([joint.address for _, joint in there], dtype=np.intp)
        self._closed = np.asarray([joint.closed for _, joint in there])
        self._span = np.asarray([joint.open - joint.closed for _, joint in there])
        self._count = len(joints)

    def fractions(self) -> Floats:
        """``[F]``."""
        found = np.zeros(self._count, dtype=np.float32)
        if len(self._places):
            found[self._places] = (self._data.qpos[self._addresses] - self._closed) / self._span
        return found
