"""Rigid-body geometry on arrays, component by component.

A vector is three arrays and a quaternion (w, x, y, z) four, each of any one shape: a compiler fuses
such expressions into one loop, which it cannot do across small trailing axes. Boxes have the axes
of the world. Angles and lengths are compared through their squares and tangents, so that nothing
but the four operations and the square root is needed, and backends round (nearly) alike.
"""

from __future__ import annotations

from math import tan
from types import ModuleType
from typing import TypeAlias

from safe_rl.grounding.arrays.scene import Array

Vector: TypeAlias = tuple[Array, Array, Array]
Quaternion: TypeAlias = tuple[Array, Array, Array, Array]


def vector(array: Array) -> Vector:
    """The components of an array ``[3, ...]``."""
    return array[0], array[1], array[2]


def quaternion(array: Array) -> Quaternion:
    """The components of an array ``[4, ...]``."""
    return array[0], array[1], array[2], array[3]


def vectors(array: Array) -> Vector:
    """The components ``[K, ...]`` of an array ``[K, 3, ...]``."""
    return array[:, 0], array[:, 1], array[:, 2]


def quaternions(array: Array) -> Quaternion:
    """The components ``[K, ...]`` of an array ``[K, 4, ...]``."""
    return array[:, 0], array[:, 1], array[:, 2], array[:, 3]


def rows(v: Vector) -> Vector:
    """Vectors ``[K, ...]`` as ``[K, 1, ...]``, to be compared with a list of others."""
    return v[0][:, None], v[1][:, None], v[2][:, None]


def minus(u: Vector, v: Vector) -> Vector:
    """``u - v``."""
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


def cross(u: Vector, v: Vector) -> Vector:
    """The vector product."""
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def squared(v: Vector) -> Array:
    """The squared length."""
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


def rotate_back(q: Quaternion, v: Vector) -> Vector:
    """The vector ``v`` turned by the inverse of the unit quaternion ``q``."""
    w, x, y, z = q
    tx, ty, tz = 2 * (z * v[1] - y * v[2]), 2 * (x * v[2] - z * v[0]), 2 * (y * v[0] - x * v[1])
    return (
        v[0] + w * tx - y * tz + z * ty,
        v[1] + w * ty - z * tx + x * tz,
        v[2] + w * tz - x * ty + y * tx,
    )


def turn_between(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation that leads from ``p`` to ``q``: the inverse of ``p``, times ``q``."""
    a, b, c, d = p
    e, f, g, h = q
    return (
        a * e + b * f + c * g + d * h,
        a * f - b * e - c * h + d * g,
        a * g + b * h - c * e - d * f,
        a * h - b * g + c * f - d * e,
    )


def turns_less_than(q: Quaternion, angle: float) -> Array:
    """Whether the rotation ``q`` turns by less than ``angle`` (rad, below pi)."""
    bound = tan(angle / 2) ** 2
    return q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < bound * (q[0] * q[0])


def axis_z(q: Quaternion) -> Vector:
    """Where the rotation ``q`` takes the unit vector along z."""
    w, x, y, z = q
    return 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)


def world_half(q: Quaternion, half: Vector) -> Vector:
    """Half extents of the world-aligned box around one of half extents ``half`` turned by ``q``."""
    w, x, y, z = q
    a, b, c = half
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    return (
        abs(1 - 2 * (yy + zz)) * a + abs(2 * (xy - wz)) * b + abs(2 * (xz + wy)) * c,
        abs(2 * (xy + wz)) * a + abs(1 - 2 * (xx + zz)) * b + abs(2 * (yz - wx)) * c,
        abs(2 * (xz - wy)) * a + abs(2 * (yz + wx)) * b + abs(1 - 2 * (xx + yy)) * c,
    )


def within(point: Vector, center: Vector, half: Vector) -> Array:
    """Whether a point lies in a box, its faces included."""
    return (
        (abs(point[0] - center[0]) <= half[0])
        & (abs(point[1] - center[1]) <= half[1])
        & (abs(point[2] - center[2]) <= half[2])
    )


def boxes_overlap(one: Vector, half: Vector, other: Vector, other_half: Vector) -> Array:
    """Whether two boxes overlap by more than nothing."""
    return (
        (abs(one[0] - other[0]) < half[0] + other_half[0])
        & (abs(one[1] - other[1]) < half[1] + other_half[1])
        & (abs(one[2] - other[2]) < half[2] + other_half[2])
    )


def boxes_gap(
    xp: ModuleType, one: Vector, half: Vector, other: Vector, other_half: Vector
) -> Array:
    """The distance in m between two boxes; 0 where they overlap or touch."""
    gaps = [
        xp.maximum(abs(one[i] - other[i]) - half[i] - other_half[i], xp.zeros_like(one[i]))
        for i in range(3)
    ]
    return xp.sqrt(gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2])


def sweep_hits(
    xp: ModuleType,
    start: Vector,
    end: Vector,
    half: Vector,
    obstacle: Vector,
    obstacle_half: Vector,
    allowance: float,
    end_half: Vector | None = None,
) -> Array:
    """Whether a box that moves straight from ``start`` to ``end`` meets an obstacle's box.

    It does when, somewhere on the way, the two overlap by more than ``allowance`` (m) along every
    axis. On the way its half extents change from ``half`` to ``end_half``, if that is given.
    """
    enters = xp.zeros_like(obstacle[0] - start[0] + end[0])
    leaves = enters + 1
    for i in range(3):
        # Part t of the way is an overlap where both sides of |offset - t way| < reach + t grown do.
        reach = half[i] + obstacle_half[i] - allowance
        grown = 0.0 if end_half is None else end_half[i] - half[i]
        way, offset = end[i] - start[i], obstacle[i] - start[i]
        for slope, bound in ((way - grown, reach + offset), (-way - grown, reach - offset)):
            slope = xp.where(abs(slope) < 1e-6, xp.zeros_like(slope) + 1e-6, slope)
            until = bound / slope
            leaves = xp.where(slope > 0, xp.minimum(leaves, until), leaves)
            enters = xp.where(slope < 0, xp.maximum(enters, until), enters)
    return enters < leaves
