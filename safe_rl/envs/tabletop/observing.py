"""What a policy observes of a tabletop task: a compact vector of numbers of order one."""

from __future__ import annotations

import jax.numpy as jnp

from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.state import Array, Body, Gripper, TabletopState
from safe_rl.envs.tabletop.tasks.task import Task

PER_METRE = 4.0
"""Lengths are multiplied by this."""


def observe(task: Task, state: TabletopState) -> Array:
    """The observation, float32 ``[D]``.

    Of the gripper: position, velocity, opening (and tilt, in tasks that tilt it). Of each object of
    the task: place relative to the gripper, height, vertical velocity, whether it is held, rests on
    something, leans, is broken, and how full it is, as far as its kind has these. Then where the
    present stage's object is and where it belongs (``Focus``), what the task adds, its stage, and
    for how long the goal has held. Objects that a shift adds are not observed.
    """
    world = state.world
    hand, most = world.gripper, task.layout.parameters.finger_open
    values = [
        PER_METRE * hand.x, PER_METRE * hand.y, PER_METRE * hand.z,
        hand.vx, hand.vy, hand.vz,
        hand.opening / most,
    ]  # fmt: skip
    if task.tilts:
        values.append(hand.tilt)
    for body, kind in zip(world.bodies[: task.observed], task.layout.kinds, strict=False):
        values += _of_object(body, kind, hand)
    focus = task.focus(world, state.stage)
    values += [
        PER_METRE * (a - b) for a, b in zip(focus[:3], (hand.x, hand.y, hand.z), strict=True)
    ]
    values += [-PER_METRE * value for value in focus.offset]
    values += task.goals(world)
    values += [state.stage.astype(jnp.float32), state.held_goal / task.success_frames]
    return jnp.stack([jnp.asarray(value, jnp.float32) for value in values])


def _of_object(body: Body, kind: Kind, hand: Gripper) -> list[Array]:
    values = [
        PER_METRE * (body.x - hand.x),
        PER_METRE * (body.y - hand.y),
        PER_METRE * (body.z - hand.z),
        PER_METRE * body.z,
    ]
    if kind.graspable:
        values += [body.vz, body.held.astype(jnp.float32)]
        values.append((body.support >= 0).astype(jnp.float32))
    if body.up is not None:
        values.append(body.up.z)
    if body.broken is not None:
        values.append(body.broken.astype(jnp.float32))
    if body.liquid is not None:
        values.append(body.liquid)
    return values
