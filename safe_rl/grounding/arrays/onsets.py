"""When a skill starts (SafeManip phi 5): pick, place and the five fixture skills.

One approach detector serves picks and fixture skills: an onset is the first frame on which the
gripper is within reach of a target that it has come nearer to for the onset window. Its latch holds
the target until the attempt concludes. A place starts when a held object leaves the gripper's box.

Approximations:

- "Coming nearer" is the distance between the centres falling by more than ``approach_motion`` in a
  frame, with nothing in the hand; "within reach" is the gap of the surfaces.
- An attempt on a fixture is abandoned when the gripper has not come nearer for longer than the
  onset window, which is also what a long pull at a handle looks like; it ends the attempt, and
  raises no second onset.
- Only an object that was held can be placed: the gripper's box passing over another is no place.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from safe_rl.grounding.arrays.constants import RoleArrays, numbers
from safe_rl.grounding.arrays.devices import approach_counter, edge, latch
from safe_rl.grounding.arrays.geometry import minus, squared, vector, vectors
from safe_rl.grounding.arrays.grasping import COUNT, GraspFacts
from safe_rl.grounding.arrays.scene import Array, SceneArrays
from safe_rl.grounding.arrays.staging import any_of, least_of, sum_of
from safe_rl.grounding.settings import GroundingSettings


class ApproachMemory(NamedTuple):
    """One detector over ``K`` targets.

    Attributes:
        distance: float ``[K, ...]``, m, between the centres, one frame ago.
        age: integer ``[K, ...]``, see ``devices.approach_counter``.
        target: integer ``[...]``, whose latch is set, or ``K``.
    """

    distance: Array
    age: Array
    target: Array


class OnsetMemory(NamedTuple):
    """What is remembered of skills that start.

    Attributes:
        pick: over the objects.
        action: over the components.
        was_held: bool ``[O, ...]``, held since it was last outside the gripper's box.
        left: bool ``[O, ...]``, outside the gripper's box one frame ago.
        placed: integer ``[...]``, the object placed last, or ``O``.
    """

    pick: ApproachMemory
    action: ApproachMemory
    was_held: Array
    left: Array
    placed: Array


class OnsetFacts(NamedTuple):
    """Onsets, ends and the present targets.

    Attributes:
        pick, pick_end, place: bool ``[O, ...]``.
        action, action_end: bool ``[A, ...]``.
        pick_target, action_target: bool ``[O, ...]`` and ``[A, ...]``, at most one true: the one
            that is latched now, or whose attempt ends now.
        placed: bool ``[O, ...]``, the object placed last.
    """

    pick: Array
    pick_end: Array
    place: Array
    action: Array
    action_end: Array
    pick_target: Array
    action_target: Array
    placed: Array


def initial_onsets(xp: ModuleType, frame: SceneArrays) -> OnsetMemory:
    """The memory with which the first frame is grounded as a first frame: nothing is approached."""
    return OnsetMemory(
        pick=_no_approach(xp, frame, frame.object_positions),
        action=_no_approach(xp, frame, frame.component_positions),
        was_held=xp.zeros_like(frame.in_gripper_box),
        left=~frame.in_gripper_box,
        placed=_none(xp, frame, frame.object_positions.shape[0]),
    )


def step_onsets(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: OnsetMemory,
    frame: SceneArrays,
    grasps: GraspFacts,
) -> tuple[OnsetMemory, OnsetFacts]:
    """The next memory and this frame's onsets."""
    objects, components = frame.gripper_gaps.shape[0], frame.component_gaps.shape[0]
    hands_free = ~any_of(xp, grasps.grasped)
    on_component = any_of(xp, frame.robot_component)
    free_of_fixtures = ~(any_of(xp, frame.robot_fixture) | on_component)
    near = frame.gripper_gaps <= settings.reach
    pick = _approach(
        xp, settings, memory.pick, frame, frame.object_positions,
        near & arrays.graspable & (hands_free & free_of_fixtures), hands_free,
    )  # fmt: skip

    left, place = edge(memory.left, grasps.left)
    place = place & memory.was_held
    was_held, _ = latch(memory.was_held, grasps.grasped, grasps.left & ~grasps.grasped)
    placing = any_of(xp, place)
    lane = frame.sanitising.ndim
    placed = memory.placed
    if objects:
        first = least_of(xp, xp.where(place, numbers(objects, lane), COUNT(objects)))
        placed = xp.where(placing, first, placed)

    near = frame.component_gaps <= settings.reach
    # Touching the target itself is no hindrance, touching another component is.
    others = _touches_another(xp, frame.robot_component)
    busy = ~hands_free | (pick.target < objects) | placing
    action = _approach(
        xp, settings, memory.action, frame, frame.component_positions,
        near & ~others & ~busy, hands_free,
    )  # fmt: skip
    now, before = _is(pick.target, objects), _is(memory.pick.target, objects)
    acts, acted = _is(action.target, components), _is(memory.action.target, components)
    return OnsetMemory(pick, action, was_held, left, placed), OnsetFacts(
        pick=now & ~before,
        pick_end=before & ~now,
        place=place,
        action=acts & ~acted,
        action_end=acted & ~acts,
        pick_target=now,
        action_target=acts,
        placed=_is(placed, objects),
    )


def _approach(
    xp: ModuleType,
    settings: GroundingSettings,
    memory: ApproachMemory,
    frame: SceneArrays,
    targets: Array,
    eligible: Array,
    hands_free: Array,
) -> ApproachMemory:
    distance = _distance(xp, frame, targets)
    # What comes nearer while the hand carries something else is not being approached.
    nearer = (memory.distance - distance > settings.approach_motion) & hands_free
    age, confirmed = approach_counter(memory.age, nearer, settings.onset_window)
    count, lane = targets.shape[0], frame.sanitising.ndim
    candidates = eligible & confirmed
    far = xp.where(candidates, distance, xp.zeros_like(distance) + np.float32(np.inf))
    if count == 0:
        return ApproachMemory(distance, age, memory.target)
    nearest = candidates & (far <= least_of(xp, far))
    found = least_of(xp, xp.where(nearest, numbers(count, lane), COUNT(count)))
    # The latch stays with its target while the approach lasts and no nearer target has taken over.
    lasts = any_of(xp, _is(memory.target, count) & (age > 0)) & hands_free
    kept = xp.where(lasts, memory.target, xp.zeros_like(memory.target) + COUNT(count))
    return ApproachMemory(distance, age, xp.where(found < count, found, kept))


def _distance(xp: ModuleType, frame: SceneArrays, targets: Array) -> Array:
    apart = minus(vectors(targets), vector(frame.gripper_position))
    return xp.sqrt(squared(apart))


def _touches_another(xp: ModuleType, touched: Array) -> Array:
    """For each component, whether the robot touches a different one."""
    count = sum_of(xp, xp.astype(touched, COUNT))
    return count > touched


def _is(target: Array, count: int) -> Array:
    return target[None] == numbers(count, target.ndim)


def _none(xp: ModuleType, frame: SceneArrays, count: int) -> Array:
    return xp.astype(xp.zeros_like(frame.liquid_moving), COUNT) + COUNT(count)


def _no_approach(xp: ModuleType, frame: SceneArrays, targets: Array) -> ApproachMemory:
    distance = _distance(xp, frame, targets)
    return ApproachMemory(
        distance,
        xp.astype(xp.zeros_like(distance), COUNT),
        _none(xp, frame, targets.shape[0]),
    )
