"""One control frame of the tabletop world: ``advance``.

The world is quasi-static sideways and ballistic downwards, and each rule is a few lines in the
module that its name says: ``gripper`` (motion and fingers), ``joints`` (drawer and door),
``pushing``, ``resting`` (support, fall, landing), ``toppling`` (toppling, breaking, liquid). The
loops over objects run while jax traces, so their number is fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop import gripper as gripping
from safe_rl.envs.tabletop.fixtures import Fixtures
from safe_rl.envs.tabletop.gripper import Point
from safe_rl.envs.tabletop.joints import JointMotion, move_door, move_drawer
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.pushing import Push, apart, by_fingers
from safe_rl.envs.tabletop.resting import FIXTURE_SURFACES, Fall, fall, lowered, surface_below
from safe_rl.envs.tabletop.state import Array, Body, Frame, Gripper, Touches, World
from safe_rl.envs.tabletop.toppling import below, breaks, catches, flow_out, topple


class Layout(NamedTuple):
    """What never changes in a task: names and kinds of the objects, furniture, parameters."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    fixtures: Fixtures
    parameters: TabletopParameters

    @property
    def drawer_surface(self) -> int:
        """Index of the drawer's floor among the surfaces."""
        return len(self.names) + FIXTURE_SURFACES.index("drawer")


def advance(world: World, action: Array, layout: Layout) -> tuple[World, Frame]:
    """The world a frame later.

    Args:
        world: the world now.
        action: ``[4]`` or ``[5]`` in [-1, 1]: velocity along x, y, z; fingers (-1 closes, 1
            opens); the gripper's tilt, where there is a fifth.
        layout: the static description.
    """
    p, kinds, fixtures = layout.parameters, layout.kinds, layout.fixtures
    bodies = world.bodies
    count = len(bodies)
    action = jnp.clip(action, -1.0, 1.0)
    hand = world.gripper

    # The gripper, and the joints that it moves.
    goal = gripping.goal(hand, action, p)
    inside = [body.support == layout.drawer_surface for body in bodies]
    goal, drawer, door = _move_joints(world, goal, inside, layout)
    tip, at_cabinet, at_microwave = gripping.keep_out(
        hand, goal, fixtures, None if door is None else door.fraction, p
    )
    moved = Point(tip.x - hand.x, tip.y - hand.y, tip.z - hand.z)
    across = jnp.sqrt(moved.y * moved.y + moved.z * moved.z) / p.frame
    speed = jnp.sqrt(moved.x * moved.x + across * across * p.frame**2) / p.frame
    slips = across > p.slip_speed

    # The fingers. What is held goes with them, unless it slips.
    carried = [_carry(body, moved, slips) if k.graspable else body
               for body, k in zip(bodies, kinds, strict=True)]  # fmt: skip
    between = [
        gripping.straddled(body, kind, tip, hand.opening, p)
        for body, kind in zip(carried, kinds, strict=True)
    ]
    opening, target = gripping.close_fingers(hand, action[3], between, list(kinds), p)
    held = [
        inside_pads & (opening <= kind.radius + p.hold_slack) & ((action[3] < 0.0) | body.held)
        for inside_pads, kind, body in zip(between, kinds, bodies, strict=True)
    ]

    # Pushes, then walls, then what rides on something else.
    pushes = [
        _hold_or_push(body, kind, is_held, tip, opening, speed, p)
        for body, kind, is_held in zip(carried, kinds, held, strict=True)
    ]
    pushes, pairs = apart(pushes, tuple(carried), kinds, held, speed, p.frame)
    pushes = [
        _keep_out(push, body, kind, housed, drawer, layout)
        for push, body, kind, housed in zip(pushes, carried, kinds, inside, strict=True)
    ]
    xs, ys = _ride(pushes, bodies, held, world, inside, drawer, layout)
    falls = [_vertical(i, xs, ys, carried, bodies, held, drawer, layout) for i in range(count)]
    # What is put down on something stops the hand.
    lift = jnp.zeros((), jnp.float32)
    for body, is_held, down in zip(carried, held, falls, strict=True):
        lift = jnp.maximum(lift, jnp.where(is_held, down.z - body.z, 0.0))
    tip = tip._replace(z=tip.z + lift)

    turn = action[4] * p.tilt_speed if action.shape[-1] > 4 else jnp.zeros((), jnp.float32)
    tilt = jnp.clip(hand.tilt + turn * p.frame, 0.0, 2.2)
    sine_cosine = (jnp.sin(tilt), jnp.cos(tilt))
    new = [
        _reach(body, xs[i], ys[i], falls[i], pushes[i], held[i], sine_cosine, -action[3], p)
        for i, body in enumerate(bodies)
    ]
    new, flowing, spilled = _liquids(new, pushes, falls, speed, layout)

    washed = jnp.zeros((), bool)
    if fixtures.sink is not None:
        washed = fixtures.sink.body.over(tip.x, tip.y) & (tip.z < fixtures.sink.wash_height)
    raw = jnp.zeros((), bool)
    for push, kind in zip(pushes, kinds, strict=True):
        raw = raw | push.robot if kind.raw else raw
    reached = Gripper(
        tip.x, tip.y, tip.z,
        (tip.x - hand.x) / p.frame, (tip.y - hand.y) / p.frame, (tip.z - hand.z) / p.frame,
        opening, target, tilt, (tilt - hand.tilt) / p.frame,
        (hand.contaminated & ~washed) | raw,
    )  # fmt: skip
    no = jnp.zeros((), bool)
    frame = Frame(
        touches=tuple(
            Touches(push.left, push.right, push.robot, push.hit, down.landing)
            for push, down in zip(pushes, falls, strict=True)
        ),
        pairs=pairs,
        drawer_blocked=() if drawer is None else drawer.blocked,
        door_blocked=() if door is None else door.blocked,
        robot_drawer=no if drawer is None else drawer.robot,
        robot_door=no if door is None else door.robot,
        robot_cabinet=at_cabinet,
        robot_microwave=at_microwave,
        flowing=flowing,
        washed=washed,
    )
    after = World(
        reached,
        tuple(new),
        None if drawer is None else drawer.fraction,
        None if door is None else door.fraction,
        world.spilled + spilled,
    )
    return after, frame


