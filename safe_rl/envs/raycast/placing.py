"""Moving groups of shapes as one rigid body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from safe_rl.envs.raycast.shapes import Rotation, Shape, Sphere, Vector, matrix


def placed(
    shapes: Iterable[Shape], position: Vector, rotation: Rotation = None
) -> tuple[Shape, ...]:
    """Turn shapes about the origin, then move them.

    Args:
        shapes: in their common frame.
        position: ``[3]``, where that frame's origin goes.
        rotation: how the frame is turned; see :mod:`safe_rl.envs.raycast.shapes`.

    Returns:
        New shapes; the given ones stay as they are.

    >>> from safe_rl.envs.raycast.shapes import Sphere, turned
    >>> ball, = placed([Sphere((1, 0, 0), 0.1)], (0, 0, 2), turned(90))
    >>> ball.center.round(6).tolist()
    [0.0, 1.0, 2.0]
    """
    frame = matrix(rotation)
    offset = np.asarray(position, dtype=float)
    moved: list[Shape] = []
    for shape in shapes:
        center = frame @ np.asarray(shape.center, dtype=float) + offset
        if rotation is None or isinstance(shape, Sphere):
            moved.append(replace(shape, center=center))
        else:
            moved.append(replace(shape, center=center, rotation=frame @ matrix(shape.rotation)))
    return tuple(moved)
