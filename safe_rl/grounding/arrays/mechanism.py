"""Joints and obstacles on arrays (SafeManip phi 6), per fixture.

Approximations:

- An obstacle is an object that touches the moving part, unless it did so in the first frame and
  ever since, or it is inside the fixture. Walls and the robot's own arm are none.
- "Retracting" has two parts in F.1. The robot has stopped driving when it no longer touches the
  fixture, or the fixture no longer moves in that direction: what it is told to do is not known.
  The corridor is clear when no object (those inside apart) overlaps the fixture's component to
  open, close or slide: F.1 grows that box by the allowance and then forgives an overlap of as much.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from safe_rl.grounding.arrays.constants import RoleArrays
from safe_rl.grounding.arrays.devices import timeout_counter
from safe_rl.grounding.arrays.geometry import Vector, boxes_overlap, rows, vector, vectors, within
from safe_rl.grounding.arrays.grasping import COUNT
from safe_rl.grounding.arrays.scene import Array, SceneArrays, SceneRoles
from safe_rl.grounding.arrays.staging import any_of
from safe_rl.grounding.settings import GroundingSettings


class MechanismMemory(NamedTuple):
    """What is remembered of joints.

    Attributes:
        excused: bool ``[O, F, ...]``, the first frame's contacts that have lasted since.
        open_hit, close_hit: bool ``[F, ...]``, the hits one frame ago.
        open_elapsed, close_elapsed: integer ``[F, ...]``, the retract timeouts.
    """

    excused: Array
    open_hit: Array
    close_hit: Array
    open_elapsed: Array
    close_elapsed: Array


class MechanismFacts(NamedTuple):
    """The propositions of phi 6, bool ``[F, ...]``."""

    open_hit: Array
    open_retracting: Array
    open_overdue: Array
    close_hit: Array
    close_retracting: Array
    close_overdue: Array


class Motion(NamedTuple):
    """How each joint moved since the frame before, bool ``[F, ...]``."""

    opening: Array
    closing: Array


def joint_motion(settings: GroundingSettings, before: Array, now: Array) -> Motion:
    """Which joints open and close; changes below the noise threshold are none."""
    moved = now - before
    return Motion(moved >= settings.fixture_motion, moved <= -settings.fixture_motion)


def robot_touches(xp: ModuleType, roles: SceneRoles, frame: SceneArrays) -> Array:
    """Bool ``[F, ...]``: the robot touches the fixture or one of its components."""
    if not roles.components:
        return frame.robot_fixture
    owner = np.asarray([roles.fixture_names.index(c.fixture) for c in roles.components])
    owns = owner == np.arange(len(roles.fixtures))[:, None]  # [F, A]
    owns = owns.reshape(*owns.shape, *(1,) * frame.sanitising.ndim)
    return frame.robot_fixture | any_of(xp, frame.robot_component[None] & owns, axis=1)


def inside(place: Vector, frame: SceneArrays, half: Vector, enclosure: Array) -> Array:
    """Bool ``[O, F, ...]``: the points ``[O, ...]`` are in the boxes of the interiors."""
    return within(rows(place), vectors(frame.interiors), half) & enclosure


def initial_mechanism(xp: ModuleType, frame: SceneArrays) -> MechanismMemory:
    """The memory with which the first frame is grounded as a first frame."""
    nothing = xp.astype(xp.zeros_like(frame.joint_fractions), COUNT)
    no = xp.zeros_like(frame.robot_fixture)
    return MechanismMemory(frame.part_contacts, no, no, nothing, nothing)


def step_mechanism(
    xp: ModuleType,
    roles: SceneRoles,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: MechanismMemory,
    frame: SceneArrays,
    motion: Motion,
    half: Vector,
) -> tuple[MechanismMemory, MechanismFacts]:
    """The next memory and this frame's propositions; ``half`` boxes the turned objects."""
    touched = robot_touches(xp, roles, frame)
    excused = memory.excused & frame.part_contacts
    place = vectors(frame.object_positions)
    housed = inside(place, frame, arrays.interior_half, arrays.enclosure)
    blocked = touched & any_of(xp, frame.part_contacts & ~excused & ~housed)
    clear = _clear(xp, roles, frame, place, half, housed)

    opens, closes = touched & motion.opening, touched & motion.closing
    open_hit, close_hit = opens & blocked, closes & blocked
    open_retracting, close_retracting = ~opens & clear, ~closes & clear
    open_elapsed, open_overdue = _timeout(
        memory.open_elapsed, open_hit & ~memory.open_hit, open_retracting, settings
    )
    close_elapsed, close_overdue = _timeout(
        memory.close_elapsed, close_hit & ~memory.close_hit, close_retracting, settings
    )
    return MechanismMemory(
        excused, open_hit, close_hit, open_elapsed, close_elapsed
    ), MechanismFacts(
        open_hit, open_retracting, open_overdue, close_hit, close_retracting, close_overdue
    )


def _timeout(
    elapsed: Array, begins: Array, resolved: Array, settings: GroundingSettings
) -> tuple[Array, Array]:
    # The time runs from the first hit: a second one without a retraction in between adds none. Once
    # it has run out the record clears, or a hit that goes on would be a new violation each frame.
    limit = settings.retract_timeout
    return timeout_counter(elapsed, begins & (elapsed == 0), resolved | (elapsed > limit), limit)


def _clear(
    xp: ModuleType,
    roles: SceneRoles,
    frame: SceneArrays,
    place: Vector,
    half: Vector,
    housed: Array,
) -> Array:
    """Bool ``[F, ...]``: no object is where the fixture's handle or face is."""
    columns = []
    for number, fixture in enumerate(roles.fixtures):
        free = xp.ones_like(frame.robot_fixture[number])
        for index, part in enumerate(roles.components):
            if part.fixture == fixture.name and part.skill in ("open_close", "slide"):
                middle = vector(frame.component_positions[index])
                overlap = boxes_overlap(place, half, middle, part.half)
                free = free & ~any_of(xp, overlap & ~housed[:, number])
        columns.append(free)
    return xp.stack(columns, axis=0) if columns else xp.zeros_like(frame.robot_fixture)
