"""How the drawer and the oven's door move: by their handles, by a push, until something blocks."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.fixtures import Drawer, Microwave
from safe_rl.envs.tabletop.gripper import HALF_DEPTH, HANDLE_OPENING, Point, half_height, half_width
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.state import Array, Body, Gripper

QUARTER = 1.5707964
"""rad, the angle of the fully open door."""


class JointMotion(NamedTuple):
    """What became of a joint and of the gripper that moved it.

    Attributes:
        fraction: of the joint, 0 closed and 1 fully open.
        goal: where the gripper goes.
        robot: the gripper holds the handle or pushes the moving part (bool).
        blocked: per object, the moving part ran into it (bool).
    """

    fraction: Array
    goal: Point
    robot: Array
    blocked: tuple[Array, ...]


def move_drawer(
    drawer: Drawer,
    fraction: Array,
    gripper: Gripper,
    goal: Point,
    bodies: tuple[Body, ...],
    kinds: tuple[Kind, ...],
    inside: list[Array],
    p: TabletopParameters,
) -> JointMotion:
    """Pull or push the drawer by its handle, or push its front.

    An object that stands before the front slows it down on its way out, and is pushed along; one in
    the drawer that is too high for the cabinet stops it on its way in.
    """
    x, y, z = drawer.handle(fraction)
    near = (jnp.abs(gripper.x - x) < p.handle_reach) & (jnp.abs(gripper.y - y) < p.handle_reach)
    near = near & (jnp.abs(gripper.z - z) < p.handle_reach)
    holds = near & (gripper.opening < HANDLE_OPENING)
    face = drawer.face(fraction)
    width = half_width(gripper.opening, p)
    beside = jnp.abs(gripper.x - drawer.x) < drawer.half_width + width
    in_front = (gripper.y <= face - p.finger_half_depth + 1e-4) & (goal.z < drawer.drawer_height)
    pressed = goal.y + p.finger_half_depth - face
    pushes = ~holds & beside & in_front & (pressed > 0.0)
    pull = jnp.where(holds, gripper.y - goal.y, jnp.where(pushes, -pressed, 0.0))
    most_pull = p.joint_speed * p.frame
    pull = jnp.clip(pull, -most_pull, most_pull)
    wanted = jnp.clip(fraction + pull / drawer.travel, 0.0, 1.0)
    most, least = jnp.ones((), jnp.float32), jnp.zeros((), jnp.float32)
    limits = []
    for body, kind, housed in zip(bodies, kinds, inside, strict=True):
        half = half_height(body, kind)
        before = jnp.abs(body.x - drawer.x) < drawer.half_width + kind.radius
        before = before & (body.z - half < drawer.drawer_height) & ~housed & ~body.held
        before = before & (body.y < face)
        out = jnp.where(before, (drawer.front - body.y - kind.radius) / drawer.travel, 1.0)
        tall = housed & (body.z + half > drawer.height)
        back = jnp.where(tall, (body.y + kind.radius - face) / drawer.travel, 0.0)
        # What already touches the front neither pushes it back nor pulls it on.
        out, back = jnp.maximum(out, fraction), jnp.minimum(back, fraction)
        most = jnp.minimum(most, out + p.shove_speed * p.frame / drawer.travel)
        least = jnp.maximum(least, back)
        limits.append((before, out, tall, back))
    moved = jnp.clip(wanted, least, most)
    blocked = tuple(
        (b & (wanted > out) & (moved >= out)) | (t & (wanted < back) & (moved <= back))
        for b, out, t, back in limits
    )
    travelled = drawer.travel * (moved - fraction)
    after = jnp.where(
        holds,
        gripper.y - travelled,
        jnp.where(pushes, drawer.face(moved) - p.finger_half_depth, goal.y),
    )
    return JointMotion(moved, goal._replace(y=after), holds | pushes, blocked)


def door_handle(microwave: Microwave, fraction: Array) -> tuple[Array, Array, Array, Array]:
    """Position x, y of the door's handle, and the cosine and sine of the door's angle."""
    angle = QUARTER * fraction
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    x, y = microwave.hinge
    arm, out = microwave.door_width - 0.03, HALF_DEPTH
    return x + arm * cosine - out * sine, y - arm * sine - out * cosine, cosine, sine


def move_door(
    microwave: Microwave,
    fraction: Array,
    gripper: Gripper,
    goal: Point,
    bodies: tuple[Body, ...],
    kinds: tuple[Kind, ...],
    p: TabletopParameters,
) -> JointMotion:
    """Turn the door by its handle, until it meets an object in its way."""
    x, y, cosine, sine = door_handle(microwave, fraction)
    near = (jnp.abs(gripper.x - x) < p.handle_reach) & (jnp.abs(gripper.y - y) < p.handle_reach)
    near = near & (jnp.abs(gripper.z - microwave.handle_z) < p.handle_reach)
    holds = near & (gripper.opening < HANDLE_OPENING)
    along = -(goal.x - gripper.x) * sine - (goal.y - gripper.y) * cosine
    arm = microwave.door_width - 0.03
    most_turn = 2.0 * p.joint_speed * p.frame
    turn = jnp.where(holds, jnp.clip(along, -most_turn, most_turn) / (arm * QUARTER), 0.0)
    wanted = jnp.clip(fraction + turn, 0.0, 1.0)
    most, least = jnp.ones((), jnp.float32), jnp.zeros((), jnp.float32)
    limits = []
    hinge_x, front = microwave.hinge
    for body, kind in zip(bodies, kinds, strict=True):
        across, out = body.x - hinge_x, front - body.y
        distance = jnp.sqrt(across * across + out * out + 1e-9)
        swept = (distance < microwave.door_width + kind.radius) & (out > 0.0) & ~body.held
        swept = swept & (body.z < microwave.height) & (body.z > 0.0)
        bearing = jnp.arctan2(out, across) / QUARTER
        margin = (kind.radius + 0.01) / (jnp.maximum(distance, kind.radius) * QUARTER)
        ahead = swept & (bearing >= fraction)
        behind = swept & (bearing < fraction)
        top = jnp.maximum(jnp.where(ahead, bearing - margin, 1.0), fraction)
        bottom = jnp.minimum(jnp.where(behind, bearing + margin, 0.0), fraction)
        most, least = jnp.minimum(most, top), jnp.maximum(least, bottom)
        limits.append((ahead, top, behind, bottom))
    moved = jnp.clip(wanted, least, most)
    blocked = tuple(
        (a & (wanted > top) & (moved >= top)) | (b & (wanted < bottom) & (moved <= bottom))
        for a, top, b, bottom in limits
    )
    new_x, new_y, _, _ = door_handle(microwave, moved)
    led = Point(gripper.x + new_x - x, gripper.y + new_y - y, gripper.z)
    place = Point(*(jnp.where(holds, a, b) for a, b in zip(led, goal, strict=True)))
    return JointMotion(moved, place, holds, blocked)
