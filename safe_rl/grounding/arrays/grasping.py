"""Grasp and release on arrays (SafeManip phi 2 and phi 3), per object.

For an object ``o``:

| proposition | true when |
| --- | --- |
| `object_grasped_raw(o)` | opposing contacts on two fingers, and the fingers closed |
| `object_grasped(o)` | the same, after a symmetric 5-frame debounce |
| `object_sync(o)` | it moved with the gripper since the previous frame |
| `object_dropped(o)` | the frame on which `object_grasped` falls |
| `object_released(o)` | that frame, where the hold was ended on purpose (see below) |
| `object_left_gripper(o)` | its box no longer overlaps the gripper's |
| `object_supported(o)` | it rests on a fixture or on another object that suits it |
| `object_settled(o)` | supported, stable on its support, and the gripper has cleared it |
| `release_object_settle_timeout(o)` | 100 frames since the drop without its having settled |

Food does not count as supported by the bare body of a drawer, cabinet, fridge, freezer, oven or
dishwasher, and nothing by the floor. What rests on a moving fixture is at rest when it moves with
it (the fixture's linear velocity; its turning is left out).

One definition is read more strictly than SafeManip words it. `object_released` needs evidence of
intent: the gripper opens, or the object is already supported. SafeManip looks for it on the frame
where the debounced hold ends, four frames (0.2 s) after the first one without a hold. In that time
an object falls 20 cm, so above a table most objects that slip out of a closed gripper would be
"supported" by then and count as released. Here the support must be there on the frame where the
hold truly ends; opening counts from the frame before that one until the debounced end.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from safe_rl.grounding.arrays.constants import RoleArrays, numbers
from safe_rl.grounding.arrays.devices import (
    Debounce,
    edge,
    sticky_true_debounce,
    symmetric_debounce,
    timeout_counter,
)
from safe_rl.grounding.arrays.geometry import (
    Quaternion,
    Vector,
    cross,
    minus,
    quaternion,
    quaternions,
    rotate_back,
    squared,
    turn_between,
    turns_less_than,
    vector,
    vectors,
)
from safe_rl.grounding.arrays.scene import Array, SceneArrays
from safe_rl.grounding.arrays.staging import any_of, computed_once, greatest_of, least_of, sum_of
from safe_rl.grounding.settings import GroundingSettings

COUNT = np.int16


class GraspMemory(NamedTuple):
    """What is remembered of the hold of each object, ``[O, ...]`` each unless said.

    Attributes:
        raw: bool, ``object_grasped_raw`` of the frame before.
        grasped: the debounced level.
        stable: the debounced level.
        evidence: bool, the end of the hold was meant.
        elapsed: integer, the settle timeout.
        position: the object's place in the gripper's frame, one frame ago.
        turn: the object's rotation in the gripper's frame, one frame ago.
        opening: bool ``[...]``, the gripper was opening.
        joints: float ``[...]``, m, sum of the finger joints.
    """

    raw: Array
    grasped: Debounce
    stable: Debounce
    evidence: Array
    elapsed: Array
    position: Vector
    turn: Quaternion
    opening: Array
    joints: Array


class GraspFacts(NamedTuple):
    """What the other predicates need to know of grasps, bool ``[O, ...]`` unless said.

    Attributes:
        support: integer ``[O, ...]``: the fixture, or ``F`` plus the object, that it rests on; ``F
            + O`` where there is none.
    """

    raw: Array
    grasped: Array
    sync: Array
    dropped: Array
    released: Array
    left: Array
    supported: Array
    stable: Array
    settled: Array
    overdue: Array
    support: Array


def initial_grasps(
    xp: ModuleType, arrays: RoleArrays, settings: GroundingSettings, frame: SceneArrays
) -> GraspMemory:
    """The memory with which the first frame is grounded as a first frame."""
    raw = _raw(xp, settings, frame)
    nothing = xp.astype(xp.zeros_like(frame.gripper_gaps), COUNT)
    still, _ = _still(xp, arrays, settings, frame)
    gap = xp.zeros_like(frame.gripper_gaps)
    return GraspMemory(
        raw=xp.zeros_like(raw),  # no baseline yet
        grasped=Debounce(raw, nothing),
        stable=Debounce(still, nothing),
        evidence=xp.zeros_like(raw),
        elapsed=nothing,
        position=(gap, gap, gap),
        turn=(gap, gap, gap, gap),
        opening=xp.zeros_like(frame.sanitising),
        joints=sum_of(xp, frame.finger_joints),
    )


def step_grasps(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: GraspMemory,
    frame: SceneArrays,
) -> tuple[GraspMemory, GraspFacts]:
    """The next memory and this frame's facts."""
    raw = _raw(xp, settings, frame)
    grasped, holds = symmetric_debounce(memory.grasped, raw, settings.grasp_window)
    still, support = _still(xp, arrays, settings, frame)
    stable, rests = sticky_true_debounce(memory.stable, still, settings.stability_window)

    joints = sum_of(xp, frame.finger_joints)
    # Fingers that are forced apart, by an object turning between them, are not opening.
    wanted = sum_of(xp, frame.finger_targets) > joints
    opening = wanted & (joints - memory.joints > settings.gripper_opening)
    recently = opening | memory.opening
    supported = support < sum(arrays.supports.shape[:2])
    # Where the hold truly ends the support counts; until the debounced end, opening still does.
    evidence = ~raw & (recently | (memory.raw & supported) | (~memory.raw & memory.evidence))

    _, dropped = edge(memory.grasped.value, holds, rising=False)
    cleared = (frame.gripper_gaps > settings.gripper_clearance) & ~any_of(
        xp, frame.finger_contacts, axis=1
    )
    settled = supported & rests & cleared
    elapsed, overdue = timeout_counter(
        memory.elapsed, dropped, settled | holds, settings.settle_timeout
    )
    sync, position, turn = _slip(settings, memory, frame)
    facts = GraspFacts(
        raw=raw,
        grasped=holds,
        sync=sync,
        dropped=dropped,
        released=dropped & evidence,
        left=~frame.in_gripper_box,
        supported=supported,
        stable=rests,
        settled=settled,
        overdue=overdue,
        support=support,
    )
    return GraspMemory(
        raw, grasped, stable, evidence, elapsed, position, turn, opening, joints
    ), facts


