"""Scripted policies: for each task a careful way, which keeps the rules, and a hasty one.

They read the state, not the observation, remember nothing, and are pure, so that they can be mapped
over lanes. They show that the tasks can be done safely, and serve as demonstrations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import jax.numpy as jnp

from safe_rl.envs.tabletop.gripper import HANDLE_OPENING
from safe_rl.envs.tabletop.state import Array, Body, Gripper, World
from safe_rl.envs.tabletop.tasks.cook import OVEN, SINK
from safe_rl.envs.tabletop.tasks.drawer import CABINET
from safe_rl.envs.tabletop.tasks.task import Task, rests_on


class Situation(Protocol):
    """What a scripted policy reads of a state: ``TabletopState`` has it."""

    @property
    def world(self) -> World:
        """Everything that moves."""

    @property
    def stage(self) -> Array:
        """int32, how many stages of the task are done."""


Policy = Callable[[Situation], Array]
Number: TypeAlias = Array | float

OPEN, CLOSE, KEEP = 1.0, -0.7, -0.2
LOADED_CAP = 0.5
"""Largest action while something is held: along two axes at once it does not slip yet."""


class Style(NamedTuple):
    """How careful a policy is.

    Attributes:
        travel: m, height of the finger tips on the way.
        cap: largest action along each axis.
        drop: m above its support from which an object is let go.
        open_to: joint fraction to which the drawer is opened.
        wash: whether the gripper is washed after raw food.
    """

    travel: float
    cap: float
    drop: float
    open_to: float
    wash: bool


CAREFUL = Style(travel=0.19, cap=0.55, drop=0.0, open_to=0.75, wash=True)
HASTY = Style(travel=0.1, cap=0.7, drop=0.06, open_to=0.46, wash=False)


class Command(NamedTuple):
    """A place to go to (m), and what the fingers do."""

    x: Array
    y: Array
    z: Array
    fingers: Array


def command(x: Number, y: Number, z: Number, fingers: Number) -> Command:
    """A command from numbers and arrays."""
    return Command(*(jnp.asarray(v, jnp.float32) for v in (x, y, z, fingers)))


def choose(condition: Array, one: Command, other: Command) -> Command:
    """``one`` where the condition holds, else ``other``."""
    return Command(*(jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)))


def scripted_policy(task: Task, style: Style = CAREFUL) -> Policy:
    """The scripted policy of a task (``TabletopEnv.task``): state to action ``[4]`` or ``[5]``."""
    plan = {"lift": _lift, "place": _put_on, "stack": _put_on, "drawer": _drawer, "cook": _cook}[
        task.name
    ]
    step = task.layout.parameters.speed * task.layout.parameters.frame

    def policy(state: Situation) -> Array:
        hand = state.world.gripper
        to = plan(task, state, style)
        move = [(to.x - hand.x) / step, (to.y - hand.y) / step, (to.z - hand.z) / step]
        held = jnp.zeros((), bool)
        for body in state.world.bodies:
            held = held | body.held
        loaded = style.cap if task.name == "lift" else min(style.cap, LOADED_CAP)
        cap = jnp.where(held, loaded, style.cap)
        action = [*(jnp.clip(v, -cap, cap) for v in move), to.fingers]
        if task.tilts:
            action.append(-hand.tilt)
        return jnp.stack(action)

    return policy


def _grasp_height(task: Task, i: int) -> float:
    """How far below its centre an object is grasped (m): what can tip, below half its height."""
    return 0.012 if task.layout.kinds[i].tips else 0.004


def _fetch(task: Task, hand: Gripper, body: Body, i: int, style: Style) -> Command:
    """Go above an object, down around it, and close the fingers."""
    away = jnp.maximum(jnp.abs(hand.x - body.x), jnp.abs(hand.y - body.y))
    at = body.z - _grasp_height(task, i)
    travel = jnp.maximum(style.travel, body.z + 0.5 * task.layout.kinds[i].height + 0.03)
    low = (hand.z < travel - 0.02) & (away > 0.012)
    rise = command(hand.x, hand.y, travel, OPEN)
    over = command(body.x, body.y, travel, OPEN)
    down = command(body.x, body.y, at, OPEN)
    close = command(hand.x, hand.y, hand.z, CLOSE)
    there = (away < 0.012) & (jnp.abs(hand.z - at) < 0.006)
    plan = choose(away < 0.004, down, over)
    plan = choose(low, rise, plan)
    return choose(there, close, plan)


def _carry(
    hand: Gripper, body: Body, goal: tuple[Array, Array, Array], style: Style, half: float
) -> Command:
    """Bring a held object above its goal, then down, and let it go."""
    away = jnp.maximum(jnp.abs(body.x - goal[0]), jnp.abs(body.y - goal[1]))
    travel = style.travel
    rise = command(hand.x, hand.y, travel, KEEP)
    over = command(hand.x + goal[0] - body.x, hand.y + goal[1] - body.y, travel, KEEP)
    lowest = hand.z + goal[2] - body.z
    down = command(over.x, over.y, lowest - 0.002, KEEP)
    free = command(hand.x, hand.y, hand.z, OPEN)
    plan = choose(away < 0.008, down, over)
    plan = choose((hand.z < travel - 0.02) & (away > 0.02), rise, plan)
    let_go = (away < 0.02) & (body.z - goal[2] < style.drop + 0.002)
    return choose(let_go, free, plan)


def _back_off(hand: Gripper, body: Body, style: Style) -> Command:
    """Open the fingers, then go up."""
    narrow = hand.opening < 0.038
    up = command(hand.x, hand.y, jnp.maximum(style.travel, 0.12), OPEN)
    return choose(narrow, command(hand.x, hand.y, hand.z, OPEN), up)


def _lift(task: Task, state: Situation, style: Style) -> Command:
    hand, body = state.world.gripper, state.world.bodies[0]
    raised = command(hand.x, hand.y, hand.z + (0.22 - body.z), KEEP)
    return choose(body.held, raised, _fetch(task, hand, body, 0, style))


def _put_on(task: Task, state: Situation, style: Style) -> Command:
    """Place and stack: the first object goes onto the second."""
    return _serve(task, state, 0, 1, style)


def _serve(task: Task, state: Situation, i: int, j: int, style: Style) -> Command:
    hand, body, below = state.world.gripper, state.world.bodies[i], state.world.bodies[j]
    half = 0.5 * task.layout.kinds[i].height
    goal = (below.x, below.y, below.z + 0.5 * task.layout.kinds[j].height + half)
    fetch = _fetch(task, hand, body, i, style)
    plan = choose(body.held, _carry(hand, body, goal, style, half), fetch)
    falling = (body.support < 0) & ~body.held
    plan = choose(falling, command(hand.x, hand.y, hand.z, OPEN), plan)
    return choose(rests_on(body, j), _back_off(hand, body, style), plan)


def _drawer(task: Task, state: Situation, style: Style) -> Command:
    world = state.world
    hand, body = world.gripper, world.bodies[0]
    fraction = jnp.zeros((), jnp.float32) if world.drawer is None else world.drawer
    x, y, z = CABINET.handle(fraction)
    face = CABINET.face(fraction)
    travel = max(style.travel, 0.16)
    # Open: down onto the handle, close, pull.
    off = jnp.maximum(jnp.abs(hand.x - x), jnp.abs(hand.y - y))
    over, on = command(x, y, travel, OPEN), command(x, y, z, OPEN)
    at = (off < 0.025) & (jnp.abs(hand.z - z) < 0.025)
    closed = hand.opening < HANDLE_OPENING
    pull = command(hand.x, jnp.where(closed, hand.y - 0.1, hand.y), hand.z, CLOSE)
    up = command(hand.x, hand.y, travel, OPEN)
    opening = choose(off < 0.01, on, over)
    opening = choose((hand.z < travel - 0.02) & (off > 0.025), up, opening)
    opening = choose(at, pull, opening)
    # Put in.
    half = 0.5 * task.layout.kinds[0].height
    room = CABINET.interior(fraction)
    middle = 0.5 * (room.y0 + jnp.minimum(room.y1, CABINET.front - 0.005))
    goal = (jnp.asarray(CABINET.x), middle, jnp.asarray(room.z0 + half))
    high = style._replace(travel=travel)
    putting = choose(
        body.held, _carry(hand, body, goal, high, half), _fetch(task, hand, body, 0, high)
    )
    falling = (body.support < 0) & ~body.held
    putting = choose(falling, command(hand.x, hand.y, hand.z, OPEN), putting)
    inside = rests_on(body, task.surface("drawer"))
    # Shut: up, over to the front, down, push.
    front = face - 0.06
    in_front = (hand.y < face - 0.011) & (jnp.abs(hand.x - x) < 0.1)
    push = command(hand.x, hand.y + 0.1, 0.05, OPEN)
    descend = command(x, front, 0.05, OPEN)
    shutting = choose(hand.z < 0.08, push, descend)
    aside = choose(hand.z < travel - 0.02, up, command(x, front, travel, OPEN))
    shutting = choose(in_front, shutting, aside)
    plan = choose(inside, shutting, putting)
    started = at & (hand.opening < 0.02) & (fraction < style.open_to)
    started = (started | ((state.stage == 0) & (fraction < style.open_to))) & ~body.held & ~inside
    leaving = at & (hand.opening < 0.035) & ~body.held & ~inside
    plan = choose(leaving, command(hand.x, hand.y, hand.z, OPEN), plan)
    return choose(started, opening, plan)


def _cook(task: Task, state: Situation, style: Style) -> Command:
    hand, raw = state.world.gripper, state.world.bodies[0]
    half = 0.5 * task.layout.kinds[0].height
    # Into the oven: before it at travel height, down, in, down, let go; then out backwards.
    before_y, inside_y = OVEN.front - 0.12, OVEN.front + 0.08
    rest = OVEN.interior.z0 + half
    enter = hand.z + (rest + 0.012) - raw.z
    off = jnp.maximum(jnp.abs(raw.x - OVEN.middle), jnp.maximum(before_y - 0.012 - raw.y, 0.0))
    travel = max(style.travel, 0.12)
    rise = command(hand.x, hand.y, travel, KEEP)
    over = command(OVEN.middle, before_y, travel, KEEP)
    lower = command(OVEN.middle, before_y, enter, KEEP)
    go_in = command(OVEN.middle, inside_y, enter, KEEP)
    settle = command(hand.x, hand.y, hand.z - 0.02, KEEP)
    free = command(hand.x, hand.y, hand.z, OPEN)
    carry = choose(jnp.abs(hand.z - enter) < 0.01, go_in, lower)
    carry = choose((off > 0.02) & (hand.z < travel - 0.02), rise, choose(off > 0.02, over, carry))
    carry = choose(raw.y > inside_y - 0.02, settle, carry)
    low = raw.z - rest < style.drop * 0.2 + 0.003
    carry = choose((raw.y > inside_y - 0.02) & low, free, carry)
    cooking = choose(raw.held, carry, _fetch(task, hand, raw, 0, style._replace(travel=travel)))
    falling = (raw.support < 0) & ~raw.held
    cooking = choose(falling, free, cooking)
    # Wash.
    near = (jnp.abs(hand.x - SINK.x) < 0.04) & (jnp.abs(hand.y - SINK.y) < 0.04)
    over_sink = command(SINK.x, SINK.y, jnp.maximum(travel, 0.0), OPEN)
    wash = choose(near, command(SINK.x, SINK.y, 0.05, OPEN), over_sink)
    serve = _serve(task, state, 1, 2, style)
    if style.wash:
        serve = choose(hand.contaminated & ~rests_on(state.world.bodies[1], 2), wash, serve)
    # Out of the oven first.
    in_oven = (hand.y > OVEN.front - 0.06) & (jnp.abs(hand.x - OVEN.middle) < 0.2)
    narrow = hand.opening < 0.039
    leave = choose(narrow, free, command(hand.x, OVEN.front - 0.15, hand.z, OPEN))
    serve = choose(in_oven, leave, serve)
    return choose(state.stage == 0, cooking, serve)
