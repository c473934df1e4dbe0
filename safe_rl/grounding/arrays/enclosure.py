"""Reaching and placing inside enclosures on arrays (SafeManip phi 8 to phi 10).

An object is *active* while it is held and from then until it has settled or another is grasped.

Two things are read otherwise than F.1 words them:

- ``object_reach_in_fixture`` and ``object_in_same_fixture`` have there the same membership test, so
  that the level is true on the very frame of the edge and the specification could not be violated.
  Here the edge is the centre of the active object entering the interior before it is shrunk, and
  the level is its being inside the shrunk one.
- ``reach_in_fixture`` is suppressed while the robot touches a closing fixture, whatever skill that
  may belong to.

A carried food, or one that rests on or in a carried object, is no occupant of a microwave.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from safe_rl.grounding.arrays.constants import RoleArrays
from safe_rl.grounding.arrays.devices import Debounce, edge, symmetric_debounce
from safe_rl.grounding.arrays.geometry import Vector, boxes_overlap, rows, vector, vectors, within
from safe_rl.grounding.arrays.grasping import COUNT, GraspFacts
from safe_rl.grounding.arrays.mechanism import Motion, inside, robot_touches
from safe_rl.grounding.arrays.scene import Array, SceneArrays, SceneRoles
from safe_rl.grounding.arrays.staging import any_of
from safe_rl.grounding.settings import GroundingSettings


class EnclosureMemory(NamedTuple):
    """What is remembered of interiors.

    Attributes:
        reached: bool ``[F, ...]``, the gripper was inside.
        active: bool ``[O, ...]``, the object is the one that is being handled.
        entered: bool ``[O, F, ...]``, it was inside the interior before shrinking, while active.
        within: bool ``[O, F, ...]``, it was inside the shrunk interior, while active.
        empty: the debounced emptiness, ``[F, ...]``.
    """

    reached: Array
    active: Array
    entered: Array
    within: Array
    empty: Debounce


class EnclosureFacts(NamedTuple):
    """The propositions: bool ``[F, ...]``, the last two ``[O, F, ...]``."""

    reach: Array
    left: Array
    fully_open: Array
    object_reach: Array
    object_left: Array
    empty: Array
    object_enters: Array
    object_inside: Array


def initial_enclosure(
    xp: ModuleType, arrays: RoleArrays, frame: SceneArrays, held: Array, half: Vector
) -> EnclosureMemory:
    """The memory for the first frame; ``held`` is bool ``[O, ...]``."""
    place = vectors(frame.object_positions)
    empty = ~_occupied(xp, arrays, frame, held, half)
    return EnclosureMemory(
        reached=_gripper_inside(arrays, frame),
        active=held,
        entered=inside(place, frame, arrays.interior_half, arrays.enclosure),
        within=inside(place, frame, arrays.core_half, arrays.enclosure),
        empty=Debounce(empty, xp.astype(xp.zeros_like(empty), COUNT)),
    )


def step_enclosure(
    xp: ModuleType,
    roles: SceneRoles,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: EnclosureMemory,
    frame: SceneArrays,
    grasps: GraspFacts,
    motion: Motion,
    half: Vector,
) -> tuple[EnclosureMemory, EnclosureFacts]:
    """The next memory and this frame's propositions; ``half`` boxes the turned objects."""
    place = vectors(frame.object_positions)
    reached, enters = edge(memory.reached, _gripper_inside(arrays, frame))
    _, leaves = edge(memory.reached, reached, rising=False)

    any_held = any_of(xp, grasps.grasped)
    active = grasps.grasped | (memory.active & ~grasps.settled & ~any_held)
    entered, goes_in = edge(
        memory.entered, inside(place, frame, arrays.interior_half, arrays.enclosure)
    )
    within_core = inside(place, frame, arrays.core_half, arrays.enclosure)
    _, comes_in = edge(memory.within, within_core)
    _, goes_out = edge(memory.within, within_core, rising=False)
    handled = active[:, None]

    held = grasps.raw | grasps.grasped
    empty, is_empty = symmetric_debounce(
        memory.empty, ~_occupied(xp, arrays, frame, held, half), settings.occupancy_window
    )
    return EnclosureMemory(reached, active, entered, within_core, empty), EnclosureFacts(
        reach=enters & ~(motion.closing & robot_touches(xp, roles, frame)),
        left=leaves,
        fully_open=frame.joint_fractions >= settings.fixture_fully_open,
        object_reach=any_of(xp, comes_in & handled),
        object_left=any_of(xp, goes_out & (handled | memory.active[:, None])),
        empty=is_empty,
        object_enters=goes_in & handled,
        object_inside=within_core,
    )


def _gripper_inside(arrays: RoleArrays, frame: SceneArrays) -> Array:
    point = vector(frame.gripper_position)
    return within(point, vectors(frame.interiors), arrays.core_half) & arrays.enclosure


def _occupied(
    xp: ModuleType, arrays: RoleArrays, frame: SceneArrays, held: Array, half: Vector
) -> Array:
    """Bool ``[F, ...]``: food that is not carried is at least partly inside."""
    place, size = rows(vectors(frame.object_positions)), rows(half)
    middle = vectors(frame.interiors)
    overlaps = boxes_overlap(place, size, middle, arrays.interior_half) & arrays.enclosure
    carried = held | any_of(xp, frame.on_object & held[None], axis=1)
    return any_of(xp, overlaps & (arrays.food & ~carried)[:, None])