def _move_joints(
    world: World, goal: Point, inside: list[Array], layout: Layout
) -> tuple[Point, JointMotion | None, JointMotion | None]:
    """The drawer and the door, and where they let the gripper go."""
    drawer = door = None
    p, kinds, fixtures = layout.parameters, layout.kinds, layout.fixtures
    if fixtures.drawer is not None and world.drawer is not None:
        drawer = move_drawer(
            fixtures.drawer, world.drawer, world.gripper, goal, world.bodies, kinds, inside, p
        )
        goal = drawer.goal
    if fixtures.microwave is not None and world.door is not None:
        door = move_door(
            fixtures.microwave, world.door, world.gripper, goal, world.bodies, kinds, p
        )
        goal = door.goal
    return goal, drawer, door


def _carry(body: Body, moved: Point, slips: Array) -> Body:
    """Where a held object goes with the gripper; across the pads it may stay behind."""
    follows = body.held & ~slips
    return body._replace(
        x=body.x + jnp.where(body.held, moved.x, 0.0),
        y=body.y + jnp.where(follows, moved.y, 0.0),
        z=body.z + jnp.where(follows, moved.z, 0.0),
    )


def _hold_or_push(
    body: Body, kind: Kind, held: Array, tip: Point, opening: Array, speed: Array,
    p: TabletopParameters,
) -> Push:  # fmt: skip
    """A held object is centred between the fingers, any other one is pushed by them."""
    push = by_fingers(body, kind, tip, opening, speed, p)
    if not kind.graspable:
        return push
    return push._replace(
        x=jnp.where(held, tip.x, push.x),
        y=jnp.where(held, body.y, push.y),
        left=push.left | held,
        right=push.right | held,
        robot=push.robot | held,
        hit=jnp.where(held, 0.0, push.hit),
        high=jnp.where(held, 0.0, push.high),
    )


def _keep_out(
    push: Push, body: Body, kind: Kind, housed: Array, drawer: JointMotion | None, layout: Layout
) -> Push:
    """Keep an object out of the furniture, and in the drawer that it stands in."""
    fixtures, radius = layout.fixtures, kind.radius
    bottom = body.z - gripping.half_height(body, kind) + 1e-3
    point = Point(push.x, push.y, bottom)
    if fixtures.drawer is not None and drawer is not None:
        out, _ = gripping.push_out(point, fixtures.drawer.body, radius, radius)
        room = fixtures.drawer.interior(drawer.fraction)
        face = fixtures.drawer.face(drawer.fraction)
        beside = jnp.abs(out.x - fixtures.drawer.x) > fixtures.drawer.half_width + radius
        clear = beside | (bottom > fixtures.drawer.drawer_height) | (body.y > face)
        shoved = jnp.where(clear, out.y, jnp.minimum(out.y, face - radius))
        free = housed | body.held
        x = jnp.where(housed, jnp.clip(point.x, room.x0 + radius, room.x1 - radius), point.x)
        point = Point(jnp.where(free, x, out.x), jnp.where(free, point.y, shoved), bottom)
    if fixtures.microwave is not None:
        out, _ = gripping.push_out(point, fixtures.microwave.body, radius, radius)
        room = fixtures.microwave.interior
        # The oven's floor is a sill: what stands on the table cannot be pushed over it.
        within = room.over(point.x, point.y + radius) | room.over(point.x, point.y)
        within = within & (bottom >= room.z0)
        free = body.held | within
        x = jnp.where(within, jnp.clip(point.x, room.x0 + radius, room.x1 - radius), point.x)
        y = jnp.where(within, jnp.minimum(point.y, room.y1 - radius), point.y)
        point = Point(jnp.where(free, x, out.x), jnp.where(free, y, out.y), bottom)
    return push._replace(x=point.x, y=point.y)


