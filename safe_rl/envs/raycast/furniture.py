"""The kitchen around the things: table, cabinet with a drawer, microwave, sink, the gripper.

Every function returns a tuple of shapes. ``base`` is the middle of the underside, and ``rotation``
turns the thing about that point; fronts face -y. Sizes are in metres, angles in degrees.
"""

from __future__ import annotations

import math

import numpy as np

from safe_rl.envs.raycast.materials import Color, Material
from safe_rl.envs.raycast.placing import placed
from safe_rl.envs.raycast.shapes import (
    Box,
    Cylinder,
    Ellipsoid,
    Profile,
    Revolved,
    Rotation,
    Shape,
    Vector,
    turned,
)
from safe_rl.envs.raycast.tableware import STEEL

WOOD = Material("#d3aa7c", gloss=0.25, pattern="wood", pattern_color="#a67648", pattern_size=0.16)
_DARK = Material("#2b2d31", gloss=0.45)
_WHITE = Material("#e9e9e6", gloss=0.4)


def floor(
    height: float = 0.0, size: float = 4.0, material: Material | None = None
) -> tuple[Shape, ...]:
    """A square of tiles about the origin, its top at ``height``, each side twice ``size``."""
    look = material or Material(
        "#b9b4ab", gloss=0.1, pattern="tiles", pattern_color="#98938a", pattern_size=0.4
    )
    return (Box((0, 0, height - 0.02), (size, size, 0.02), None, look),)


def wall(y: float, low: float = -1.0, color: Color = "#eeece6") -> tuple[Shape, ...]:
    """A wall behind the scene, parallel to the x axis, from ``low`` up."""
    return (Box((0, y + 0.05, low + 2), (6, 0.05, 2), None, Material(color, gloss=0.0)),)


def table(
    top: Vector = (0.0, 0.0, 0.0),
    half: tuple[float, float] = (0.6, 0.4),
    legs: float = 0.7,
    material: Material = WOOD,
) -> tuple[Shape, ...]:
    """A table.

    Args:
        top: middle of the surface on which things stand.
        half: half of its length (x) and depth (y).
        legs: length of the legs; 0 leaves them out.
        material: of the table top.
    """
    x, y = half
    parts: list[Shape] = [Box((0, 0, -0.018), (x, y, 0.018), None, material, 0.006)]
    if legs > 0:
        look = Material("#8c633c", gloss=0.2)
        for side in (-1, 1):
            for end in (-1, 1):
                place = (side * (x - 0.05), end * (y - 0.05), -0.036 - legs / 2)
                parts.append(Box(place, (0.025, 0.025, legs / 2), None, look, 0.005))
    return placed(parts, top)


def cabinet(
    base: Vector,
    half: Vector = (0.14, 0.13, 0.09),
    opening: float = 0.0,
    rotation: Rotation = None,
    color: Color = "#6f8f86",
) -> tuple[Shape, ...]:
    """A chest with one drawer that slides out towards -y.

    Args:
        base: middle of the underside of the chest.
        half: half of its width, depth and height.
        opening: how far the drawer is pulled out, in metres.
        rotation: about ``base``.
        color: of the chest; the drawer's inside is plain wood.
    """
    x, y, z = (float(value) for value in np.asarray(half, dtype=float))
    t = 0.012  # thickness of the boards
    body = Material(color, gloss=0.25)
    inside = Material("#d9bd93", gloss=0.1)
    front = Material("#86a79d", gloss=0.3) if color == "#6f8f86" else body
    parts: list[Shape] = [
        Box((0, 0, 2 * z - t / 2), (x, y, t / 2), None, body, 0.004),
        Box((0, 0, t / 2), (x, y, t / 2), None, body, 0.004),
        Box((-x + t / 2, 0, z), (t / 2, y, z - t), None, body),
        Box((x - t / 2, 0, z), (t / 2, y, z - t), None, body),
        Box((0, y - t / 2, z), (x - t, t / 2, z - t), None, body),
    ]
    w, h = x - t - 0.003, z - t - 0.004  # half width and height of the drawer's front
    depth, board = y - 0.015, 0.004
    level = z - h
    slide = -opening
    parts += [
        Box((0, slide - y + t / 2, z), (w, t / 2, h), None, front, 0.004),
        Box((0, slide, level + board), (w - 0.006, depth, board), None, inside),
        Box((-w + 0.006, slide, z - 0.12 * h), (board, depth, 0.8 * h), None, inside),
        Box((w - 0.006, slide, z - 0.12 * h), (board, depth, 0.8 * h), None, inside),
        Box((0, slide + depth, z - 0.12 * h), (w - 0.006, board, 0.8 * h), None, inside),
    ]
    grip = turned(90, (0, 1, 0))
    out = slide - y - 0.022
    parts.append(Cylinder((0, out, z), 0.38 * w, 0.006, rotation=grip, material=STEEL))
    for side in (-0.32, 0.32):
        parts.append(Box((side * w, out + 0.011, z), (0.004, 0.012, 0.004), None, STEEL))
    return placed(parts, base, rotation)