def _raw(xp: ModuleType, settings: GroundingSettings, frame: SceneArrays) -> Array:
    """At least two fingers, from opposite sides, and the gripper closed."""
    fingers = sum_of(xp, xp.astype(frame.finger_contacts, xp.int8), axis=1)
    closed = greatest_of(xp, frame.finger_joints) < settings.gripper_closed
    return computed_once(xp, closed & frame.opposed & (fingers >= settings.bilateral_bodies))


def _slip(
    settings: GroundingSettings, memory: GraspMemory, frame: SceneArrays
) -> tuple[Array, Vector, Quaternion]:
    """``object_sync``, and the object's pose in the gripper's frame."""
    place, turn = vectors(frame.object_positions), quaternions(frame.object_quaternions)
    grip = vector(frame.gripper_position)
    hand = quaternion(frame.gripper_quaternion)
    offset = minus(place, grip)
    position, rotation = rotate_back(hand, offset), turn_between(hand, turn)
    slid = squared(minus(position, memory.position)) < settings.grasp_linear_slip**2
    turned = turns_less_than(turn_between(memory.turn, rotation), settings.grasp_angular_slip)
    # Without a baseline: speeds against the gripper's rigid motion.
    spin = vector(frame.gripper_angular)
    carried = minus(vectors(frame.object_linear), vector(frame.gripper_linear))
    slow = squared(minus(carried, cross(spin, offset))) < settings.linear_stability**2
    slow = slow & (
        squared(minus(vectors(frame.object_angular), spin)) < settings.angular_stability**2
    )
    baseline = memory.raw | (memory.grasped.value & _any_pose(memory.turn))
    sync = (baseline & slid & turned) | (~baseline & slow)
    return sync, position, rotation


def _any_pose(turn: Quaternion) -> Array:
    """Whether a pose was ever recorded: before the first frame the rotation is all zero."""
    return (turn[0] != 0) | (turn[1] != 0) | (turn[2] != 0) | (turn[3] != 0)


def _still(
    xp: ModuleType, arrays: RoleArrays, settings: GroundingSettings, frame: SceneArrays
) -> tuple[Array, Array]:
    """Whether each object is slow against its support, and the support.

    The support is a fixture before an object (what stands on the table and leans on a block is at
    rest when it does not move against the table), then the first in the order of the roles.
    """
    objects, fixtures = arrays.supports.shape[:2]
    on_fixture = frame.on_fixture & arrays.supports
    both = xp.concat([on_fixture, frame.on_object], axis=1)
    columns = numbers(objects + fixtures, frame.sanitising.ndim)
    support = least_of(xp, xp.where(both, columns, COUNT(objects + fixtures)), axis=1)
    support = computed_once(xp, support)

    place, speed = vectors(frame.object_positions), vectors(frame.object_linear)
    spin = vectors(frame.object_angular)
    # A carrier's rigid motion at p is (v - w x c) + w x p: two vectors per carrier.
    drift = computed_once(xp, minus(speed, cross(spin, place)))
    slide = vectors(frame.fixture_linear)
    nothing = xp.zeros_like(place[0])
    carrier, turning = [nothing] * 3, [nothing] * 3
    for index in range(objects):
        is_it = support == fixtures + index
        carrier = [xp.where(is_it, v[index], c) for v, c in zip(drift, carrier, strict=True)]
        turning = [xp.where(is_it, w[index], t) for w, t in zip(spin, turning, strict=True)]
    for index in range(fixtures):
        is_it = support == index
        carrier = [xp.where(is_it, v[index], c) for v, c in zip(slide, carrier, strict=True)]
    (cx, cy, cz), (wx, wy, wz) = carrier, turning
    moved = minus(minus(speed, (cx, cy, cz)), cross((wx, wy, wz), place))
    rotated = minus(spin, (wx, wy, wz))
    still = (squared(moved) < settings.linear_stability**2) & (
        squared(rotated) < settings.angular_stability**2
    )
    return computed_once(xp, still), support
