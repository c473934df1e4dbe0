"""What a tabletop task is made of, and the pieces of reward and layout that tasks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.dynamics import Layout
from safe_rl.envs.tabletop.fixtures import Fixtures
from safe_rl.envs.tabletop.kinds import KINDS, Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.resting import FIXTURE_SURFACES, NOTHING
from safe_rl.envs.tabletop.state import Array, Body, Gripper, Up, World
from safe_rl.errors import ConfigurationError, near

SHIFTS = ("target", "location", "distractors", "instruction")
"""What may differ from training: ManiGuard's target, location, environment and language levels."""

DISTRACTORS = ("can", "jar")
"""Objects that the shift ``distractors`` adds; the policy does not observe them."""

OVER_GOAL, ABOVE_GOAL = 0.04, 0.1
"""m, how far beside and above its goal an object may be let go to end up there."""

RANDOM_NUMBERS = 16
"""Uniform numbers that one layout may use."""


class Focus(NamedTuple):
    """What the present stage of a task is about, as the policy observes it.

    Attributes:
        x, y, z: m, what the gripper has to move: an object, or a handle.
        goal_x, goal_y, goal_z: m, where that should end up.
    """

    x: Array
    y: Array
    z: Array
    goal_x: Array
    goal_y: Array
    goal_z: Array

    @property
    def offset(self) -> tuple[Array, Array, Array]:
        """m, from the goal to what is to be moved."""
        return self.x - self.goal_x, self.y - self.goal_y, self.z - self.goal_z


