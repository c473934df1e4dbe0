"""How things topple, break and lose their liquid."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.fixtures import Sink
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.state import Array, Body, Up


def topple(
    up: Up,
    held: Array,
    supported: Array,
    tilt: tuple[Array, Array],
    push: tuple[Array, Array, Array, Array],
    p: TabletopParameters,
) -> Up:
    """The axis of an object a frame later.

    In the gripper it turns with it; on a support it topples when pushed too fast, or once it leans
    past the angle at which it falls by itself, and else stands up again.

    Args:
        up: the axis now.
        held: the gripper holds it.
        supported: it rests on something.
        tilt: sine and cosine of the gripper's tilt.
        push: speed of the hit (m/s), of the hit above half height, and the hit's direction x, y.
        p: the parameters.
    """
    hit, high, hit_x, hit_y = push
    knocked = (hit > p.tip_speed) | (high > p.tip_speed_high)
    length = jnp.sqrt(hit_x * hit_x + hit_y * hit_y + 1e-12)
    lean = jnp.sqrt(up.x * up.x + up.y * up.y + 1e-12)
    falling = up.z < p.tip_angle_cosine
    start = knocked & ~falling
    # Direction in which it leans, or in which it starts to.
    way_x = jnp.where(start, hit_x / length, up.x / lean)
    way_y = jnp.where(start, hit_y / length, up.y / lean)
    turn = p.tip_rate * p.frame
    # A knock tips it past the angle of no return at once.
    sine_0 = jnp.where(start, (1.0 - p.tip_angle_cosine**2) ** 0.5, lean)
    cosine_0 = jnp.where(start, p.tip_angle_cosine, up.z)
    sine = sine_0 * math.cos(turn) + cosine_0 * math.sin(turn)
    cosine = cosine_0 * math.cos(turn) - sine_0 * math.sin(turn)
    lies = cosine <= 0.0
    sine, cosine = jnp.where(lies, 1.0, sine), jnp.where(lies, 0.0, cosine)
    moves = supported & (falling | start)
    free_x = jnp.where(moves, way_x * sine, jnp.where(falling, up.x, 0.0))
    free_y = jnp.where(moves, way_y * sine, jnp.where(falling, up.y, 0.0))
    free_z = jnp.where(moves, cosine, jnp.where(falling, up.z, 1.0))
    x = jnp.where(held, 0.0, free_x)
    y = jnp.where(held, -tilt[0], free_y)
    z = jnp.where(held, tilt[1], free_z)
    # Angular velocity: the axis now times its change.
    dx, dy, dz = (x - up.x) / p.frame, (y - up.y) / p.frame, (z - up.z) / p.frame
    return Up(x, y, z, up.y * dz - up.z * dy, up.z * dx - up.x * dz)


def breaks(
    broken: Array, held: Array, squeeze: Array, hit: Array, landing: Array, p: TabletopParameters
) -> Array:
    """Whether a fragile object is broken after this frame (bool), given whether it was before."""
    now = (hit > p.break_speed) | (landing > p.drop_break_speed)
    return broken | now | (held & (squeeze > p.squeeze_limit))


class Outflow(NamedTuple):
    """Liquid that leaves one container in one frame, and what is left in it."""

    lost: Array
    left: Array


def flow_out(inside: Array, up: Up, jolt: Array, p: TabletopParameters) -> Outflow:
    """Liquid flows out of what is tilted, and splashes out of what is jolted at ``jolt`` m/s.

    ``inside`` is the amount in the container.
    """
    poured = jnp.where(up.z < p.spill_cosine, p.pour_rate * p.frame, 0.0)
    splashed = jnp.where(jolt > p.splash_speed, p.splash, 0.0)
    lost = jnp.minimum(inside, poured + splashed)
    return Outflow(lost, inside - lost)


def below(x: Array, y: Array, z: Array, sink: Sink | None) -> Array:
    """Whether what falls from there ends in the sink (bool)."""
    if sink is None:
        return jnp.zeros((), bool)
    return sink.body.over(x, y) & (z > 0.0)


def catches(i: int, j: int, bodies: list[Body], kinds: tuple[Kind, ...]) -> Array:
    """Whether container ``j`` catches what flows out of ``i`` (bool): it is below, and upright."""
    source, target = bodies[i], bodies[j]
    dx, dy = source.x - target.x, source.y - target.y
    close = dx * dx + dy * dy < (kinds[j].radius + kinds[i].height * 0.5) ** 2
    upright = jnp.ones((), bool) if target.up is None else target.up.z > 0.9
    return close & upright & (target.z < source.z)
