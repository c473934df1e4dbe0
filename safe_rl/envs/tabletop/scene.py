"""The tabletop world as the scene that the shared grounding reads."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from safe_rl.envs.tabletop.dynamics import Layout
from safe_rl.envs.tabletop.fixtures import FLOOR, TABLE_HALF_X, TABLE_HALF_Y, Box
from safe_rl.envs.tabletop.gripper import LOWEST_TIP, half_height
from safe_rl.envs.tabletop.joints import door_handle
from safe_rl.envs.tabletop.pushing import NEAR
from safe_rl.envs.tabletop.resting import FIXTURE_SURFACES
from safe_rl.envs.tabletop.state import Array, Body, Frame, Gripper, Touches, World
from safe_rl.envs.tabletop.tasks.task import Task
from safe_rl.grounding import AllowedContacts
from safe_rl.grounding.arrays import (
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneArrays,
    SceneRoles,
    empty_scene,
)

GRIPPER_HALF = (0.054, 0.02, 0.03)
"""m: the box of the finger tips, in which the gripper grasps; the palm is not part of it."""

SURFACE_OF = {
    "table": ("table",),
    "sink": ("sink",),
    "drawer": ("drawer", "cabinet"),
    "microwave": ("microwave", "microwave_top"),
}
"""The surfaces of each fixture. The floor carries nothing that counts as supported."""


def scene_roles(task: Task) -> SceneRoles:
    """Who is in the scene of a task, and what it lets touch what."""
    objects = []
    for name, kind in zip(task.kinds, task.layout.kinds, strict=True):
        objects.append(
            ObjectRole(
                name,
                (kind.radius, kind.radius, 0.5 * kind.height),
                graspable=kind.graspable,
                receptacle=kind.receptacle,
                raw=kind.raw,
                ready_to_eat=kind.ready,
                fragile=kind.fragile,
                liquid=kind.liquid,
                lid=kind.lid,
            )
        )
    fixtures = [
        FixtureRole("table", "counter", (TABLE_HALF_X, TABLE_HALF_Y, 0.02)),
        FixtureRole("floor", "surroundings", (3.0, 3.0, 0.02), top=False),
    ]
    parts = []
    furniture = task.fixtures
    if furniture.drawer is not None:
        d = furniture.drawer
        half = (d.half_width, 0.5 * d.depth, 0.5 * d.height)
        inner = (d.half_width - d.wall, 0.5 * d.depth - d.wall, 0.5 * (d.drawer_height - 0.01))
        fixtures.append(FixtureRole("drawer", "drawer", half, inner))
        parts.append(ComponentRole("drawer_handle", "drawer", "open_close", (0.03, 0.01, 0.01)))
    if furniture.microwave is not None:
        m = furniture.microwave
        half = (m.half_width, 0.5 * m.depth, 0.5 * m.height)
        # SafeManip's inside is the box of the fixture, shrunk. Shrinking the cavity instead would
        # leave out what lies on its floor.
        fixtures.append(FixtureRole("microwave", "microwave", half, half))
        parts.append(
            ComponentRole("microwave_handle", "microwave", "open_close", (0.01, 0.01, 0.03))
        )
    if furniture.sink is not None:
        s = furniture.sink
        fixtures.append(FixtureRole("sink", "sink", (s.half, s.half, 0.5 * s.rim)))
    return SceneRoles(
        tuple(objects),
        tuple(fixtures),
        tuple(parts),
        GRIPPER_HALF,
        AllowedContacts(frozenset(task.touchable), dict(task.receivers)),
    )


def still_frame(world: World, layout: Layout) -> Frame:
    """What the first frame of an episode did: nothing moved, and the robot touches what it holds.

    A gripper that is contaminated touches raw food too: where it began so, that is how it happened.
    """
    no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.float32)
    count = len(world.bodies)
    soiled = world.gripper.contaminated
    touches = tuple(
        Touches(body.held, body.held, body.held | soiled if kind.raw else body.held, zero, zero)
        for body, kind in zip(world.bodies, layout.kinds, strict=True)
    )
    pairs = {(i, j): no for i in range(count) for j in range(i + 1, count)}
    for i, j in pairs:
        rests = (world.bodies[i].support == j) | (world.bodies[j].support == i)
        pairs[i, j] = rests
    none = (no,) * count
    return Frame(
        touches=touches,
        pairs=pairs,
        drawer_blocked=none if world.drawer is not None else (),
        door_blocked=none if world.door is not None else (),
        robot_drawer=no,
        robot_door=no,
        robot_cabinet=no,
        robot_microwave=no,
        flowing=zero,
        washed=no,
    )


def scene_arrays(
    before: World, world: World, frame: Frame, layout: Layout, roles: SceneRoles
) -> SceneArrays:
    """One control frame as arrays.

    Args:
        before: the world a frame earlier (the same one, for the first frame).
        world: the world that the frame reached.
        frame: what happened in between.
        layout: the static description.
        roles: of ``scene_roles``; their order is the order of the axes.
    """
    p, hand, bodies, touches = layout.parameters, world.gripper, world.bodies, frame.touches
    zero, no = jnp.zeros((), jnp.float32), jnp.zeros((), bool)
    scene = empty_scene(roles, jnp)
    count = len(bodies)
    halves = [half_height(b, k) for b, k in zip(bodies, layout.kinds, strict=True)]
    gaps = [
        _gap(body, kind.radius, half, hand, layout)
        for body, kind, half in zip(bodies, layout.kinds, halves, strict=True)
    ]
    gaps = [jnp.where(t.robot, 0.0, gap) for t, gap in zip(touches, gaps, strict=True)]
    centre_z = hand.z + GRIPPER_HALF[2]
    boxed = [
        (jnp.abs(b.x - hand.x) <= GRIPPER_HALF[0] + k.radius)
        & (jnp.abs(b.y - hand.y) <= GRIPPER_HALF[1] + k.radius)
        & (jnp.abs(b.z - centre_z) <= GRIPPER_HALF[2] + half)
        for b, k, half in zip(bodies, layout.kinds, halves, strict=True)
    ]
    pairs = [
        [no if i == j else frame.pairs[min(i, j), max(i, j)] for j in range(count)]
        for i in range(count)
    ]
    on_object = [[b.support == j if j != i else no for j in range(count)]
                 for i, b in enumerate(bodies)]  # fmt: skip
    on_fixture = [[_rests(b, name, count) for name in roles.fixture_names] for b in bodies]
    blocked = [[_blocked(frame, i, name) for name in roles.fixture_names] for i in range(count)]
    robot_fixture = {
        "table": hand.z <= LOWEST_TIP + 1e-4,
        "drawer": frame.robot_cabinet,
        "microwave": frame.robot_microwave,
    }
    cosine, sine = jnp.cos(0.5 * hand.tilt), jnp.sin(0.5 * hand.tilt)
    scene = scene._replace(
        gripper_position=jnp.stack([hand.x, hand.y, centre_z]),
        gripper_quaternion=jnp.stack([cosine, sine, zero, zero]),
        gripper_linear=jnp.stack([hand.vx, hand.vy, hand.vz]),
        gripper_angular=jnp.stack([hand.turning, zero, zero]),
        finger_joints=jnp.stack([hand.opening, hand.opening]),
        finger_targets=jnp.stack([hand.target, hand.target]),
        object_positions=_rows([[b.x, b.y, b.z] for b in bodies]),
        object_quaternions=_rows([_quaternion(b) for b in bodies]),
        object_linear=_rows([[b.vx, b.vy, b.vz] for b in bodies]),
        object_angular=_rows(
            [[zero, zero, zero] if b.up is None else [b.up.wx, b.up.wy, zero] for b in bodies]
        ),
        finger_contacts=_rows([[t.left, t.right] for t in touches]),
        opposed=jnp.stack([b.held for b in bodies]),
        in_gripper_box=jnp.stack(boxed),
        gripper_gaps=jnp.stack(gaps),
        robot_object=jnp.stack([t.robot for t in touches]),
        object_object=_rows(pairs),
        object_fixture=_rows(
            [[a | b for a, b in zip(r, q, strict=True)]
             for r, q in zip(on_fixture, blocked, strict=True)]
        ),
        robot_fixture=jnp.stack([robot_fixture.get(name, no) for name in roles.fixture_names]),
        on_object=_rows(on_object),
        on_fixture=_rows(on_fixture),
        part_contacts=_rows(blocked),
        liquid=jnp.stack([zero if b.liquid is None else b.liquid for b in bodies]),
        liquid_moving=frame.flowing,
        liquid_spilled=world.spilled,
        sanitising=frame.washed,
    )  # fmt: skip
    return _add_fixtures(scene, before, world, frame, layout, roles, p.frame)


def _add_fixtures(
    scene: SceneArrays, before: World, world: World, frame: Frame, layout: Layout,
    roles: SceneRoles, dt: float,
) -> SceneArrays:  # fmt: skip
    """Places and joints of the furniture and of its handles."""
    zero, no = jnp.zeros((), jnp.float32), jnp.zeros((), bool)
    furniture, hand = layout.fixtures, world.gripper
    origin = [zero, zero, zero]
    places = {
        "table": [zero, zero, zero - 0.02],
        "floor": [zero, zero, zero + FLOOR - 0.02],
    }
    moving, insides, joints, handles, touched = {}, {}, {}, {}, {}
    if furniture.drawer is not None and world.drawer is not None and before.drawer is not None:
        drawer = furniture.drawer
        body, room = drawer.body, drawer.interior(world.drawer)
        places["drawer"] = _middle(body)
        insides["drawer"] = _middle(room)
        joints["drawer"] = world.drawer
        speed = -drawer.travel * (world.drawer - before.drawer) / dt
        moving["drawer"] = [zero, speed, zero]
        handles["drawer_handle"] = [zero + v for v in drawer.handle(world.drawer)]
        touched["drawer_handle"] = frame.robot_drawer
    if furniture.microwave is not None and world.door is not None:
        oven = furniture.microwave
        places["microwave"] = _middle(oven.body)
        insides["microwave"] = places["microwave"]
        joints["microwave"] = world.door
        x, y, _, _ = door_handle(oven, world.door)
        handles["microwave_handle"] = [x, y, zero + oven.handle_z]
        touched["microwave_handle"] = frame.robot_door
    if furniture.sink is not None:
        places["sink"] = _middle(furniture.sink.body)
    names = roles.fixture_names
    scene = scene._replace(
        fixture_positions=_rows([places[name] for name in names]),
        fixture_linear=_rows([moving.get(name, origin) for name in names]),
        interiors=_rows([insides.get(name, origin) for name in names]),
        joint_fractions=jnp.stack([joints.get(name, zero) for name in names]),
    )
    if not roles.components:
        return scene
    gaps = []
    for part in roles.components:
        x, y, z = handles[part.name]
        gap = _box_gap(hand, (x, y, z), part.half, layout)
        gaps.append(jnp.where(touched[part.name], 0.0, gap))
    parts = [part.name for part in roles.components]
    return scene._replace(
        component_positions=_rows([handles[name] for name in parts]),
        component_gaps=jnp.stack(gaps),
        robot_component=jnp.stack([touched[name] | no for name in parts]),
    )


def _rows(rows: Sequence[Sequence[Array]]) -> Array:
    """Scalars as an array ``[rows, columns]``."""
    flat = jnp.stack([value for row in rows for value in row])
    return jnp.reshape(flat, (len(rows), len(rows[0])))


def _middle(box: Box) -> list[Array]:
    x0, x1, y0, y1, z0, z1 = box
    return [jnp.asarray(0.5 * (a + b), jnp.float32) for a, b in ((x0, x1), (y0, y1), (z0, z1))]


def _rests(body: Body, fixture: str, count: int) -> Array:
    on = jnp.zeros((), bool)
    for surface in SURFACE_OF.get(fixture, ()):
        on = on | (body.support == count + FIXTURE_SURFACES.index(surface))
    return on


def _blocked(frame: Frame, i: int, fixture: str) -> Array:
    if fixture == "drawer":
        return frame.drawer_blocked[i]
    return frame.door_blocked[i] if fixture == "microwave" else jnp.zeros((), bool)


def _quaternion(body: Body) -> list[Array]:
    """The shortest turn that brings the z axis to the object's axis."""
    zero, one = jnp.zeros((), jnp.float32), jnp.ones((), jnp.float32)
    if body.up is None:
        return [one, zero, zero, zero]
    w = jnp.sqrt(jnp.maximum(0.5 * (1.0 + body.up.z), 1e-6))
    return [w, -0.5 * body.up.y / w, 0.5 * body.up.x / w, zero]


