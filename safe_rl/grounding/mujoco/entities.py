"""Names resolved in a model: every geom's entity, boxes, joints, and the roles for the grounding.

Geoms belong to entities by the body tree, never by the look of their names: an object's geoms are
those below its root body, whatever they are called. Every name given must exist and every geom that
can collide must belong to something, else ``GroundingError``: a finger that matches no geom would
otherwise mean that nothing is ever grasped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import NamedTuple, TypeVar

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.arrays.scene import (
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneRoles,
)
from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.mujoco.bindings import Lookup, MujocoData, MujocoModel
from safe_rl.grounding.mujoco.boxes import (
    FixedBox,
    box_around,
    gripper_box,
    site_box,
    world_half,
)
from safe_rl.grounding.mujoco.names import BodyBox, JointRange, MujocoFixture, MujocoRoles

T = TypeVar("T")
PROPERTIES = frozenset(f.name for f in fields(ObjectRole)) - {"name", "half"}


class Part(IntEnum):
    """What a geom can be part of."""

    NOBODY = 0
    ROBOT = 1
    BASE = 2
    OBJECT = 3
    FIXTURE = 4
    PARTICLE = 5


class GeomOwner(NamedTuple):
    """To whom one geom belongs.

    Attributes:
        part: to what.
        place: which object or fixture, in the order of the roles.
        component: which component, or -1.
        moving: whether the joint of its fixture moves it.
        finger: which finger, or -1.
    """

    part: Part
    place: int = -1
    component: int = -1
    moving: bool = False
    finger: int = -1


@dataclass(frozen=True)
class ResolvedJoint:
    """Place in ``qpos``, and the readings when closed and open."""

    address: int
    closed: float
    open: float


@dataclass(frozen=True)
class MujocoEntities:
    """The roles, resolved to MuJoCo's numbers.

    Attributes:
        roles: who is in the scene, for the grounding.
        owners: of each geom.
        geom_names: name of each geom; a number where it has none.
        object_geoms: the geoms of each object that can collide.
        component_geoms: likewise of each component.
        gripper_geoms: likewise of the gripper.
        objects: the box around each object, in its root body's frame.
        fixtures: the box around each fixture, without its components, and without what its joint
            moves where there is more.
        components: the box around each component.
        gripper: the box around the gripper, wherever the finger joints are.
        interiors: the inside of each fixture, or ``None``.
        joints: what opens each fixture, or ``None``.
        taps: what turns the outlet of each fixture on, or ``None``.
        outlets: site of each fixture's outlet, or -1.
        finger_joints: place of each finger joint in ``qpos``.
        finger_actuators: actuator of each finger.
        particles: body of each particle.
    """

    roles: SceneRoles
    owners: tuple[GeomOwner, ...]
    geom_names: tuple[str, ...]
    object_geoms: tuple[tuple[int, ...], ...]
    component_geoms: tuple[tuple[int, ...], ...]
    gripper_geoms: tuple[int, ...]
    objects: tuple[FixedBox, ...]
    fixtures: tuple[FixedBox, ...]
    components: tuple[FixedBox, ...]
    gripper: FixedBox
    interiors: tuple[FixedBox | None, ...]
    joints: tuple[ResolvedJoint | None, ...]
    taps: tuple[ResolvedJoint | None, ...]
    outlets: tuple[int, ...]
    finger_joints: tuple[int, ...]
    finger_actuators: tuple[int, ...]
    particles: tuple[int, ...]


def resolve_entities(model: MujocoModel, data: MujocoData, names: MujocoRoles) -> MujocoEntities:
    """Resolve ``names`` in ``model``; ``data`` must hold the kinematics of some posture.

    Half extents along the world's axes (fixtures, interiors, components) are those of that posture.

    Raises:
        GroundingError: for a name that the model lacks or that is given twice, an entity or finger
            without a geom that can collide, or such a geom that belongs to nothing.
    """
    find = _Finder(model)
    hand_names = names.gripper
    if not len(hand_names.fingers) == len(hand_names.joints) == len(hand_names.actuators) == 2:
        raise GroundingError(
            "a gripper has two fingers, each with a joint and an actuator; got "
            f"{len(hand_names.fingers)} fingers, {len(hand_names.joints)} joints and "
            f"{len(hand_names.actuators)} actuators"
        )
    owners = _owners(model, names, find)
    collides = ((model.geom_contype != 0) | (model.geom_conaffinity != 0)).tolist()
    # A geom without a name still has one here, or two of them would look like one contact.
    geom_names = tuple(model.geom(g).name or f"geom {g}" for g in range(model.ngeom))
    strays = [
        name
        for name, owner, can in zip(geom_names, owners, collides, strict=True)
        if can and owner.part == Part.NOBODY
    ]
    if strays:
        raise GroundingError(
            f"geoms that can collide but belong to no entity: {', '.join(map(repr, strays))}; "
            "give their body a role (robot, object, fixture), or list them as the geoms of a "
            "fixture of kind 'surroundings'"
        )

    groups: dict[tuple[str, int], list[int]] = {}
    for g, owner in enumerate(owners):
        if collides[g]:
            for group in _groups(owner):
                groups.setdefault(group, []).append(g)

    def solid(kind: str, given: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        for number, name in enumerate(given):
            if (kind, number) not in groups:
                raise GroundingError(
                    f"{kind} {name!r} has no geom that can collide, so nothing touches it"
                )
        return tuple(tuple(groups[kind, number]) for number, _ in enumerate(given))

    object_geoms = solid("object", names.objects)
    fixture_geoms = solid("fixture", names.fixtures)
    component_geoms = solid("component", names.components)
    finger_geoms = solid("finger", names.gripper.fingers)
    objects = tuple(
        box_around(model, data, find.body(o.body), geoms)
        for o, geoms in zip(names.objects.values(), object_geoms, strict=True)
    )
    fixtures = []
    for fixture, every in zip(names.fixtures.values(), fixture_geoms, strict=True):
        root = int(model.geom_bodyid[every[0]]) if fixture.body is None else find.body(fixture.body)
        fixed = [g for g in every if not owners[g].moving and owners[g].component < 0]
        fixed = fixed or [g for g in every if owners[g].component < 0]
        fixtures.append(box_around(model, data, root, fixed or every))
    components = tuple(
        box_around(model, data, int(model.geom_bodyid[geoms[0]]), geoms)
        for geoms in component_geoms
    )
    interiors = tuple(_interior(f.interior, find) for f in names.fixtures.values())
    hand = find.body(names.gripper.body)
    below = _inherited(model, {hand: True}, False)
    gripper_geoms = tuple(
        g for g in range(model.ngeom) if collides[g] and below[int(model.geom_bodyid[g])]
    )
    finger_joints = [find.joint(name) for name in names.gripper.joints]
    gripper = gripper_box(model, data, hand, gripper_geoms, finger_joints, finger_geoms)
    return MujocoEntities(
        roles=_scene_roles(data, names, objects, fixtures, components, interiors, gripper),
        owners=owners,
        geom_names=geom_names,
        object_geoms=object_geoms,
        component_geoms=component_geoms,
        gripper_geoms=gripper_geoms,
        objects=objects,
        fixtures=tuple(fixtures),
        components=components,
        gripper=gripper,
        interiors=interiors,
        joints=tuple(_joint(f.joint, find) for f in names.fixtures.values()),
        taps=tuple(_joint(f.tap, find) for f in names.fixtures.values()),
        outlets=tuple(
            -1 if f.outlet is None else find.site(f.outlet) for f in names.fixtures.values()
        ),
        finger_joints=tuple(int(model.jnt_qposadr[joint]) for joint in finger_joints),
        finger_actuators=tuple(find.actuator(name) for name in names.gripper.actuators),
        particles=tuple(
            find.body(name) for name in (names.particles.bodies if names.particles else ())
        ),
    )


def _groups(owner: GeomOwner) -> Iterator[tuple[str, int]]:
    if owner.part in (Part.OBJECT, Part.FIXTURE):
        yield owner.part.name.lower(), owner.place
    if owner.component >= 0:
        yield "component", owner.component
    if owner.finger >= 0:
        yield "finger", owner.finger


class _Finder:
    """Numbers of named elements, or an error that names the nearest."""

    def __init__(self, model: MujocoModel) -> None:
        self.model = model

    def body(self, name: str) -> int:
        return self._number(self.model.body, "body", name, self.model.nbody)

    def geom(self, name: str) -> int:
        return self._number(self.model.geom, "geom", name, self.model.ngeom)

    def joint(self, name: str) -> int:
        return self._number(self.model.joint, "joint", name, self.model.njnt)

    def site(self, name: str) -> int:
        return self._number(self.model.site, "site", name, self.model.nsite)

    def actuator(self, name: str) -> int:
        return self._number(self.model.actuator, "actuator", name, self.model.nu)

    def _number(self, lookup: Lookup, kind: str, name: str, count: int) -> int:
        try:
            return lookup(name).id
        except KeyError:
            known = [lookup(index).name for index in range(count)]
            raise GroundingError(
                f"the model has no {kind} named {name!r}{near(name, known)}; "
                f"it has: {', '.join(repr(n) for n in known if n)}"
            ) from None


def _inherited(model: MujocoModel, owners: Mapping[int, T], default: T) -> list[T]:
    """For each body, what its nearest ancestor (or itself) owns."""
    found: list[T] = []
    for body in range(model.nbody):  # parents come before their children
        inherited = found[int(model.body_parentid[body])] if body else default
        found.append(owners.get(body, inherited))
    return found


def _owners(model: MujocoModel, names: MujocoRoles, find: _Finder) -> tuple[GeomOwner, ...]:
    by_body: dict[int, GeomOwner] = {}

    def own(bodies: Iterable[str], owner: GeomOwner) -> None:
        for body in bodies:
            by_body[find.body(body)] = owner

    own([names.robot], GeomOwner(Part.ROBOT))
    own(names.base, GeomOwner(Part.BASE))
    for name in (*names.objects, *names.fixtures, *names.components):
        if name == ROBOT:
            raise GroundingError(f"the entity name {name!r} is reserved for the robot")
    for index, fixture in enumerate(names.fixtures.values()):
        own([fixture.body] if fixture.body else [], GeomOwner(Part.FIXTURE, index))
    for index, object_ in enumerate(names.objects.values()):
        own([object_.body], GeomOwner(Part.OBJECT, index))
    own(names.particles.bodies if names.particles else (), GeomOwner(Part.PARTICLE))
    of_body = _inherited(model, by_body, GeomOwner(Part.NOBODY))
    for name in names.base_bodies:
        of_body[find.body(name)] = GeomOwner(Part.BASE)
    owners = [of_body[int(b)] for b in model.geom_bodyid]
    fixture_names = list(names.fixtures)
    for index, fixture in enumerate(names.fixtures.values()):
        for name in fixture.geoms:
            owners[find.geom(name)] = GeomOwner(Part.FIXTURE, index)
    for number, (name, part) in enumerate(names.components.items()):
        if part.fixture not in fixture_names:
            raise GroundingError(
                f"component {name!r} is of {part.fixture!r}, which is no fixture"
                f"{near(part.fixture, fixture_names)}"
            )
        mine = set(map(find.geom, part.geoms))
        if part.body is not None:
            below = _inherited(model, {find.body(part.body): True}, False)
            mine |= {g for g in range(model.ngeom) if below[int(model.geom_bodyid[g])]}
        for g in mine:
            owners[g] = GeomOwner(Part.FIXTURE, fixture_names.index(part.fixture), number)
    for index, fixture in enumerate(names.fixtures.values()):
        if fixture.joint is not None:
            body = int(model.jnt_bodyid[find.joint(fixture.joint.joint)])
            moving = body if fixture.moving is None else find.body(fixture.moving)
            below = _inherited(model, {moving: True}, False)
            for g, owner in enumerate(owners):
                mine_too = owner.part == Part.FIXTURE and owner.place == index
                if mine_too and below[int(model.geom_bodyid[g])]:
                    owners[g] = owner._replace(moving=True)
    fingers = {find.body(name): index for index, name in enumerate(names.gripper.fingers)}
    finger = _inherited(model, fingers, -1)
    return tuple(
        owner._replace(finger=finger[int(b)]) if owner.part == Part.ROBOT else owner
        for owner, b in zip(owners, model.geom_bodyid, strict=True)
    )


def _scene_roles(
    data: MujocoData,
    names: MujocoRoles,
    objects: Sequence[FixedBox],
    fixtures: Sequence[FixedBox],
    components: Sequence[FixedBox],
    interiors: Sequence[FixedBox | None],
    gripper: FixedBox,
) -> SceneRoles:
    object_roles = []
    for (name, object_), box in zip(names.objects.items(), objects, strict=True):
        for key in object_.properties:
            if key not in PROPERTIES:
                raise GroundingError(
                    f"object {name!r} has the unknown property {key!r}{near(key, PROPERTIES)}; "
                    f"known: {', '.join(sorted(PROPERTIES))}"
                )
        object_roles.append(ObjectRole(name, box.half, **object_.properties))

    def fixture_role(
        name: str, fixture: MujocoFixture, box: FixedBox, interior: FixedBox | None
    ) -> FixtureRole:
        return FixtureRole(
            name,
            fixture.kind,
            world_half(data, box),
            None if interior is None else world_half(data, interior),
            fixture.top,
            fixture.slides_when_open,
        )

    return SceneRoles(
        objects=tuple(object_roles),
        fixtures=tuple(
            fixture_role(name, fixture, box, interior)
            for (name, fixture), box, interior in zip(
                names.fixtures.items(), fixtures, interiors, strict=True
            )
        ),
        components=tuple(
            ComponentRole(name, part.fixture, part.skill, world_half(data, box))
            for (name, part), box in zip(names.components.items(), components, strict=True)
        ),
        gripper_half=gripper.half,
        allowed=names.allowed,
    )


def _joint(given: JointRange | None, find: _Finder) -> ResolvedJoint | None:
    if given is None:
        return None
    joint = find.joint(given.joint)
    low, high = find.model.jnt_range[joint].tolist()
    closed = low if given.closed is None else given.closed
    opened = high if given.open is None else given.open
    if closed == opened:
        raise GroundingError(
            f"joint {given.joint!r} is closed and open at the same reading, {closed}; "
            "it has no range in the model, so give JointRange both values"
        )
    return ResolvedJoint(int(find.model.jnt_qposadr[joint]), closed, opened)


def _interior(given: str | BodyBox | None, find: _Finder) -> FixedBox | None:
    if isinstance(given, BodyBox):
        return FixedBox(find.body(given.body), given.center, given.half)
    return None if given is None else site_box(find.model, find.site(given))
