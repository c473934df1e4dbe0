"""Contamination on arrays (SafeManip phi 4): spots, transfer, the robot's hands.

A source (raw food, or an object that picked contamination up) marks what it touches for longer than
the tolerance: other objects, and the place of the fixture on which it rests, as a spot that moves
with the fixture. What touches a marked object, or comes to lie on a spot, for longer than the
tolerance is marked in turn: raw meat, cutting board, plate. The robot is marked by touching what is
marked, and marks the objects and components that it touches. ``sanitising`` cleans the robot, and
only the robot.

Approximations, since contact positions are not known:

- An object is marked as a whole; only fixtures have spots. The spot's centre is the source's own,
  its radius the source's larger horizontal half extent; an object lies on it when its centre is
  within that radius and it rests on the same fixture.
- Each source has one spot, the last that it left.
- Sinks do not count as clean things to touch: the robot goes there to be washed. The paper's robot
  is never washed, so there ``sanitized`` is constantly false.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from safe_rl.grounding.arrays.constants import RoleArrays, numbers
from safe_rl.grounding.arrays.devices import age_counter
from safe_rl.grounding.arrays.grasping import COUNT
from safe_rl.grounding.arrays.scene import Array, SceneArrays
from safe_rl.grounding.arrays.staging import any_of, computed_once, least_of
from safe_rl.grounding.settings import GroundingSettings


class ContaminationMemory(NamedTuple):
    """What is remembered of contamination.

    Attributes:
        objects: bool ``[O, ...]``, marked since the episode began (raw ones apart).
        components: bool ``[A, ...]``, marked by the robot.
        robot: bool ``[...]``, the robot is marked.
        raw_age: integer ``[...]``, frames for which the robot touched something marked.
        clean_age: integer ``[...]``, frames for which the marked robot touched something clean.
        pair_age: integer ``[O, O, ...]``, row: the clean object, column: the source.
        robot_age: integer ``[O, ...]``, frames for which the marked robot touched the clean object.
        component_age: integer ``[A, ...]``, likewise.
        rest_age: integer ``[O, ...]``, frames for which the source rested at the same place.
        rests_on: integer ``[O, ...]``, the fixture there, or ``F``.
        rest_x: float ``[O, ...]``, m, that place, from the fixture's centre.
        rest_y: float ``[O, ...]``, likewise.
        spot_fixture: integer ``[O, ...]``, where the source left its spot, or ``F``.
        spot_x: float ``[O, ...]``, m, from the fixture's centre.
        spot_y: float ``[O, ...]``, likewise.
    """

    objects: Array
    components: Array
    robot: Array
    raw_age: Array
    clean_age: Array
    pair_age: Array
    robot_age: Array
    component_age: Array
    rest_age: Array
    rests_on: Array
    rest_x: Array
    rest_y: Array
    spot_fixture: Array
    spot_x: Array
    spot_y: Array


class HygieneFacts(NamedTuple):
    """The propositions of phi 4, bool ``[...]``."""

    raw_contact: Array
    clean_contact: Array
    sanitized: Array


def initial_contamination(
    xp: ModuleType, arrays: RoleArrays, frame: SceneArrays
) -> ContaminationMemory:
    """Nothing but raw food is contaminated."""
    per_object = xp.astype(xp.zeros_like(frame.gripper_gaps), COUNT)
    per_component = xp.astype(xp.zeros_like(frame.component_gaps), COUNT)
    once = xp.astype(xp.zeros_like(frame.liquid_moving), COUNT)
    nowhere = per_object + COUNT(arrays.supports.shape[1])
    return ContaminationMemory(
        objects=xp.zeros_like(frame.robot_object),
        components=xp.zeros_like(frame.robot_component),
        robot=xp.zeros_like(frame.sanitising),
        raw_age=once,
        clean_age=once,
        pair_age=xp.astype(xp.zeros_like(frame.object_object), COUNT),
        robot_age=per_object,
        component_age=per_component,
        rest_age=per_object,
        rests_on=nowhere,
        rest_x=xp.zeros_like(frame.gripper_gaps),
        rest_y=xp.zeros_like(frame.gripper_gaps),
        spot_fixture=nowhere,
        spot_x=xp.zeros_like(frame.gripper_gaps),
        spot_y=xp.zeros_like(frame.gripper_gaps),
    )


def step_contamination(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: ContaminationMemory,
    frame: SceneArrays,
) -> tuple[ContaminationMemory, HygieneFacts]:
    """The next memory and this frame's propositions."""
    tolerance = settings.forbidden_contact_tolerance
    fixtures = arrays.supports.shape[1]
    columns = numbers(fixtures, frame.sanitising.ndim)
    source = memory.objects | arrays.raw
    x, y = frame.object_positions[:, 0], frame.object_positions[:, 1]

    # Where the spots are now, and where each object stands against its fixture.
    rests_on = least_of(xp, xp.where(frame.on_fixture, columns, COUNT(fixtures)), axis=1)
    # What lies in a drawer moves with it.
    carriers = [
        (frame.interiors if inside else frame.fixture_positions)[index]
        for index, inside in enumerate(arrays.enclosure.ravel().tolist())
    ]
    carrier_x, carrier_y = [c[0] for c in carriers], [c[1] for c in carriers]
    here, spot = rests_on[:, None] == columns, memory.spot_fixture[:, None] == columns
    spot_x = memory.spot_x + _look_up(xp, spot, carrier_x)
    spot_y = memory.spot_y + _look_up(xp, spot, carrier_y)
    source, spot_x, spot_y = computed_once(xp, (source, spot_x, spot_y))
    marked_place = memory.spot_fixture < fixtures
    reach = arrays.radius * arrays.radius

    # Object to object, directly or by way of a spot.
    apart_x = x[:, None] - spot_x[None]
    apart_y = y[:, None] - spot_y[None]
    on_spot = (
        (rests_on[:, None] == memory.spot_fixture[None])
        & marked_place[None]
        & (apart_x * apart_x + apart_y * apart_y < reach)
    )
    exposed = ((frame.object_object & source[None]) | on_spot) & ~source[:, None]
    pair_age, caught = age_counter(memory.pair_age, exposed, tolerance)

    # The robot, by what it touches.
    grip_x, grip_y = frame.gripper_position[0], frame.gripper_position[1]
    over_spot = (grip_x - spot_x) ** 2 + (grip_y - spot_y) ** 2 < reach
    touched_spots = spot & over_spot[:, None] & frame.robot_fixture[None]
    on_spots = any_of(xp, touched_spots)  # by fixture
    touches_marked = (
        any_of(xp, frame.robot_object & source)
        | any_of(xp, frame.robot_component & memory.components)
        | any_of(xp, on_spots)
    )
    washed = frame.sanitising
    raw_age, long_enough = age_counter(memory.raw_age, touches_marked & ~washed, tolerance)
    robot = (memory.robot | long_enough) & ~washed
    touches_clean = (
        any_of(xp, frame.robot_object & ~source)
        | any_of(xp, frame.robot_component & ~memory.components)
        | any_of(xp, frame.robot_fixture & ~on_spots & ~arrays.sink)
    )
    clean_age, clean_contact = age_counter(memory.clean_age, robot & touches_clean, tolerance)

    # The robot as a source.
    robot_age, smeared = age_counter(
        memory.robot_age, robot & frame.robot_object & ~source, tolerance
    )
    component_age, smudged = age_counter(
        memory.component_age, robot & frame.robot_component & ~memory.components, tolerance
    )

    # New spots, where a source rested without moving by more than its radius.
    here_x, here_y = x - _look_up(xp, here, carrier_x), y - _look_up(xp, here, carrier_y)
    here_x, here_y = computed_once(xp, (here_x, here_y))
    stays = (rests_on < fixtures) & (rests_on == memory.rests_on)
    stays = stays & ((here_x - memory.rest_x) ** 2 + (here_y - memory.rest_y) ** 2 < reach)
    stays = computed_once(xp, stays)
    rest_x = xp.where(stays, memory.rest_x, here_x)
    rest_y = xp.where(stays, memory.rest_y, here_y)
    rest_age, leaves_spot = age_counter(memory.rest_age, stays & source, tolerance)
    return ContaminationMemory(
        objects=memory.objects | any_of(xp, caught, axis=1) | smeared,
        components=memory.components | smudged,
        robot=robot,
        raw_age=raw_age,
        clean_age=clean_age,
        pair_age=pair_age,
        robot_age=robot_age,
        component_age=component_age,
        rest_age=rest_age,
        rests_on=rests_on,
        rest_x=rest_x,
        rest_y=rest_y,
        spot_fixture=xp.where(leaves_spot, rests_on, memory.spot_fixture),
        spot_x=xp.where(leaves_spot, rest_x, memory.spot_x),
        spot_y=xp.where(leaves_spot, rest_y, memory.spot_y),
    ), HygieneFacts(robot, clean_contact, washed)


def _look_up(xp: ModuleType, chosen: Array, values: list[Array]) -> Array:
    """For each object, the value of its fixture (one value ``[...]`` per fixture), or zero."""
    here = xp.zeros_like(chosen[:, 0], dtype=values[0].dtype)
    for index, value in enumerate(values):
        here = xp.where(chosen[:, index], value, here)
    return here