def microwave(
    base: Vector,
    half: Vector = (0.2, 0.14, 0.11),
    door: float = 0.0,
    rotation: Rotation = None,
    on: bool = False,
) -> tuple[Shape, ...]:
    """A microwave oven; the door turns about its left edge, towards -y.

    Args:
        base: middle of the underside.
        half: half of its width, depth and height.
        door: how far the door is open, in degrees; 0 is closed.
        rotation: about ``base``.
        on: whether it runs: a lamp is lit and so is the inside.
    """
    x, y, z = (float(value) for value in np.asarray(half, dtype=float))
    t = 0.014
    panel = 0.28 * x  # half width of the control panel
    opening = x - panel  # half width of the cavity with its walls
    left = -panel
    cavity = Material("#f2c46b" if on else "#c9c7c0", gloss=0.2)
    parts: list[Shape] = [
        Box((0, 0, 2 * z - t / 2), (x, y, t / 2), None, _WHITE, 0.006),
        Box((0, 0, t / 2), (x, y, t / 2), None, _WHITE, 0.006),
        Box((-x + t / 2, 0, z), (t / 2, y, z - t), None, _WHITE),
        Box((x - panel, 0, z), (panel, y, z - t), None, _WHITE),
        Box((left, y - t / 2, z), (opening, t / 2, z - t), None, cavity),
        Box((left, 0, t + 0.002), (opening - t, y - t, 0.002), None, cavity),
        Cylinder(
            (left, 0, t + 0.008),
            0.003,
            0.72 * min(opening, y),
            material=Material("#dce6ea", gloss=0.8),
        ),
    ]
    right = x - panel
    parts.append(Box((right, -y - 0.002, z), (0.86 * panel, 0.002, 0.86 * z), None, _DARK))
    screen = Material("#7df0a8" if on else "#3d6b52", gloss=0.3)
    parts.append(Box((right, -y - 0.005, 1.6 * z), (0.6 * panel, 0.001, 0.1 * z), None, screen))
    for row in range(3):
        for column in (-0.4, 0.0, 0.4):
            place = (right + column * panel, -y - 0.005, (1.2 - 0.24 * row) * z)
            size = (0.13 * panel, 0.001, 0.07 * z)
            parts.append(Box(place, size, None, Material("#8d9299", gloss=0.2)))
    dial = turned(90, (1, 0, 0))
    parts.append(
        Cylinder((right, -y - 0.01, 0.4 * z), 0.008, 0.16 * z, rotation=dial, material=STEEL)
    )
    parts += placed(_door(2 * opening, z, t), (-x, -y, z), turned(-door))
    return placed(parts, base, rotation)


def _door(width: float, half_height: float, thickness: float) -> list[Shape]:
    """A door with a window; its hinge is the z axis, it reaches along x, its outside is at -y."""
    frame, h, t = 0.1 * width, half_height, thickness / 2
    middle = width / 2
    look = Material("#d5d6d4", gloss=0.4)
    window = Material("#1b2430", gloss=0.9, opacity=0.55)
    return [
        Box((middle, -t, h - frame / 2), (middle, t, frame / 2), None, look, 0.003),
        Box((middle, -t, frame / 2 - h), (middle, t, frame / 2), None, look, 0.003),
        Box((frame / 2, -t, 0), (frame / 2, t, h - frame), None, look),
        Box((width - frame / 2, -t, 0), (frame / 2, t, h - frame), None, look),
        Box((middle, -t, 0), (middle - frame, 0.3 * t, h - frame), None, window),
        Cylinder((width - 0.05 * width, -2 * t - 0.016, 0), 0.6 * h, 0.005, material=STEEL),
        Box((width - 0.05 * width, -2 * t - 0.008, 0.5 * h), (0.003, 0.009, 0.003), None, STEEL),
        Box((width - 0.05 * width, -2 * t - 0.008, -0.5 * h), (0.003, 0.009, 0.003), None, STEEL),
    ]


