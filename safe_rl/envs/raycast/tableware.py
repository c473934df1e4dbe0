"""Things that stand on a table: cups, glasses, plates, jars, food.

Every function returns a tuple of shapes. ``base`` is the middle of the underside, and ``rotation``
turns the thing about that point. Sizes are in metres.
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
    Sphere,
    Vector,
    turned,
)

GLASS = Material("#e8f4fa", gloss=1.0, opacity=0.04)
# For bowls that are drawn as one sheet: two layers on a ray where a wall gives four.
SHEET = Material("#eef7fb", gloss=1.0, opacity=0.12)
STEEL = Material("#b9bdc2", gloss=0.7, metal=0.7)


def cup(
    base: Vector,
    rotation: Rotation = None,
    color: Color = "#c4302b",
    radius: float = 0.036,
    height: float = 0.09,
    fill: float = 0.0,
    liquid: Color = "#4a2a16",
    handle: bool = True,
) -> tuple[Shape, ...]:
    """A cup that widens towards the rim, with a handle on its +x side.

    Args:
        base: middle of the underside.
        rotation: about ``base``.
        color: of the cup.
        radius: at the rim.
        height: of the cup.
        fill: how full it is, 0 to 1.
        liquid: colour of what is in it.
        handle: whether it has one.
    """
    material = Material(color, gloss=0.55)
    parts: list[Shape] = [
        Cylinder(
            (0, 0, height / 2),
            height / 2,
            0.8 * radius,
            radius,
            material=material,
            wall=0.09 * radius,
            liquid=Material(liquid, gloss=0.5),
            fill=fill,
        )
    ]
    if handle:
        parts += _handle(0.87 * radius, height, material)
    return placed(parts, base, rotation)


def _handle(radius: float, height: float, material: Material) -> list[Shape]:
    """An arc of short cylinders, from 100 degrees above the x axis to 100 below."""
    size, thickness = 0.3 * height, 0.055 * height
    angles = np.radians(np.linspace(100, -100, 7))
    x = radius + size * 0.9 * np.cos(angles)
    z = 0.53 * height + size * np.sin(angles)
    parts: list[Shape] = []
    for at in range(len(angles) - 1):
        run, rise = x[at + 1] - x[at], z[at + 1] - z[at]
        length = math.hypot(run, rise)
        lean = turned(math.degrees(math.atan2(run, rise)), (0, 1, 0))
        middle = ((x[at] + x[at + 1]) / 2, 0.0, (z[at] + z[at + 1]) / 2)
        parts.append(Cylinder(middle, length * 0.56, thickness, rotation=lean, material=material))
    return parts


def tumbler(
    base: Vector,
    rotation: Rotation = None,
    radius: float = 0.033,
    height: float = 0.11,
    fill: float = 0.0,
    liquid: Color = "#e0851a",
) -> tuple[Shape, ...]:
    """A straight drinking glass; arguments as for :func:`cup`."""
    parts = [
        Cylinder(
            (0, 0, height / 2),
            height / 2,
            0.85 * radius,
            radius,
            material=GLASS,
            wall=0.07 * radius,
            liquid=Material(liquid, gloss=0.6, opacity=0.8),
            fill=fill,
        )
    ]
    return placed(parts, base, rotation)


def wine_glass(
    base: Vector,
    rotation: Rotation = None,
    radius: float = 0.036,
    height: float = 0.17,
    fill: float = 0.0,
    liquid: Color = "#6d1020",
) -> tuple[Shape, ...]:
    """A glass on a stem; ``radius`` is the widest part of the bowl."""
    foot, stem, bottom = 0.85 * radius, 0.09 * radius, 0.45 * height
    heights = np.linspace(0, 1, 9)
    widths = radius * np.interp(heights, _BOWL[0], _BOWL[1])
    bowl = [
        (float(r), float(bottom + z * (height - bottom)))
        for r, z in zip(widths, heights, strict=True)
    ]
    outline: Profile = [
        (foot, 0.0),
        (foot, 0.012 * height),
        (0.5 * foot, 0.03 * height),
        (stem, 0.07 * height),
        (stem, bottom - 0.03 * height),
        *bowl,
    ]
    parts: list[Shape] = [Revolved((0, 0, 0), outline, material=SHEET, smooth=60)]
    if fill > 0:
        level = 0.04 + 0.9 * fill
        steps = np.linspace(0.03, level, 7)
        inside = 0.94 * radius * np.interp(steps, _BOWL[0], _BOWL[1])
        body = [
            (float(r), float(bottom + z * (height - bottom)))
            for r, z in zip(inside, steps, strict=True)
        ]
        drink: Profile = [(0.0, body[0][1]), *body, (0.0, body[-1][1])]
        look = Material(liquid, gloss=0.6)
        parts.append(Revolved((0, 0, 0), drink, material=look, smooth=60))
    return placed(parts, base, rotation)


# Height above the bowl's bottom and its radius there, both as shares.
_BOWL = (
    (0.0, 0.06, 0.15, 0.28, 0.42, 0.55, 0.7, 0.85, 1.0),
    (0.1, 0.42, 0.7, 0.91, 1.0, 0.99, 0.93, 0.85, 0.77),
)


def plate(
    base: Vector, rotation: Rotation = None, radius: float = 0.11, color: Color = "#f4f1ea"
) -> tuple[Shape, ...]:
    """A round plate; its well is 4 mm above the table for the default radius."""
    r = radius
    outline: Profile = [
        (0.0, 0.0),
        (0.6 * r, 0.0),
        (0.72 * r, 0.05 * r),
        (1.0 * r, 0.15 * r),
        (1.0 * r, 0.175 * r),
        (0.7 * r, 0.085 * r),
        (0.62 * r, 0.045 * r),
        (0.0, 0.035 * r),
    ]
    look = Material(color, gloss=0.55)
    return placed([Revolved((0, 0, 0), outline, material=look, smooth=35)], base, rotation)


def jar(
    base: Vector,
    rotation: Rotation = None,
    radius: float = 0.04,
    height: float = 0.1,
    content: Color | None = "#b5651d",
    fill: float = 0.7,
) -> tuple[Shape, ...]:
    """An open glass jar; :func:`lid` with the same radius closes it at ``height``."""
    outline: Profile = [
        (0.0, 0.0),
        (0.93 * radius, 0.0),
        (radius, 0.06 * height),
        (radius, 0.78 * height),
        (0.8 * radius, 0.88 * height),
        (0.8 * radius, height),
    ]
    parts: list[Shape] = [Revolved((0, 0, 0), outline, material=SHEET, smooth=50)]
    if content is not None and fill > 0:
        half = 0.39 * height * fill
        parts.append(
            Cylinder(
                (0, 0, 0.02 * height + half), half, 0.93 * radius, material=Material(content, 0.3)
            )
        )
    return placed(parts, base, rotation)


def lid(
    base: Vector, rotation: Rotation = None, radius: float = 0.04, color: Color = "#c9a227"
) -> tuple[Shape, ...]:
    """A screw lid with a rounded edge, 0.4 radii high."""
    r = 0.88 * radius
    outline: Profile = [
        (0.0, 0.0),
        (r, 0.0),
        (r, 0.3 * radius),
        (0.96 * r, 0.37 * radius),
        (0.86 * r, 0.4 * radius),
        (0.0, 0.4 * radius),
    ]
    look = Material(color, gloss=0.6, metal=0.4)
    return placed([Revolved((0, 0, 0), outline, material=look, smooth=50)], base, rotation)


def bread(base: Vector, rotation: Rotation = None, length: float = 0.13) -> tuple[Shape, ...]:
    """A small loaf along the x axis, scored three times."""
    half = np.array([0.5, 0.28, 0.27]) * length
    crust, crumb = Material("#b5712f", gloss=0.12), Material("#e6c08a", gloss=0.05)
    parts: list[Shape] = [Ellipsoid((0, 0, 0.9 * half[2]), half, material=crust)]
    for x in (-0.42, 0.0, 0.42):
        top = 0.9 * half[2] + half[2] * math.sqrt(1 - x * x)
        lean = turned(35) @ turned(math.degrees(x) * 0.55, (0, 1, 0))
        size = np.array([0.045, 0.17 * math.sqrt(1 - x * x), 0.02]) * length
        parts.append(Ellipsoid((x * half[0], 0, top - 0.012 * length), size, lean, crumb))
    return placed(parts, base, rotation)


def toast(base: Vector, rotation: Rotation = None, size: float = 0.09) -> tuple[Shape, ...]:
    """A slice of bread that lies flat."""
    crust, crumb = Material("#a9672c", gloss=0.05), Material("#ecd09c", gloss=0.03)
    half = size / 2
    parts: list[Shape] = [
        Box((0, 0, 0.09 * size), (half, 0.9 * half, 0.09 * size), None, crust, 0.06 * size),
        Box((0, 0, 0.1 * size), (0.88 * half, 0.78 * half, 0.092 * size), None, crumb),
    ]
    return placed(parts, base, rotation)


def apple(
    base: Vector, rotation: Rotation = None, radius: float = 0.035, color: Color = "#8fae2f"
) -> tuple[Shape, ...]:
    """An apple with its stem."""
    look = Material(color, gloss=0.55)
    parts: list[Shape] = [
        Ellipsoid((0, 0, 0.92 * radius), (radius, radius, 0.92 * radius), material=look),
        Cylinder(
            (0.05 * radius, 0, 1.95 * radius),
            0.2 * radius,
            0.05 * radius,
            rotation=turned(14, (0, 1, 0)),
            material=Material("#5b3a1e"),
        ),
    ]
    return placed(parts, base, rotation)


def egg(base: Vector, rotation: Rotation = None, radius: float = 0.022) -> tuple[Shape, ...]:
    """An egg that lies on its side, along the x axis."""
    look = Material("#ecd3b4", gloss=0.3)
    half = (1.3 * radius, radius, radius)
    return placed([Ellipsoid((0, 0, radius), half, material=look)], base, rotation)


def ball(base: Vector, radius: float = 0.03, color: Color = "#2f7fc1") -> tuple[Shape, ...]:
    """A ball that touches the table at ``base``."""
    center = np.asarray(base, dtype=float) + (0, 0, radius)
    return (Sphere(center, radius, Material(color, gloss=0.6)),)
