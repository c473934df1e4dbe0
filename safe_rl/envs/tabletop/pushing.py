"""Who pushes whom sideways: fingers against objects, objects against objects, walls against both.

Pushes are quasi-static: what overlaps is moved apart within the frame, and what is not pushed does
not move.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.gripper import Point, half_height
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.state import Array, Body

GRAZE = 1e-4
"""m; what is moved by less was touched but not hit."""
NEAR = 1.5e-3
"""m; what is nearer than this touches."""
OVERLAP = 2e-3
"""m by which two things must overlap in height to push each other."""


class Push(NamedTuple):
    """What pushed one object in a frame.

    Attributes:
        x, y: m, where its centre ends.
        left, right: the finger touches it.
        robot: the gripper touches it.
        hit: m/s, speed of the fastest hit.
        high: m/s, speed of the fastest hit above half its height.
        hit_x, hit_y: direction of the hits, of any length.
    """

    x: Array
    y: Array
    left: Array
    right: Array
    robot: Array
    hit: Array
    high: Array
    hit_x: Array
    hit_y: Array


def by_fingers(
    body: Body, kind: Kind, tip: Point, opening: Array, speed: Array, p: TabletopParameters
) -> Push:
    """Push an object that is not held away from the two fingers.

    Args:
        body: the object.
        kind: its kind.
        tip: the gripper, after its motion.
        opening: of its fingers, after their motion.
        speed: m/s of the gripper.
        p: the parameters.
    """
    half = half_height(body, kind)
    level = (tip.z < body.z + half - OVERLAP) & (tip.z + p.finger_length > body.z - half)
    x, y = body.x, body.y
    touched = []
    half_x = 0.5 * p.finger_thickness
    deepest = jnp.zeros((), jnp.float32)
    for side in (-1.0, 1.0):
        centre = tip.x + side * (opening + half_x)
        # From the nearest point of the finger's cross-section to the object's axis.
        dx = x - jnp.clip(x, centre - half_x, centre + half_x)
        dy = y - jnp.clip(y, tip.y - p.finger_half_depth, tip.y + p.finger_half_depth)
        # An axis that is inside the finger leaves it towards the middle of the gripper.
        apart = jnp.sqrt(dx * dx + dy * dy + 1e-12)
        buried = apart < 1e-5
        dx = jnp.where(buried, -side, dx / apart)
        dy = jnp.where(buried, 0.0, dy / apart)
        depth = kind.radius - apart
        pushed = jnp.where(level & (depth > 0.0), depth, 0.0)
        x, y = x + pushed * dx, y + pushed * dy
        deepest = jnp.maximum(deepest, pushed)
        touched.append(level & (depth > -NEAR))
    # A palm that comes down on something touches it; what is under it does not give way.
    under_palm = (jnp.abs(x - tip.x) < opening + kind.radius) & (
        jnp.abs(y - tip.y) < p.finger_half_depth + kind.radius
    )
    palm = under_palm & (body.z + half > tip.z + p.finger_length) & (body.z - half < tip.z + 0.2)
    hit = jnp.where((deepest > GRAZE) | palm, speed, 0.0)
    high = jnp.where((tip.z > body.z) | palm, hit, 0.0)
    robot = touched[0] | touched[1] | palm
    return Push(x, y, touched[0], touched[1], robot, hit, high, x - body.x, y - body.y)


def apart(
    pushes: list[Push],
    bodies: tuple[Body, ...],
    kinds: tuple[Kind, ...],
    held: list[Array],
    speed: Array,
    frame: float,
) -> tuple[list[Push], dict[tuple[int, int], Array]]:
    """Move overlapping objects apart; one that is held pushes the other all the way.

    Returns:
        The pushes with these added, and for each pair of objects whether they touch.
    """
    count = len(bodies)
    halves = [half_height(body, kind) for body, kind in zip(bodies, kinds, strict=True)]
    shift_x: list[Array | float] = [0.0] * count
    shift_y: list[Array | float] = [0.0] * count
    hits: list[Array] = [push.hit for push in pushes]
    highs: list[Array] = [push.high for push in pushes]
    touching: dict[tuple[int, int], Array] = {}
    for i in range(count):
        for j in range(i + 1, count):
            dx, dy = pushes[i].x - pushes[j].x, pushes[i].y - pushes[j].y
            room = kinds[i].radius + kinds[j].radius
            distance = jnp.sqrt(dx * dx + dy * dy + 1e-12)
            low_i, low_j = bodies[i].z - halves[i], bodies[j].z - halves[j]
            common = jnp.minimum(bodies[i].z + halves[i], bodies[j].z + halves[j])
            overlap = common - jnp.maximum(low_i, low_j)
            depth = room - distance
            beside = overlap > OVERLAP
            pushed = jnp.where(beside, jnp.maximum(depth, 0.0), 0.0)
            near = (depth > -NEAR) & (overlap > -OVERLAP)
            touching[i, j] = near
            share_i = jnp.where(held[i], 0.0, jnp.where(held[j], 1.0, 0.5))
            share_j = jnp.where(held[j], 0.0, jnp.where(held[i], 1.0, 0.5))
            along = pushed / distance
            shift_x[i] = shift_x[i] + share_i * along * dx
            shift_y[i] = shift_y[i] + share_i * along * dy
            shift_x[j] = shift_x[j] - share_j * along * dx
            shift_y[j] = shift_y[j] - share_j * along * dy
            carried = held[i] | held[j]
            hit = jnp.where(pushed > GRAZE, jnp.where(carried, speed, pushed / frame), 0.0)
            hits[i] = jnp.maximum(hits[i], hit)
            hits[j] = jnp.maximum(hits[j], hit)
            highs[i] = jnp.maximum(highs[i], jnp.where(low_j > bodies[i].z, hit, 0.0))
            highs[j] = jnp.maximum(highs[j], jnp.where(low_i > bodies[j].z, hit, 0.0))
    moved = [
        push._replace(
            x=push.x + shift_x[i],
            y=push.y + shift_y[i],
            hit=hits[i],
            high=highs[i],
            hit_x=push.hit_x + shift_x[i],
            hit_y=push.hit_y + shift_y[i],
        )
        for i, push in enumerate(pushes)
    ]
    return moved, touching
