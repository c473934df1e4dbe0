"""Rigid-body geometry on plain floats.

Three-vectors and quaternions are too short for numpy to pay: a call into it costs more than the
arithmetic. Quaternions are (w, x, y, z), as MuJoCo has them; matrices are nine floats, by rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, sqrt
from typing import NamedTuple, TypeAlias

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


class PosedBox(NamedTuple):
    """An oriented box in the world: the columns of ``axes`` are its axes, ``half`` half extents."""

    center: Vector
    axes: Matrix
    half: Vector


def boxes_overlap(a: PosedBox, b: PosedBox) -> bool:
    """Whether two oriented boxes overlap (boxes that only touch do).

    The separating-axis test over the six face normals and the nine edge products.

    >>> eye = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    >>> def cube(x): return PosedBox((x, 0.0, 0.0), eye, (0.5, 0.5, 0.5))
    >>> boxes_overlap(cube(0.0), cube(0.9)), boxes_overlap(cube(0.0), cube(1.1))
    (True, False)
    """
    return all(separation <= 0.0 for separation in _separations(a, b))


def boxes_gap(a: PosedBox, b: PosedBox) -> float:
    """The largest separation of two boxes along one of those axes.

    It is at most their distance, and equals it where a face of one is what is nearest to the other.
    It is not positive where they overlap.
    """
    return max(_separations(a, b))


def _separations(a: PosedBox, b: PosedBox) -> Iterator[float]:
    dx, dy, dz = difference(b.center, a.center)
    u, v, half_a, half_b = a.axes, b.axes, a.half, b.half
    # t: the offset in a's axes; r[i][j]: the cosine between axis i of a and axis j of b.
    t = [u[i] * dx + u[3 + i] * dy + u[6 + i] * dz for i in range(3)]
    r = [
        [u[i] * v[j] + u[3 + i] * v[3 + j] + u[6 + i] * v[6 + j] for j in range(3)]
        for i in range(3)
    ]
    s = [[abs(value) for value in row] for row in r]
    for i in range(3):
        reach = half_b[0] * s[i][0] + half_b[1] * s[i][1] + half_b[2] * s[i][2]
        yield abs(t[i]) - half_a[i] - reach
    for j in range(3):
        offset = t[0] * r[0][j] + t[1] * r[1][j] + t[2] * r[2][j]
        reach = half_a[0] * s[0][j] + half_a[1] * s[1][j] + half_a[2] * s[2][j]
        yield abs(offset) - half_b[j] - reach
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            length = sqrt(max(1.0 - s[i][j] * s[i][j], 0.0))
            if length < 1e-6:  # parallel edges have no product
                continue
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            reach = half_a[i1] * s[i2][j] + half_a[i2] * s[i1][j]
            reach += half_b[j1] * s[i][j2] + half_b[j2] * s[i][j1]
            yield (abs(t[i2] * r[i1][j] - t[i1] * r[i2][j]) - reach) / length