def _gap(body: Body, radius: float, half: Array, hand: Gripper, layout: Layout) -> Array:
    """Distance between an object and the fingers, at most (m)."""
    p = layout.parameters
    half_x = 0.5 * p.finger_thickness
    dy = jnp.maximum(jnp.abs(body.y - hand.y) - p.finger_half_depth, 0.0)
    # The nearer finger is the one on the object's side.
    dx = jnp.abs(jnp.abs(body.x - hand.x) - hand.opening - half_x) - half_x
    dx = jnp.maximum(dx, 0.0)
    across = jnp.maximum(jnp.sqrt(dx * dx + dy * dy + 1e-12) - radius, 0.0)
    above = jnp.maximum(hand.z - body.z - half, body.z - half - hand.z - p.finger_length)
    above = jnp.maximum(above, 0.0)
    gap = jnp.sqrt(across * across + above * above + 1e-12)
    return jnp.where(gap < NEAR, 0.0, gap)


def _box_gap(
    hand: Gripper, place: tuple[Array, Array, Array], half: Sequence[float], layout: Layout
) -> Array:
    """Distance between the fingers' common box and another box (m)."""
    p = layout.parameters
    width = hand.opening + p.finger_thickness
    dx = jnp.maximum(jnp.abs(place[0] - hand.x) - half[0] - width, 0.0)
    dy = jnp.maximum(jnp.abs(place[1] - hand.y) - half[1] - p.finger_half_depth, 0.0)
    middle = hand.z + 0.5 * p.finger_length
    dz = jnp.maximum(jnp.abs(place[2] - middle) - half[2] - 0.5 * p.finger_length, 0.0)
    return jnp.sqrt(dx * dx + dy * dy + dz * dz + 1e-12)
