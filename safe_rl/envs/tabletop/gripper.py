"""How the gripper moves: its speed limit, the fixtures in its way, handles, and its fingers."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.fixtures import Box, Fixtures
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.state import Array, Body, Gripper

HALF_DEPTH = 0.034
"""m along y; what the gripper holds is no wider."""
PALM = 0.06
"""m, height of the palm above the fingers."""
LOWEST_TIP = 0.004
"""m above the table."""
HANDLE_OPENING = 0.012
"""m; with fingers closer than this the gripper holds a handle that it is at."""


class Point(NamedTuple):
    """A position."""

    x: Array
    y: Array
    z: Array


def goal(gripper: Gripper, action: Array, parameters: TabletopParameters) -> Point:
    """Where the gripper would be a frame later, were nothing in its way."""
    step = parameters.speed * parameters.frame
    reach = parameters.reach
    return Point(
        jnp.clip(gripper.x + action[0] * step, -reach, reach),
        jnp.clip(gripper.y + action[1] * step, -reach, reach),
        jnp.clip(gripper.z + action[2] * step, LOWEST_TIP, parameters.ceiling),
    )


def half_width(opening: Array, parameters: TabletopParameters) -> Array:
    """Half extent along x of the gripper (m)."""
    return opening + parameters.finger_thickness


def push_out(
    point: Point, box: Box, half_x: Array | float, half_y: Array | float
) -> tuple[Point, Array]:
    """Move a box-like thing, whose lowest point is ``point``, out of a solid one.

    The solid reaches back to the end of the workspace. The thing leaves by the nearest of its
    front, its sides and its top.

    Returns:
        The position, and whether the two touched (bool).
    """
    left = point.x - (box.x0 - half_x)
    right = (box.x1 + half_x) - point.x
    front = point.y - (box.y0 - half_y)
    above = box.z1 - point.z
    inside = (left > 0.0) & (right > 0.0) & (front > 0.0) & (above > 0.0)
    side = jnp.minimum(left, right)
    least = jnp.minimum(jnp.minimum(side, front), above)
    by_side, by_front = side <= least, front <= least
    sideways = jnp.where(left < right, -left, right)
    x = jnp.where(inside & by_side, point.x + sideways, point.x)
    y = jnp.where(inside & ~by_side & by_front, point.y - front, point.y)
    z = jnp.where(inside & ~by_side & ~by_front, point.z + above, point.z)
    return Point(x, y, z), inside


def keep_out(
    before: Gripper, point: Point, fixtures: Fixtures, door: Array | None, p: TabletopParameters
) -> tuple[Point, Array, Array]:
    """Keep the gripper out of cabinet and oven; it may enter the oven through its open front.

    Returns:
        The position, and whether the gripper touched the cabinet and the oven (bool).
    """
    width = half_width(before.opening, p)
    no = jnp.zeros((), bool)
    cabinet, oven = no, no
    if fixtures.drawer is not None:
        point, cabinet = push_out(point, fixtures.drawer.body, width, HALF_DEPTH)
    if fixtures.microwave is not None and door is not None:
        outside, met = push_out(point, fixtures.microwave.body, width, HALF_DEPTH)
        inner, middle = fixtures.microwave.interior, fixtures.microwave.middle
        room_x = 0.5 * (inner.x1 - inner.x0) - width
        top = inner.z1 - (p.finger_length + PALM)

        def fits(x: Array, z: Array) -> Array:
            beside = jnp.abs(x - middle) <= room_x + 1e-4
            return beside & (z >= inner.z0 - 1e-4) & (z <= top + 1e-4)

        was_in = (before.y > inner.y0 - HALF_DEPTH + 1e-4) & fits(before.x, before.z)
        enters = fits(point.x, point.z) & (door >= fixtures.microwave.clearance)
        confined = Point(
            jnp.clip(point.x, middle - room_x, middle + room_x),
            jnp.minimum(point.y, inner.y1 - HALF_DEPTH),
            jnp.clip(point.z, inner.z0, top),
        )
        free = ~met
        passes = ~free & (was_in | enters)
        moved = (confined.x != point.x) | (confined.y != point.y) | (confined.z != point.z)
        oven = (met & ~passes) | (passes & moved)
        point = Point(
            *(
                jnp.where(free, a, jnp.where(passes, b, c))
                for a, b, c in zip(point, confined, outside, strict=True)
            )
        )
    return point, cabinet, oven


def straddled(body: Body, kind: Kind, tip: Point, opening: Array, p: TabletopParameters) -> Array:
    """Whether the object is between the pads, so that closing them takes hold of it (bool)."""
    if not kind.graspable:
        return jnp.zeros((), bool)
    half = half_height(body, kind)
    between = (jnp.abs(body.x - tip.x) < opening) & (jnp.abs(body.y - tip.y) < p.pad_reach)
    low_enough = tip.z < body.z + half - 0.008
    return between & low_enough & (tip.z + p.pad_height > body.z - half + 0.004)


def half_height(body: Body, kind: Kind) -> Array:
    """Half the vertical extent of an object, however it lies (m)."""
    if body.up is None:
        return jnp.asarray(0.5 * kind.height, jnp.float32)
    flat = jnp.sqrt(jnp.maximum(1.0 - body.up.z * body.up.z, 0.0))
    return 0.5 * kind.height * jnp.abs(body.up.z) + kind.radius * flat


def close_fingers(
    gripper: Gripper, command: Array, between: list[Array], kinds: list[Kind], p: TabletopParameters
) -> tuple[Array, Array]:
    """Move the fingers by ``command`` (-1 closes, 1 opens), not into what is between them.

    Returns:
        The opening, and where the fingers were told to be (m).
    """
    target = gripper.opening + command * (p.finger_speed * p.frame)
    target = jnp.clip(target, 0.0, p.finger_open)
    least = jnp.zeros((), jnp.float32)
    for inside, kind in zip(between, kinds, strict=True):
        least = jnp.maximum(least, jnp.where(inside, kind.radius, 0.0))
    told = jnp.where(command > 0.0, p.finger_open, jnp.where(command < 0.0, 0.0, gripper.opening))
    return jnp.maximum(target, least), told