class Task(ABC):
    """One task: its objects, where they start, what counts as progress and as success.

    A task is built for one ``shift`` and does not change afterwards.

    Attributes:
        name: As in ``safe_rl/Tabletop<Name>-v0``.
        kinds: Names of the objects, which are their kinds, those of the task first.
        fixtures: The furniture.
        horizon: Steps after which an episode is truncated.
        success_frames: Frames for which the goal must hold without a break.
        tilts: The action has a fifth entry, the gripper's tilt.
        touchable: Objects and fixtures that the robot may touch.
        receivers: For each object, what it may touch while it is held.
        instruction: The task in words.
    """

    name: ClassVar[str]
    base_kinds: ClassVar[tuple[str, ...]]
    swaps: ClassVar[Mapping[str, str]]
    instructions: ClassVar[tuple[str, str]]
    fixtures: ClassVar[Fixtures] = Fixtures()
    horizon: ClassVar[int]
    success_frames: ClassVar[int] = 10
    tilts: ClassVar[bool] = False
    touched: ClassVar[tuple[str, ...]]
    received: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, shift: str | None = None, parameters: TabletopParameters | None = None):
        """Build the task, in distribution or under one of ``SHIFTS``."""
        if shift is not None and shift not in SHIFTS:
            raise ConfigurationError(
                f"shift {shift!r} is not known{near(str(shift), SHIFTS)}; "
                f"use one of {', '.join(SHIFTS)}, or None"
            )
        self.shift = shift
        swaps = self.swaps if shift == "target" else {}
        self._swaps = swaps
        names = tuple(swaps.get(kind, kind) for kind in self.base_kinds)
        self.observed = len(names)
        self.kinds = names + (DISTRACTORS if shift == "distractors" else ())
        self.layout = Layout(
            self.kinds,
            tuple(KINDS[kind] for kind in self.kinds),
            self.fixtures,
            parameters or TabletopParameters(),
        )
        self.touchable = tuple(swaps.get(name, name) for name in self.touched)
        self.receivers = {
            swaps.get(name, name): frozenset(swaps.get(other, other) for other in others)
            for name, others in self.received.items()
        }
        text = self.instructions[1 if shift == "instruction" else 0]
        for old, new in swaps.items():
            text = text.replace(old, new)
        self.instruction = text

    @abstractmethod
    def places(self, u: list[Array]) -> list[tuple[Array, Array]]:
        """Where the objects of the task start: x, y (m) from uniform numbers in [0, 1)."""

    def advance_stage(self, world: World, stage: Array) -> Array:
        """The number of stages that are done; it never falls. By default there is one stage."""
        return stage

    @abstractmethod
    def potential(self, world: World, stage: Array) -> Array:
        """How far the task is, from 0 to about the number of its stages."""

    @abstractmethod
    def at_goal(self, world: World, stage: Array) -> Array:
        """Whether the goal holds in this frame (bool)."""

    @abstractmethod
    def focus(self, world: World, stage: Array) -> Focus:
        """What the present stage is about."""

    def goals(self, world: World) -> list[Array]:
        """Further numbers that the policy observes."""
        return []

    def first_world(self, u: Array) -> World:
        """The first state of an episode from uniform numbers ``[RANDOM_NUMBERS]`` in [0, 1)."""
        numbers = [u[k] for k in range(RANDOM_NUMBERS)]
        places = self.places(numbers)
        if self.shift == "distractors":
            # Far corners of the table, away from everything that the tasks put there.
            places = [
                *places,
                (between(numbers[-1], -0.48, -0.45), between(numbers[-2], -0.4, -0.34)),
                (between(numbers[-2], 0.46, 0.49), between(numbers[-1], -0.38, -0.32)),
            ]
        bodies = tuple(standing_body(i, place, self.layout) for i, place in enumerate(places))
        zero = jnp.zeros((), jnp.float32)
        wide = jnp.asarray(self.layout.parameters.finger_open, jnp.float32)
        gripper = Gripper(
            x=jnp.asarray(between(numbers[-3], -0.1, 0.1), jnp.float32),
            y=jnp.asarray(between(numbers[-4], -0.1, 0.1), jnp.float32),
            z=jnp.asarray(between(numbers[-5], 0.2, 0.26), jnp.float32),
            vx=zero, vy=zero, vz=zero,
            opening=wide, target=wide,
            tilt=zero, turning=zero,
            contaminated=jnp.zeros((), bool),
        )  # fmt: skip
        drawer = zero if self.fixtures.drawer is not None else None
        door = zero + 1.0 if self.fixtures.microwave is not None else None
        return World(gripper, bodies, drawer, door, zero)

    def surface(self, name: str) -> int:
        """Index of a surface by the name of an object or of a fixture's surface."""
        if name in self.kinds:
            return self.kinds.index(name)
        return len(self.kinds) + FIXTURE_SURFACES.index(name)


def focus_on(body: Body, x: Array | float, y: Array | float, z: Array | float) -> Focus:
    """The focus on an object that belongs at a place (m)."""
    return Focus(body.x, body.y, body.z, *(jnp.asarray(v, jnp.float32) for v in (x, y, z)))


def between(u: Array, low: float, high: float) -> Array:
    """A uniform number from ``[0, 1)`` mapped to ``[low, high)``."""
    return low + (high - low) * u


def standing_body(i: int, place: tuple[Array, Array], layout: Layout) -> Body:
    """Object ``i`` at rest on the table."""
    kind = layout.kinds[i]
    zero, no = jnp.zeros((), jnp.float32), jnp.zeros((), bool)
    table = len(layout.kinds) + FIXTURE_SURFACES.index("table")
    return Body(
        x=jnp.asarray(place[0], jnp.float32),
        y=jnp.asarray(place[1], jnp.float32),
        z=jnp.asarray(0.5 * kind.height, jnp.float32),
        vx=zero, vy=zero, vz=zero,
        held=no,
        support=jnp.asarray(table, jnp.int32),
        up=Up(zero, zero, zero + 1.0, zero, zero) if kind.tips else None,
        broken=no if kind.fragile else None,
        liquid=zero + 1.0 if kind.liquid else None,
    )  # fmt: skip