def sink(
    base: Vector,
    half: Vector = (0.17, 0.13, 0.05),
    rotation: Rotation = None,
    water: float = 0.0,
    running: bool = False,
) -> tuple[Shape, ...]:
    """A steel basin with a tap at its back.

    Args:
        base: middle of the underside.
        half: half of its width, depth and height.
        rotation: about ``base``.
        water: how full it is, 0 to 1.
        running: whether the tap runs.
    """
    x, y, z = (float(value) for value in np.asarray(half, dtype=float))
    t = 0.008
    steel = Material("#c3c8cc", gloss=0.6, metal=0.45)
    parts: list[Shape] = [
        Box((0, 0, t / 2), (x, y, t / 2), None, steel),
        Box((-x + t, 0, z), (t, y, z), None, steel, 0.004),
        Box((x - t, 0, z), (t, y, z), None, steel, 0.004),
        Box((0, -y + t, z), (x, t, z), None, steel, 0.004),
        Box((0, y - t, z), (x, t, z), None, steel, 0.004),
        Cylinder((0, 0, t + 0.001), 0.001, 0.018, material=_DARK),
    ]
    if water > 0:
        level = t + water * (2 * z - t) * 0.9
        look = Material("#8fc3d8", gloss=0.9, opacity=0.55)
        gap = 5e-4  # keeps the water's faces from lying in the basin's
        size = (x - 2 * t - gap, y - 2 * t - gap, (level - t) / 2 - gap)
        parts.append(Box((0, 0, (level + t) / 2), size, None, look))
    foot, top = y + 0.02, 2 * z + 0.11
    along = turned(90, (1, 0, 0))
    spout = 0.4 * y
    parts += [
        Cylinder((0, foot, top / 2), top / 2, 0.011, material=STEEL),
        Ellipsoid((0, foot, top), (0.0115, 0.0115, 0.0115), None, STEEL),
        Cylinder(
            (0, (foot + spout) / 2, top), (foot - spout) / 2, 0.009, rotation=along, material=STEEL
        ),
        Ellipsoid((0, spout, top), (0.0095, 0.0095, 0.0095), None, STEEL),
        Cylinder((0, spout, top - 0.015), 0.015, 0.009, material=STEEL),
        Box((0.03, foot, top - 0.035), (0.022, 0.004, 0.004), turned(-15, (0, 1, 0)), STEEL, 0.002),
    ]
    if running:
        reach = (top - 0.03 - t) / 2
        look = Material("#b5dcec", gloss=0.9, opacity=0.5)
        parts.append(Cylinder((0, spout, t + reach), reach, 0.005, material=look))
    return placed(parts, base, rotation)


def gripper(
    tip: Vector,
    opening: float = 0.08,
    rotation: Rotation = None,
    arm: float = 0.3,
    color: Color = "#e8e8ea",
) -> tuple[Shape, ...]:
    """A hand with two fingers that point down and close along the y axis.

    Args:
        tip: the point between the finger tips.
        opening: free space between the fingers.
        rotation: about ``tip``.
        arm: length of the arm above the hand; 0 leaves it out.
        color: of hand and arm.
    """
    shell = Material(color, gloss=0.45)
    joint = Material("#3a6ea5", gloss=0.4)
    parts: list[Shape] = [
        Box((0, 0, 0.105), (0.024, 0.062, 0.022), None, shell, 0.01),
        Box((0, 0, 0.08), (0.018, 0.058, 0.005), None, _DARK),
    ]
    for side in (-1, 1):
        inner = side * opening / 2
        parts += [
            Box((0, inner + side * 0.009, 0.058), (0.012, 0.007, 0.022), None, _DARK, 0.003),
            Box((0, inner + side * 0.007, 0.014), (0.0095, 0.005, 0.026), None, STEEL, 0.003),
            Box((0, inner + side * 0.001, 0.006), (0.0085, 0.001, 0.016), None, _DARK),
        ]
    outline: Profile = [
        (0.0, 0.125),
        (0.036, 0.125),
        (0.04, 0.131),
        (0.04, 0.152),
        (0.034, 0.162),
        (0.0, 0.162),
    ]
    parts.append(Revolved((0, 0, 0), outline, material=_DARK, smooth=50))
    if arm > 0:
        parts += [
            Cylinder((0, 0, 0.172), 0.012, 0.036, material=joint),
            Cylinder((0, 0, 0.184 + arm / 2), arm / 2, 0.032, 0.038, material=shell),
        ]
    return placed(parts, tip, rotation)


def beam(start: Vector, end: Vector, radius: float, material: Material) -> tuple[Shape, ...]:
    """A round bar from one point to another: arms, pipes, rails.

    Args:
        start: ``[3]``, the middle of one end.
        end: ``[3]``, the middle of the other.
        radius: of the bar.
        material: its look.
    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    run = b - a
    length = float(np.linalg.norm(run))
    axis = np.cross((0, 0, 1.0), run)
    if np.linalg.norm(axis) < 1e-9 * length:
        axis = np.array([1.0, 0.0, 0.0])
    lean = turned(math.degrees(math.acos(np.clip(run[2] / length, -1, 1))), axis)
    return (Cylinder((a + b) / 2, length / 2, radius, rotation=lean, material=material),)
