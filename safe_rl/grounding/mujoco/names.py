"""Who plays which part in a MuJoCo model, as data: names of bodies, joints, geoms and sites.

A body stands for its whole subtree, but for what belongs to another entity further down: a drawer
that is a fixture of its own is no part of the cabinet around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from safe_rl.grounding.arrays.scene import Half
from safe_rl.grounding.contact_rules import AllowedContacts


@dataclass(frozen=True)
class GripperNames:
    """The gripper.

    Attributes:
        body: its root body, whose frame is the gripper's frame. It must not be a mocap body, which
            has no velocity in MuJoCo; weld an ordinary body to that.
        fingers: root body of each finger.
        joints: joint of each finger; its reading is the distance from the closed position.
        actuators: position actuator of each finger.
    """

    body: str
    fingers: tuple[str, ...]
    joints: tuple[str, ...]
    actuators: tuple[str, ...]


@dataclass(frozen=True)
class MujocoObject:
    """One movable object.

    Attributes:
        body: its root body.
        properties: what it is, fields of ``ObjectRole`` such as ``{"receptacle": True}``.
    """

    body: str
    properties: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class JointRange:
    """A joint that opens something, or turns it on.

    Attributes:
        joint: its name.
        closed: its reading when closed; default: the lower end of its range.
        open: its reading when fully open; default: the upper end.
    """

    joint: str
    closed: float | None = None
    open: float | None = None


@dataclass(frozen=True)
class BodyBox:
    """A box fixed to a body, for models that have no site there.

    Attributes:
        body: the body.
        center: m, in the body's frame.
        half: m, half extents along the body's axes.
    """

    body: str
    center: tuple[float, float, float]
    half: Half


@dataclass(frozen=True)
class MujocoFixture:
    """Furniture, an appliance, the table, the floor.

    Attributes:
        kind: one of ``grounding.arrays.KINDS``; ``surroundings`` is touched but supports nothing.
        body: its root body, or ``None`` for geoms of the world.
        geoms: geoms that belong to it besides.
        joint: what opens it.
        moving: root body of what that joint moves; default: the joint's own body.
        interior: its inside: a site of type box, or a ``BodyBox``. It moves with its body.
        outlet: site at which liquid comes out.
        tap: the joint that turns the outlet on.
        tap_on: from this part of the tap's range on, liquid comes out.
        washes: the robot is washed while its gripper is below the running outlet.
        top: objects can be put on top of its body.
        slides_when_open: see ``FixtureRole``.
    """

    kind: str
    body: str | None = None
    geoms: tuple[str, ...] = ()
    joint: JointRange | None = None
    moving: str | None = None
    interior: str | BodyBox | None = None
    outlet: str | None = None
    tap: JointRange | None = None
    tap_on: float = 0.4
    washes: bool = False
    top: bool = True
    slides_when_open: bool = False


@dataclass(frozen=True)
class MujocoComponent:
    """A handle, button or knob: the part of a fixture that a skill acts on.

    Attributes:
        fixture: name of the fixture.
        skill: one of ``grounding.arrays.SKILLS``.
        body: its root body, or ``None`` where the geoms say it all.
        geoms: its geoms, by name.
    """

    fixture: str
    skill: str
    body: str | None = None
    geoms: tuple[str, ...] = ()


@dataclass(frozen=True)
class MujocoParticles:
    """Small bodies that stand for a liquid.

    Attributes:
        bodies: one body per particle.
        full: how many of them fill a container.
    """

    bodies: tuple[str, ...]
    full: int


@dataclass(frozen=True)
class MujocoRoles:
    """Everything that the grounding needs to be told about a model.

    Attributes:
        robot: root body of the robot.
        gripper: its gripper.
        objects: name in the propositions to the object, in the order of the propositions.
        fixtures: likewise.
        components: likewise.
        base: bodies of the robot's base, whose contacts are not considered.
        base_bodies: further bodies of the base, without their subtrees (a link that carries the
            rest of the arm).
        particles: liquid, where there is any.
        allowed: what the task lets touch what.
    """

    robot: str
    gripper: GripperNames
    objects: Mapping[str, MujocoObject]
    fixtures: Mapping[str, MujocoFixture]
    components: Mapping[str, MujocoComponent] = field(default_factory=dict)
    base: tuple[str, ...] = ()
    base_bodies: tuple[str, ...] = ()
    particles: MujocoParticles | None = None
    allowed: AllowedContacts = field(default_factory=lambda: AllowedContacts(frozenset()))