def closeness(dx: Array, dy: Array, dz: Array, scale: float = 4.0) -> Array:
    """1 at no distance, falling towards 0; steep close by, and with a slope at 70 cm yet.

    The mean of ``1 / (1 + scale * distance)`` and of a straight line.
    """
    distance = jnp.sqrt(dx * dx + dy * dy + dz * dz + 1e-9)
    return 0.5 / (1.0 + scale * distance) + 0.5 * jnp.maximum(0.0, 1.0 - distance / 0.7)


def approach(dx: Array, dy: Array, dz: Array, lift: float = 0.0) -> Array:
    """Closeness to a goal from above: the way leads 4 cm over it, as high as a rim, until near.

    ``lift`` more is for the height alone, wherever the object is: without it an object that is
    dragged over the table gets stuck at the rim, and lifting it there gains too little.
    """
    across = jnp.sqrt(dx * dx + dy * dy + 1e-9)
    off = dz - jnp.clip(across - 0.03, 0.0, 0.04)
    height = jnp.clip(1.0 - jnp.abs(off) / 0.08, 0.0, 1.0)
    return closeness(dx, dy, off, scale=6.0) + lift * height


def reaching(gripper: Gripper, body: Body, grasp_below: float, open_width: float) -> Array:
    """Potential in [0, 0.4] of getting the fingers around an object, ``grasp_below`` its centre.

    Away from it the fingers should be open, around it they should close.
    """
    dx, dy = gripper.x - body.x, gripper.y - body.y
    dz = gripper.z - (body.z - grasp_below)
    around = (jnp.abs(dx) < 0.015) & (jnp.abs(dy) < 0.02) & (jnp.abs(dz) < 0.015)
    wide = gripper.opening / open_width
    fingers = jnp.where(around, 0.05 + 0.15 * (1.0 - wide), 0.05 * wide)
    return 0.25 * closeness(dx, dy, dz, scale=8.0) + fingers


def fetching(
    gripper: Gripper,
    body: Body,
    kind: Kind,
    offset: tuple[Array, Array, Array],
    *,
    grasp_below: float = 0.005,
    open_width: float = 0.04,
    above: float = ABOVE_GOAL,
    lift: float = 0.0,
) -> Array:
    """Potential in [0, 1.1] of grasping an object, bringing it to its goal and letting it go.

    Reaching counts up to 0.4, a hold 0.5, and the way to the goal another 0.4. Over its goal the
    object may be held or falling, and the fingers should open: that is another 0.2.

    Args:
        gripper: the hand.
        body: the object.
        kind: of the object.
        offset: m, from the goal to the object.
        grasp_below: m below its centre where the fingers should take it.
        open_width: m, of the open fingers.
        above: m, how far above its goal the fingers should open.
        lift: what the height on the way is worth more; see ``approach``. With 0.25 the
            potential is at most 1.2.
    """
    dx, dy, dz = offset
    carried = 0.5 + 0.4 * approach(dx, dy, dz, lift)
    over = (jnp.abs(dx) < OVER_GOAL) & (jnp.abs(dy) < OVER_GOAL) & (dz > -0.02) & (dz < above)
    opened = jnp.clip((gripper.opening - kind.radius) / (open_width - kind.radius), 0.0, 1.0)
    reach = reaching(gripper, body, grasp_below, open_width)
    return jnp.where(over, carried + 0.2 * opened, jnp.where(body.held, carried, reach))


def rests_on(body: Body, surface: int) -> Array:
    """Whether an object rests on a surface and is not held (bool)."""
    return (body.support == surface) & ~body.held


def in_the_air(body: Body) -> Array:
    """Whether an object rests on nothing (bool)."""
    return body.support == NOTHING


def cleared(gripper: Gripper, body: Body, half_height: float) -> Array:
    """How far the finger tips are above an object, as a fraction of 3 cm in [0, 1]."""
    return jnp.clip((gripper.z - body.z - half_height) / 0.03, 0.0, 1.0)
