"""Rigid-body geometry on plain floats.

Three-vectors and quaternions are too short for numpy to pay: a call into it costs more than the
arithmetic. Quaternions are (w, x, y, z), as MuJoCo has them; matrices are nine floats, by rows.
"""

from __future__ import annotations

from math import atan2, sqrt
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]
Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]


def conjugate(q: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation ``q`` followed by ``p``."""
    a, b, c, d = p
    e, f, g, h = q
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


def rotate(q: Quaternion, v: Vector) -> Vector:
    """The vector ``v`` turned by the unit quaternion ``q``.

    >>> rotate((0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0))  # half a turn about z
    (-1.0, -2.0, 3.0)
    """
    w, x, y, z = q
    tx, ty, tz = 2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )


def cross(u: Vector, v: Vector) -> Vector:
    """The vector product."""
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def difference(u: Vector, v: Vector) -> Vector:
    """``u - v``."""
    return (u[0] - v[0], u[1] - v[1], u[2] - v[2])


def norm(v: Vector) -> float:
    """The Euclidean length."""
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def angle_between(p: Quaternion, q: Quaternion) -> float:
    """The angle in radians, in [0, pi], of the rotation that leads from ``p`` to ``q``."""
    w, x, y, z = multiply(conjugate(p), q)
    return 2.0 * atan2(sqrt(x * x + y * y + z * z), abs(w))


def boxes_overlap(
    center_a: Vector,
    axes_a: Matrix,
    half_a: Vector,
    center_b: Vector,
    axes_b: Matrix,
    half_b: Vector,
) -> bool:
    """Whether two oriented boxes overlap (boxes that only touch do).

    The separating-axis test over the six face normals and the nine edge products. ``axes`` are
    rotation matrices whose columns are the box axes; ``half`` are half extents in metres.

    >>> eye = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    >>> unit = (0.5, 0.5, 0.5)
    >>> boxes_overlap((0.0, 0.0, 0.0), eye, unit, (0.9, 0.9, 0.9), eye, unit)
    True
    >>> boxes_overlap((0.0, 0.0, 0.0), eye, unit, (1.1, 0.0, 0.0), eye, unit)
    False
    """
    dx, dy, dz = difference(center_b, center_a)
    # t: the offset in a's axes; r[i][j]: the cosine between axis i of a and axis j of b.
    t = tuple(axes_a[i] * dx + axes_a[3 + i] * dy + axes_a[6 + i] * dz for i in range(3))
    r = tuple(
        tuple(
            axes_a[i] * axes_b[j] + axes_a[3 + i] * axes_b[3 + j] + axes_a[6 + i] * axes_b[6 + j]
            for j in range(3)
        )
        for i in range(3)
    )
    # The small term keeps the product of two parallel edges, a null axis, from separating.
    s = tuple(tuple(abs(value) + 1e-9 for value in row) for row in r)
    for i in range(3):
        reach = half_b[0] * s[i][0] + half_b[1] * s[i][1] + half_b[2] * s[i][2]
        if abs(t[i]) > half_a[i] + reach:
            return False
    for j in range(3):
        offset = t[0] * r[0][j] + t[1] * r[1][j] + t[2] * r[2][j]
        reach = half_a[0] * s[0][j] + half_a[1] * s[1][j] + half_a[2] * s[2][j]
        if abs(offset) > half_b[j] + reach:
            return False
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            reach = half_a[i1] * s[i2][j] + half_a[i2] * s[i1][j]
            reach += half_b[j1] * s[i][j2] + half_b[j2] * s[i][j1]
            if abs(t[i2] * r[i1][j] - t[i1] * r[i2][j]) > reach:
                return False
    return True
