"""What must hold when a skill starts (SafeManip phi 5), for the targets of the moment.

A precondition is evaluated for the object or fixture that its skill is directed at: the one whose
onset latch is set, for a place the object placed last, for a dump the receptacle being dumped out.
It is false for every other one. No formula of the library reads it there: the onset implies that
its target is the present one, and a recovery ends with the attempt.

Approximations:

- Corridors are swept by world-aligned boxes along a straight line, from the gripper's box to the
  target's; only objects obstruct them.
- Geometry of a support: an object must be upright and, like a fixture, reach as far as what is put
  on it, less the placement margin; the interior of an enclosure counts as its own floor. Flatness
  is not known.
- Fixture readiness covers press, turn, slide and twist as F.1 lists them, as far as the roles tell:
  ``heatable`` and ``washable`` say what suits an appliance or a running sink, ``lid`` closes a
  blender, a receptacle under the outlet is aligned with a coffee machine.
- A dump is aimed straight down from the middle of the receptacle's rim.
- A fixture is stable while its joint does not move.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from types import ModuleType
from typing import NamedTuple

import numpy as np

from safe_rl.grounding.arrays.constants import RoleArrays
from safe_rl.grounding.arrays.geometry import (
    Vector,
    axis_z,
    quaternion,
    quaternions,
    squared,
    sweep_hits,
    vector,
    vectors,
    within,
    world_half,
)
from safe_rl.grounding.arrays.grasping import GraspFacts
from safe_rl.grounding.arrays.mechanism import Motion
from safe_rl.grounding.arrays.scene import Array, ComponentRole, SceneArrays, SceneRoles
from safe_rl.grounding.arrays.staging import any_of, computed_once, greatest_of, sum_of
from safe_rl.grounding.settings import GroundingSettings


class Mover(NamedTuple):
    """What is to be put somewhere, one per lane.

    Attributes:
        place: m, centre.
        half: m, half extents of its box.
        chosen: bool ``[O, ...]``, which object it is.
        ignored: bool ``[O, ...]``, objects that move with it.
        on_object, on_fixture: bool ``[O, ...]`` and ``[F, ...]``, what it rests on now.
    """

    place: Vector
    half: Vector
    chosen: Array
    ignored: Array
    on_object: Array
    on_fixture: Array


def is_upright(frame: SceneArrays, settings: GroundingSettings) -> Array:
    """Bool ``[O, ...]``: the object's own vertical is within the tolerance of the world's."""
    bound = float(np.cos(settings.upright_tolerance))
    return axis_z(quaternions(frame.object_quaternions))[2] >= bound


def pick_ready(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    grasps: GraspFacts,
    half: Vector,
    target: Array,
) -> Array:
    """Bool ``[O, ...]``: the way to the target is clear and the target is stable."""
    end = _chosen(xp, target, vectors(frame.object_positions))
    size = _chosen(xp, target, half)
    # Its supports, and what is in it or on it, belong to the target.
    carried = any_of(xp, frame.on_object & target[None], axis=1)
    supports = any_of(xp, frame.on_object & target[:, None])
    ignored = target | carried | supports
    clear = _way_is_clear(xp, arrays, settings, frame, half, end, size, ignored)
    return target & grasps.stable & clear


def action_ready(
    xp: ModuleType,
    roles: SceneRoles,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    motion: Motion,
    half: Vector,
    upright: Array,
    target: Array,
) -> Array:
    """Bool ``[A, ...]``: the way is clear, the fixture is stable and ready for the action."""
    if not roles.components:
        return target
    end = _chosen(xp, target, vectors(frame.component_positions))
    nobody = xp.zeros_like(frame.robot_object)
    size = _chosen(xp, target, arrays.component_half)
    clear = _way_is_clear(xp, arrays, settings, frame, half, end, size, nobody)
    still = ~(motion.opening | motion.closing)
    ready = []
    for part in roles.components:
        number = roles.fixture_names.index(part.fixture)
        answer = _fixture_ready(xp, roles, arrays, settings, frame, half, upright, part, number)
        ready.append(still[number] if answer is None else still[number] & answer)
    return target & xp.stack(ready, axis=0) & clear


def placed_mover(xp: ModuleType, frame: SceneArrays, half: Vector, target: Array) -> Mover:
    """The object that was placed, with its contents."""
    contents = any_of(xp, frame.on_object & target[None], axis=1)
    return Mover(
        place=_chosen(xp, target, vectors(frame.object_positions)),
        half=_chosen(xp, target, half),
        chosen=target,
        ignored=target | contents,
        on_object=any_of(xp, frame.on_object & target[:, None]),
        on_fixture=any_of(xp, frame.on_fixture & target[:, None]),
    )


def poured_mover(
    xp: ModuleType, arrays: RoleArrays, frame: SceneArrays, contained: Array, target: Array
) -> Mover:
    """The contents of the receptacle that is dumped out, at the middle of its rim."""
    up = axis_z(quaternions(frame.object_quaternions))
    place = vectors(frame.object_positions)
    rim = tuple(place[i] + arrays.half[2] * up[i] for i in range(3))
    point = _chosen(xp, target, rim)
    nothing = xp.zeros_like(point[0])
    contents = any_of(xp, contained & target[None], axis=1)
    return Mover(
        place=point,
        half=(nothing, nothing, nothing),
        chosen=target,
        ignored=target | contents,
        on_object=xp.zeros_like(frame.robot_object),
        on_fixture=xp.zeros_like(frame.robot_fixture),
    )


def destination_ready(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    grasps: GraspFacts,
    half: Vector,
    upright: Array,
    mover: Mover,
    fits_object: Array,
    fits_fixture: Array,
) -> Array:
    """Bool ``[...]``: the support inferred for ``mover`` is clear, stable, large and fitting.

    Args:
        xp: array namespace.
        arrays: constants of the roles.
        settings: constants of the grounding.
        frame: the frame.
        grasps: for the stability of objects.
        half: ``[O, ...]``, boxes of the turned objects.
        upright: bool ``[O, ...]``.
        mover: what is put somewhere.
        fits_object: bool ``[O, ...]``, objects of a type that suits it.
        fits_fixture: bool ``[F, ...]``, likewise.
    """
    place, size = mover.place, mover.half
    bottom = place[2] - size[2]
    margin, rise = settings.placement_margin, settings.support_rise
    centers = vectors(frame.object_positions)
    fixtures, insides = vectors(frame.fixture_positions), vectors(frame.interiors)

    def below(center: Vector, foot: Vector) -> Array:
        return (abs(place[0] - center[0]) <= foot[0] + margin) & (
            abs(place[1] - center[1]) <= foot[1] + margin
        )

    # Candidates: the tops of objects, the tops of fixtures, the floors of the insides of both.
    tops = centers[2] + half[2]
    on_top = fixtures[2] + arrays.fixture_half[2]
    floors = insides[2] - arrays.interior_half[2]
    low = bottom + rise
    could_object = below(centers, half) & ((tops <= low) | mover.on_object) & ~mover.ignored
    # Within a receptacle's walls a thing is over its floor, however high they rise.
    inside = arrays.receptacle & within(place, centers, half) & ~mover.ignored & ~could_object
    could_object = could_object | inside
    tops = xp.where(inside, centers[2] - half[2], tops)
    could_top = below(fixtures, arrays.fixture_half) & (on_top <= low) & arrays.top
    could_floor = (
        within(place, insides, _grown(arrays.interior_half, margin))
        & (floors <= low)
        & arrays.enclosure
    )
    # A task target that is touched comes first, then a fixture of that kind, then the highest.
    wanted = mover.on_object & any_of(xp, arrays.held_object & mover.chosen[:, None])
    target = mover.on_fixture & any_of(xp, arrays.held_fixture & mover.chosen[:, None])
    first = any_of(xp, could_object & wanted)
    second = any_of(xp, (could_top | could_floor) & target) & ~first
    could_object = could_object & (wanted | ~first) & ~second
    could_top = could_top & (target | ~second) & ~first
    could_floor = could_floor & (target | ~second) & ~first
    never = np.float32(-1e6)
    heights = (
        xp.where(could_object, tops, never),
        xp.where(could_top, on_top, never),
        xp.where(could_floor, floors, never),
    )
    height = never + xp.zeros_like(bottom)
    for some in heights:
        if some.shape[0]:
            height = xp.maximum(height, greatest_of(xp, some))
    by_object, by_top, by_floor = (
        could & (some >= height)
        for could, some in zip((could_object, could_top, could_floor), heights, strict=True)
    )

    def large_enough(center: Vector, foot: Vector) -> Array:
        return (
            (abs(place[0] - center[0]) <= foot[0])
            & (abs(place[1] - center[1]) <= foot[1])
            & (size[0] <= foot[0] + margin)
            & (size[1] <= foot[1] + margin)
        )

    steady = squared(vectors(frame.fixture_linear)) < settings.linear_stability**2
    good = (
        any_of(
            xp,
            by_object & grasps.stable & upright & large_enough(centers, half) & fits_object,
            axis=0,
        )
        | any_of(
            xp, by_top & steady & large_enough(fixtures, arrays.fixture_half) & fits_fixture, axis=0
        )
        | any_of(
            xp,
            by_floor & steady & large_enough(insides, arrays.interior_half) & fits_fixture,
            axis=0,
        )
    )
    end = (place[0], place[1], height + size[2])
    others = ~(mover.ignored | by_object)
    hits = sweep_hits(xp, place, end, size, centers, half, settings.path_allowance)
    clear = ~any_of(xp, computed_once(xp, hits) & others)

    # Crowding matters to what is fragile.
    reach = settings.placement_proximity
    beside = (
        (abs(centers[0] - place[0]) <= half[0] + size[0] + reach)
        & (abs(centers[1] - place[1]) <= half[1] + size[1] + reach)
        & (abs(centers[2] - half[2] - height) <= settings.clutter_height)
    )
    crowd = sum_of(xp, xp.astype(beside & others, xp.int8))
    fragile = any_of(xp, mover.chosen & arrays.fragile)
    return good & clear & ~(fragile & (crowd > settings.clutter_bound))


def _fixture_ready(
    xp: ModuleType,
    roles: SceneRoles,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    half: Vector,
    upright: Array,
    part: ComponentRole,
    number: int,
) -> Array | None:
    """Bool ``[...]``, or nothing where the kind of fixture and the skill ask for nothing."""
    fixture = roles.fixtures[number]
    joint = frame.joint_fractions[number]
    place = vectors(frame.object_positions)
    if part.skill == "slide" and fixture.slides_when_open:
        return joint >= settings.fixture_fully_open
    if part.skill not in ("press", "turn", "twist"):
        return None
    asks: list[Array] = []
    if fixture.kind in ("microwave", "oven", "dishwasher"):
        unfit = _unlike([o.heatable for o in roles.objects], joint.ndim)
        middle = vector(frame.interiors[number])
        here = within(place, middle, fixture.interior_half or (0.0, 0.0, 0.0))
        asks += [joint <= settings.fixture_fully_closed, ~any_of(xp, here & unfit)]
    if fixture.kind == "sink":
        unfit = _unlike([o.washable for o in roles.objects], joint.ndim)
        asks.append(~any_of(xp, frame.on_fixture[:, number] & unfit))
    if fixture.kind == "blender":
        asks.append(any_of(xp, frame.object_fixture[:, number] & arrays.lid))
    if fixture.kind == "coffee_machine":
        outlet = vector(frame.outlets[number])
        aligned = (abs(place[0] - outlet[0]) <= half[0]) & (abs(place[1] - outlet[1]) <= half[1])
        under = aligned & (place[2] < outlet[2])
        asks.append(any_of(xp, under & upright & arrays.receptacle))
    if part.skill == "twist":
        contents = (frame.liquid > settings.liquid_noise) | any_of(xp, frame.on_object)
        here = frame.on_fixture[:, number] & arrays.receptacle & contents
        asks.append(~any_of(xp, here & ~upright))
    return reduce(and_, asks) if asks else None


def _way_is_clear(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    half: Vector,
    end: Vector,
    size: Vector,
    ignored: Array,
) -> Array:
    """Bool ``[...]``: nothing is in the corridor from the gripper's box to the target's."""
    turned = world_half(quaternion(frame.gripper_quaternion), arrays.gripper_half)
    turned = computed_once(xp, turned)
    hits = sweep_hits(
        xp,
        vector(frame.gripper_position),
        end,
        turned,
        vectors(frame.object_positions),
        half,
        settings.path_allowance,
        size,
    )
    return ~any_of(xp, computed_once(xp, hits) & ~ignored)


def _chosen(xp: ModuleType, target: Array, values: Vector) -> Vector:
    """The vector of the one target; zero without one."""
    return tuple(sum_of(xp, xp.where(target, v, xp.zeros_like(v))) for v in values)


def _grown(half: Vector, margin: float) -> Vector:
    return half[0] + margin, half[1] + margin, half[2]


def _unlike(wanted: list[bool], batch_axes: int) -> Array:
    return ~np.asarray(wanted, dtype=bool).reshape(len(wanted), *(1,) * batch_axes)
