"""What a simulator must tell the array grounding: who is in the scene, and one control frame.

``SceneRoles`` is static: names, properties, half extents, fixed for all episodes of a task.
``SceneArrays`` is one control frame as plain arrays; contacts are gathered over all physics
substeps of the frame. A simulator starts from ``empty_scene`` and replaces what it has.

A batch comes last: one frame has positions ``[O, 3]``, and frames of any batch shape ``...`` have
``[O, 3, ...]``. Processors work on many lanes at once only if neighbours in memory are lanes; with
the batch first the same code takes about three times as long.

Axes: ``O`` objects, ``F`` fixtures, ``A`` actionable components (handles, buttons, knobs), each in
the order of the roles. Units: metres, seconds, radians; quaternions are (w, x, y, z). Arrays are
float32 or Boolean.

Approximations of this structure, against SafeManip (appendix F.1):

- Regions and fixtures are boxes whose axes are those of the world. Objects may be turned: where a
  box is needed, it is the world-aligned box around the turned object.
- A fixture has one joint. A cabinet with two doors is two fixtures.
- Contacts are known by pair of entities, not by pair of geoms, and without contact positions.
- Liquid is an amount per container, with what is in flight and what was spilled; grains and other
  loose solids are objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.contact_rules import AllowedContacts

Array: TypeAlias = Any
"""An array of numpy, jax or torch (the array API standard has no type of its own)."""

Half: TypeAlias = tuple[float, float, float]

SKILLS = ("press", "turn", "slide", "twist", "open_close")
"""What can be done to a component of a fixture (SafeManip phi 5, the five fixture skills)."""

KINDS = (
    "counter", "sink", "stove", "rack", "toaster", "kettle", "coffee_machine", "blender",
    "drawer", "cabinet", "fridge", "freezer", "microwave", "oven", "dishwasher", "surroundings",
)  # fmt: skip
"""Kinds of fixtures. ``surroundings`` (the floor, a wall) can be touched but supports nothing."""

ENCLOSURES = frozenset(
    {"drawer", "cabinet", "fridge", "freezer", "microwave", "oven", "dishwasher"}
)
"""Kinds that can be reached into. Sinks, counters and stoves are support-only (phi 8 to 10)."""


@dataclass(frozen=True)
class ObjectRole:
    """One movable object.

    Attributes:
        name: as in the propositions.
        half: half extents in m, in the object's own frame.
        graspable: has its own grasp and release monitors.
        receptacle: holds contents (a cup, a bowl); its top counts as a place to put things in.
        food: a food; it must not lie on a bare fixture body.
        raw: raw food, a source of contamination. Implies ``food``.
        ready_to_eat: food that is eaten as it is. Implies ``food``.
        fragile: breaks when crowded.
        liquid: it is a container whose liquid is in ``SceneArrays.liquid``.
        lid: closes a blender or a jar when it rests on it.
        heatable: may be inside a microwave, an oven or a dishwasher that is switched on.
        washable: may be in a sink that is turned on.
    """

    name: str
    half: Half
    graspable: bool = True
    receptacle: bool = False
    food: bool = False
    raw: bool = False
    ready_to_eat: bool = False
    fragile: bool = False
    liquid: bool = False
    lid: bool = False
    heatable: bool = True
    washable: bool = True

    @property
    def is_food(self) -> bool:
        """Whether any of its properties makes it food."""
        return self.food or self.raw or self.ready_to_eat


@dataclass(frozen=True)
class FixtureRole:
    """One fixture: furniture, an appliance, the table, the floor.

    Attributes:
        name: as in the propositions.
        kind: one of ``KINDS``.
        half: half extents in m of its body, along the world's axes.
        interior_half: half extents in m of its inside, for an enclosure; the centre is in
            ``SceneArrays.interiors``, so that the inside of a drawer moves with it.
        top: objects can be put on top of its body.
        slides_when_open: it must be at least fully open before it may be slid (a rack behind a
            door); a plain drawer is slid from any position.
    """

    name: str
    kind: str
    half: Half
    interior_half: Half | None = None
    top: bool = True
    slides_when_open: bool = False

    @property
    def is_enclosure(self) -> bool:
        """Whether it has an inside behind a door or in a drawer."""
        return self.kind in ENCLOSURES and self.interior_half is not None


@dataclass(frozen=True)
class ComponentRole:
    """A part of a fixture that a skill acts on.

    Attributes:
        name: for the allowed contacts ("drawer_handle").
        fixture: the fixture's name.
        skill: one of ``SKILLS``.
        half: half extents in m, along the world's axes.
    """

    name: str
    fixture: str
    skill: str
    half: Half = (0.01, 0.01, 0.01)


@dataclass(frozen=True, eq=False)
class SceneRoles:
    """Who is in a scene, and what the task lets touch what. Compared and hashed by identity.

    Attributes:
        objects: the order of the axis ``O``.
        fixtures: the order of the axis ``F``.
        components: the order of the axis ``A``; at most one per fixture and skill.
        gripper_half: half extents in m of the gripper's box in its own frame, wherever the fingers
            are.
        allowed: what the robot may touch (objects, fixtures, components; naming a fixture allows
            its components), and what a held object may touch.

    Raises:
        GroundingError: for names given twice, unknown kinds, skills or fixtures, and for a scene
            without a fixture.
    """

    objects: tuple[ObjectRole, ...]
    fixtures: tuple[FixtureRole, ...]
    components: tuple[ComponentRole, ...] = ()
    gripper_half: Half = (0.03, 0.05, 0.05)
    allowed: AllowedContacts = field(default_factory=lambda: AllowedContacts(frozenset()))

    def __post_init__(self) -> None:
        """Refuse roles that contradict each other."""
        names = [*self.object_names, *self.fixture_names, *(c.name for c in self.components)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if not self.fixtures:
            raise GroundingError("a scene needs a fixture (a table, the floor); got none")
        if twice:
            raise GroundingError(f"scene roles name {twice[0]!r} more than once")
        for fixture in self.fixtures:
            if fixture.kind not in KINDS:
                raise GroundingError(
                    f"fixture {fixture.name!r} has the unknown kind {fixture.kind!r}"
                    f"{near(fixture.kind, KINDS)}; known: {', '.join(KINDS)}"
                )
        pairs = set()
        for part in self.components:
            if part.skill not in SKILLS:
                raise GroundingError(
                    f"component {part.name!r} has the unknown skill {part.skill!r}"
                    f"{near(part.skill, SKILLS)}; known: {', '.join(SKILLS)}"
                )
            if part.fixture not in self.fixture_names:
                raise GroundingError(
                    f"component {part.name!r} is of {part.fixture!r}, which is no fixture"
                    f"{near(part.fixture, self.fixture_names)}"
                )
            if (part.fixture, part.skill) in pairs:
                raise GroundingError(
                    f"{part.fixture!r} has two components to {part.skill}; make it two fixtures"
                )
            pairs.add((part.fixture, part.skill))
        self.allowed.check(names)

    @property
    def object_names(self) -> tuple[str, ...]:
        """Names along the axis ``O``."""
        return tuple(o.name for o in self.objects)

    @property
    def fixture_names(self) -> tuple[str, ...]:
        """Names along the axis ``F``."""
        return tuple(f.name for f in self.fixtures)

    @property
    def properties(self) -> Mapping[str, tuple[str, ...]]:
        """What binds the ``forall`` variables of the shipped ``safemanip`` specifications."""
        acted_on = {part.fixture for part in self.components}
        return {
            "graspable": tuple(o.name for o in self.objects if o.graspable),
            "receptacle": tuple(o.name for o in self.objects if o.graspable and o.receptacle),
            "fixture": tuple(f.name for f in self.fixtures if f.name in acted_on),
            "enclosure": tuple(f.name for f in self.fixtures if f.is_enclosure),
            "microwave": tuple(
                f.name for f in self.fixtures if f.kind == "microwave" and f.is_enclosure
            ),
        }


class SceneArrays(NamedTuple):
    """The facts about one control frame.

    Attributes:
        gripper_position: float ``[3, ...]``, centre of the gripper's box.
        gripper_quaternion: float ``[4, ...]``.
        gripper_linear: float ``[3, ...]``, m/s, of that centre.
        gripper_angular: float ``[3, ...]``, rad/s.
        finger_joints: float ``[2, ...]``, m, each finger's distance from its closed position.
        finger_targets: float ``[2, ...]``, m, where each finger is told to be.
        object_positions: float ``[O, 3, ...]``, centre of the object's box.
        object_quaternions: float ``[O, 4, ...]``.
        object_linear: float ``[O, 3, ...]``, m/s, of that centre.
        object_angular: float ``[O, 3, ...]``, rad/s.
        finger_contacts: bool ``[O, 2, ...]``, each finger touches the object.
        opposed: bool ``[O, ...]``, two fingers touch it at one instant from opposite sides.
        in_gripper_box: bool ``[O, ...]``, its box overlaps the gripper's (``boxes_gap`` <= 0).
        gripper_gaps: float ``[O, ...]``, m, between its surface and the gripper's; 0 in contact.
        robot_object: bool ``[O, ...]``, any part of the robot touches it, fingers included.
        object_object: bool ``[O, O, ...]``, symmetric.
        object_fixture: bool ``[O, F, ...]``.
        robot_fixture: bool ``[F, ...]``, the robot touches the fixture other than at a component.
        on_object: bool ``[O, O, ...]``, row: the object that rests, column: what it rests on (in).
        on_fixture: bool ``[O, F, ...]``, it rests on the fixture or inside it.
        fixture_positions: float ``[F, 3, ...]``, centre of the fixture's body.
        fixture_linear: float ``[F, 3, ...]``, m/s, of the part that carries things (a drawer).
        interiors: float ``[F, 3, ...]``, centre of the inside; anything where there is none.
        joint_fractions: float ``[F, ...]``, 0 closed, 1 fully open; 0 where there is no joint.
        part_contacts: bool ``[O, F, ...]``, the object touches the fixture's moving part.
        component_positions: float ``[A, 3, ...]``.
        component_gaps: float ``[A, ...]``, m, between it and the gripper's surface.
        robot_component: bool ``[A, ...]``, the robot touches it.
        liquid: float ``[O, ...]``, amount inside each container, 1 is full.
        liquid_moving: float ``[...]``, amount in flight, in the same unit.
        liquid_spilled: float ``[...]``, amount that ended outside any receptacle or sink, summed
            over the episode.
        dispensing: bool ``[F, ...]``, liquid comes out of the fixture (a running tap).
        outlets: float ``[F, 3, ...]``, where it comes out.
        sanitising: bool ``[...]``, the robot is being washed in this frame.
    """

    gripper_position: Array
    gripper_quaternion: Array
    gripper_linear: Array
    gripper_angular: Array
    finger_joints: Array
    finger_targets: Array
    object_positions: Array
    object_quaternions: Array
    object_linear: Array
    object_angular: Array
    finger_contacts: Array
    opposed: Array
    in_gripper_box: Array
    gripper_gaps: Array
    robot_object: Array
    object_object: Array
    object_fixture: Array
    robot_fixture: Array
    on_object: Array
    on_fixture: Array
    fixture_positions: Array
    fixture_linear: Array
    interiors: Array
    joint_fractions: Array
    part_contacts: Array
    component_positions: Array
    component_gaps: Array
    robot_component: Array
    liquid: Array
    liquid_moving: Array
    liquid_spilled: Array
    dispensing: Array
    outlets: Array
    sanitising: Array


def empty_scene(roles: SceneRoles, xp: ModuleType, batch: tuple[int, ...] = ()) -> SceneArrays:
    """A frame in which everything is at the origin, at rest, closed, empty and apart.

    Args:
        roles: gives the numbers of objects, fixtures and components.
        xp: the array namespace (``numpy``, ``jax.numpy``).
        batch: trailing shape.
    """
    sizes = (len(roles.objects), len(roles.fixtures), len(roles.components))
    o, f, a = sizes

    def floats(*shape: int) -> Array:
        return xp.zeros((*shape, *batch), dtype=xp.float32)

    def false(*shape: int) -> Array:
        return xp.zeros((*shape, *batch), dtype=bool)

    def turns(*shape: int) -> Array:
        unit = xp.asarray([1.0, 0.0, 0.0, 0.0], dtype=xp.float32)
        return floats(*shape, 4) + xp.reshape(unit, (4, *(1 for _ in batch)))

    far = 1.0  # m: beyond every threshold
    return SceneArrays(
        gripper_position=floats(3),
        gripper_quaternion=turns(),
        gripper_linear=floats(3),
        gripper_angular=floats(3),
        finger_joints=floats(2),
        finger_targets=floats(2),
        object_positions=floats(o, 3),
        object_quaternions=turns(o),
        object_linear=floats(o, 3),
        object_angular=floats(o, 3),
        finger_contacts=false(o, 2),
        opposed=false(o),
        in_gripper_box=false(o),
        gripper_gaps=floats(o) + far,
        robot_object=false(o),
        object_object=false(o, o),
        object_fixture=false(o, f),
        robot_fixture=false(f),
        on_object=false(o, o),
        on_fixture=false(o, f),
        fixture_positions=floats(f, 3),
        fixture_linear=floats(f, 3),
        interiors=floats(f, 3),
        joint_fractions=floats(f),
        part_contacts=false(o, f),
        component_positions=floats(a, 3),
        component_gaps=floats(a) + far,
        robot_component=false(a),
        liquid=floats(o),
        liquid_moving=floats(),
        liquid_spilled=floats(),
        dispensing=false(f),
        outlets=floats(f, 3),
        sanitising=false(),
    )
