"""Oriented boxes on plain floats: do they overlap, and how far are they apart?

Three-vectors are too short for numpy to pay: a call into it costs more than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple, TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""By rows."""


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
    dx, dy, dz = (other - mine for mine, other in zip(a.center, b.center, strict=True))
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