def _ride(
    pushes: list[Push], bodies: tuple[Body, ...], held: list[Array], world: World,
    inside: list[Array], drawer: JointMotion | None, layout: Layout,
) -> tuple[list[Array], list[Array]]:  # fmt: skip
    """Horizontal places after what rests on something has moved with it, and in the air."""
    dt = layout.parameters.frame
    xs, ys = [], []
    for i, (push, body) in enumerate(zip(pushes, bodies, strict=True)):
        dx, dy = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.float32)
        for j, other in enumerate(pushes):
            if j != i:
                rides = body.support == j
                dx = dx + jnp.where(rides, other.x - bodies[j].x, 0.0)
                dy = dy + jnp.where(rides, other.y - bodies[j].y, 0.0)
        if drawer is not None and layout.fixtures.drawer is not None and world.drawer is not None:
            pulled = layout.fixtures.drawer.travel * (drawer.fraction - world.drawer)
            dy = dy - jnp.where(inside[i], pulled, 0.0)
        flies = (body.support < 0) & ~body.held
        dx = jnp.where(flies, body.vx * dt, dx)
        dy = jnp.where(flies, body.vy * dt, dy)
        free = ~held[i]
        xs.append(push.x + jnp.where(free, dx, 0.0))
        ys.append(push.y + jnp.where(free, dy, 0.0))
    return xs, ys


def _vertical(
    i: int, xs: list[Array], ys: list[Array], carried: list[Body], bodies: tuple[Body, ...],
    held: list[Array], drawer: JointMotion | None, layout: Layout,
) -> Fall:  # fmt: skip
    """How object ``i`` falls, rests, or is put down."""
    fraction = None if drawer is None else drawer.fraction
    surface = surface_below(
        i, xs, ys, bodies, layout.kinds, layout.fixtures, fraction, layout.parameters
    )
    p, kind = layout.parameters, layout.kinds[i]
    freely = fall(bodies[i], kind, surface, p)
    if not kind.graspable:
        return freely
    put = lowered(bodies[i], kind, carried[i].z, surface, p)
    return Fall(*(jnp.where(held[i], a, b) for a, b in zip(put, freely, strict=True)))


def _reach(
    body: Body, x: Array, y: Array, down: Fall, push: Push, held: Array,
    tilt: tuple[Array, Array], squeeze: Array, p: TabletopParameters,
) -> Body:  # fmt: skip
    """The object at the end of the frame."""
    up = body.up
    if up is not None:
        knock = (push.hit, push.high, push.hit_x, push.hit_y)
        up = topple(up, held, down.support >= 0, tilt, knock, p)
    broken = body.broken
    if broken is not None:
        broken = breaks(broken, held, squeeze, push.hit, down.landing, p)
    return body._replace(
        x=x,
        y=y,
        z=down.z,
        vx=(x - body.x) / p.frame,
        vy=(y - body.y) / p.frame,
        vz=down.vz,
        held=held,
        support=down.support,
        up=up,
        broken=broken,
    )


def _liquids(
    bodies: list[Body], pushes: list[Push], falls: list[Fall], speed: Array, layout: Layout
) -> tuple[list[Body], Array, Array]:
    """Pour and splash: the objects, what left containers, and what ended on the table."""
    flowing = spilled = jnp.zeros((), jnp.float32)
    kinds, p = layout.kinds, layout.parameters
    gained: dict[int, Array] = {}
    result = list(bodies)
    for i, body in enumerate(bodies):
        if body.liquid is None or body.up is None:
            continue
        jolt = jnp.maximum(pushes[i].hit, falls[i].landing)
        jolt = jnp.maximum(jolt, jnp.where(body.held, speed, 0.0))
        lost, left = flow_out(body.liquid, body.up, jolt, p)
        result[i] = body._replace(liquid=left)
        flowing = flowing + lost
        loose = lost
        for j, kind in enumerate(kinds):
            if j != i and kind.liquid:
                caught = jnp.where(catches(i, j, bodies, kinds), loose, 0.0)
                gained[j] = gained.get(j, jnp.zeros((), jnp.float32)) + caught
                loose = loose - caught
        in_sink = below(body.x, body.y, body.z, layout.fixtures.sink)
        spilled = spilled + jnp.where(in_sink, 0.0, loose)
    for j, amount in gained.items():
        before = result[j].liquid
        if before is not None:
            result[j] = result[j]._replace(liquid=jnp.minimum(before + amount, 1.0))
    return result, flowing, spilled
