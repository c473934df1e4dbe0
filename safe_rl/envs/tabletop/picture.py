"""Pictures of the tabletop: the scene as shapes for the ray caster, and a camera."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast import (
    Box,
    Camera,
    Cylinder,
    Ellipsoid,
    Material,
    Shape,
    furniture,
    placed,
    render,
    tableware,
    turned,
)
from safe_rl.envs.tabletop.fixtures import FLOOR, TABLE_HALF_X, TABLE_HALF_Y
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.state import Body, World
from safe_rl.envs.tabletop.tasks.task import Task

CAMERA = ((0.55, -1.15, 0.85), (0.0, 0.03, 0.06), 33.0)
"""Position, point looked at, field of view (degrees)."""
WATER = "#7fb4d6"


def draw(task: Task, world: World, width: int, height: int) -> NDArray[np.uint8]:
    """A picture of a world, uint8 ``[height, width, 3]``."""
    place, target, view = CAMERA
    return render(shapes(task, world), Camera(place, target, view, width, height))


def shapes(task: Task, world: World) -> tuple[Shape, ...]:
    """The scene as solids, in metres, z up."""
    parts: list[Shape] = [
        *furniture.floor(FLOOR),
        *furniture.wall(TABLE_HALF_Y + 0.4, FLOOR),
        *furniture.table(half=(TABLE_HALF_X, TABLE_HALF_Y), legs=-FLOOR - 0.036),
    ]
    parts += _furniture(task, world)
    for name, kind, body in zip(task.kinds, task.layout.kinds, world.bodies, strict=True):
        parts += _object(name, kind, body)
    hand = world.gripper
    lean = np.degrees(float(hand.tilt)) + _lean(task, world)
    down = turned(lean, (1, 0, 0)) @ turned(90)
    tip = (float(hand.x), float(hand.y), float(hand.z))
    parts += furniture.gripper(tip, max(2.0 * float(hand.opening), 0.004), down, arm=0.6)
    return tuple(parts)


def _lean(task: Task, world: World) -> float:
    """Degrees by which the arm is drawn leaning back, so that it enters the oven by its door.

    The dynamics know no arm, only fingers that point down; upright, it would pierce the oven's top.
    """
    oven, hand = task.fixtures.microwave, world.gripper
    if oven is None or abs(float(hand.x) - oven.middle) > oven.half_width:
        return 0.0
    return 45.0 * float(np.clip((float(hand.y) - oven.front + 0.12) / 0.12, 0.0, 1.0))


def _furniture(task: Task, world: World) -> list[Shape]:
    parts: list[Shape] = []
    fixtures = task.fixtures
    if fixtures.drawer is not None and world.drawer is not None:
        d = fixtures.drawer
        half = (d.half_width, 0.5 * d.depth, 0.5 * d.height)
        base = (d.x, d.front + 0.5 * d.depth, 0.0)
        parts += furniture.cabinet(base, half, d.travel * float(world.drawer))
    if fixtures.microwave is not None and world.door is not None:
        m = fixtures.microwave
        half = (m.half_width, 0.5 * m.depth, 0.5 * m.height)
        base = (m.x, m.front + 0.5 * m.depth, 0.0)
        parts += furniture.microwave(base, half, 90.0 * float(world.door))
    if fixtures.sink is not None:
        s, hand = fixtures.sink, world.gripper
        inside = abs(float(hand.x) - s.x) < s.half and abs(float(hand.y) - s.y) < s.half
        washing = inside and float(hand.z) < s.wash_height
        half = (s.half, s.half, 0.5 * s.rim)
        parts += furniture.sink((s.x, s.y, 0.001), half, water=0.3, running=washing)
    return parts


def _object(name: str, kind: Kind, body: Body) -> list[Shape]:
    up = np.array([0.0, 0.0, 1.0])
    rotation = None
    if body.up is not None:
        up = np.array([float(body.up.x), float(body.up.y), float(body.up.z)])
        rotation = _turn_to(up)
    centre = np.array([float(body.x), float(body.y), float(body.z)])
    base = centre - 0.5 * kind.height * up
    r, h = kind.radius, kind.height
    color = "#{:02x}{:02x}{:02x}".format(*kind.colour)
    fill = 0.0 if body.liquid is None else float(body.liquid)
    parts: list[Shape] = []
    if body.broken is not None and bool(body.broken):
        return _shards(centre, r)
    if kind.liquid and fill < 0.95:
        spot = Cylinder(
            (centre[0], centre[1], 0.0008), 0.0008, 0.03 + 0.06 * (1.0 - fill),
            material=Material(WATER, gloss=0.9, opacity=0.45),
        )  # fmt: skip
        parts.append(spot)
    match name:
        case "cup" | "mug":
            things: Any = tableware.cup(base, rotation, color, r, h, 0.85 * fill, WATER)
        case "glass":
            things = tableware.wine_glass(base, rotation, r, h)
        case "plate":
            things = tableware.plate(base, rotation, r)
        case "jar":
            things = tableware.jar(base, rotation, r, h)
        case "lid":
            things = tableware.lid(base, rotation, r / 0.88)
        case "apple":
            things = tableware.apple(base, rotation, r, "#b02a2c")
        case "bread":
            things = placed(tableware.bread((0, 0, 0), None, 2.4 * r), base, turned(90))
        case "chicken" | "fish":
            things = placed(_meat(r, h, color), base, rotation)
        case _ if kind.look == "box":
            look = Material(color, gloss=0.3)
            things = (Box(centre, (r, r, 0.5 * h), rotation, look, 0.004),)
        case _:
            look = Material(color, gloss=0.4, metal=0.2)
            things = (Cylinder(centre, 0.5 * h, r, rotation=rotation, material=look),)
    return [*parts, *things]


def _meat(radius: float, height: float, color: str) -> list[Shape]:
    """A piece of raw meat: a body with a leaner end."""
    look, pale = Material(color, gloss=0.55), Material("#f2d9cf", gloss=0.5)
    half = 0.5 * height
    return [
        Ellipsoid((0, 0, half), (radius, 1.3 * radius, half), material=look),
        Ellipsoid((0, 1.1 * radius, 0.7 * half), (0.5 * radius, 0.6 * radius, 0.5 * half),
                  material=pale),
    ]  # fmt: skip


def _shards(centre: NDArray[np.float64], radius: float) -> list[Shape]:
    """What is left of a glass: splinters around its place, always the same ones."""
    look = Material("#cfe6f2", gloss=1.0, opacity=0.5)
    parts: list[Shape] = []
    for k in range(9):
        angle = 40.0 * k
        away = radius * (0.4 + 0.25 * (k % 4))
        x = centre[0] + away * np.cos(np.radians(angle))
        y = centre[1] + away * np.sin(np.radians(angle))
        half = (0.008 + 0.002 * (k % 3), 0.004, 0.002)
        parts.append(Box((x, y, 0.004), half, turned(2.3 * angle) @ turned(25, (1, 0, 0)), look))
    return parts


def _turn_to(up: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shortest turn from the z axis to ``up``."""
    axis = np.array([-up[1], up[0], 0.0])
    if np.hypot(axis[0], axis[1]) < 1e-6:
        return np.eye(3)
    return turned(float(np.degrees(np.arccos(np.clip(up[2], -1.0, 1.0)))), axis)
