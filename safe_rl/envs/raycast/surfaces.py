"""Where a ray meets a solid, in the solid's own frame, for many rays at once.

Rays are columns: origins ``[3, n]`` or ``[3, 1]``, unit directions ``[3, n]``, float32. Distances
are in scene units, ``inf`` where a ray misses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast.materials import Array, Material
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
    matrix,
)

_NEVER = np.float32(np.inf)
_TINY = np.float32(1e-9)
_CORNERS = np.array([[corner >> axis & 1 for corner in range(8)] for axis in range(3)], dtype=bool)


class Surface(ABC):
    """A solid ready for tracing.

    Attributes:
        center: ``[3]``, origin of the local frame.
        frame: ``[3, 3]``, columns are the local axes in the world.
        low, high: ``[3]``, corners of the local bounding box.
        material: its look.
    """

    def __init__(
        self, center: Vector, rotation: Rotation, low: Vector, high: Vector, material: Material
    ) -> None:
        self.center: Array = np.asarray(center, np.float32)
        self.frame: Array = matrix(rotation).astype(np.float32)
        self.low: Array = np.asarray(low, np.float32)
        self.high: Array = np.asarray(high, np.float32)
        self.material = material

    @abstractmethod
    def crossings(self, origin: Array, direction: Array) -> Array:
        """Distances of every crossing, ``[k, n]``, in any order, those behind the origin too."""

    @abstractmethod
    def normals(self, points: Array) -> tuple[Array, Array]:
        """Outward unit normals ``[3, n]`` at points on the surface: the true and the shaded."""

    def blocks(self, origin: Array, direction: Array) -> NDArray[np.bool_]:
        """Whether something lies ahead on each ray, ``[n]``."""
        distance = self.crossings(origin, direction)
        ahead = (distance > 0) & (distance < _NEVER)
        return np.logical_or.reduce(ahead, axis=0)

    def to_local(self, vectors: Array) -> Array:
        """World vectors ``[3, n]`` in the local frame; for a point subtract ``center`` first."""
        return self.frame.T @ vectors

    @cached_property
    def corners(self) -> Array:
        """World corners of the bounding box, ``[3, 8]``."""
        local: Array = np.where(_CORNERS, self.high[:, None], self.low[:, None])
        return (self.frame @ local + self.center[:, None]).astype(np.float32)

    @cached_property
    def middle(self) -> Array:
        """World centre of the bounding box, ``[3]``."""
        return (self.frame @ (self.low + self.high) / 2 + self.center).astype(np.float32)

    @cached_property
    def half(self) -> Array:
        """Half of the edges of the local bounding box, ``[3]``."""
        return ((self.high - self.low) / 2).astype(np.float32)


class BoxSurface(Surface):
    """Six faces; the slab method (Kay and Kajiya 1986)."""

    def __init__(self, box: Box) -> None:
        half = np.asarray(box.half, np.float32)
        super().__init__(box.center, box.rotation, -half, half, box.material)
        self.bevel = np.float32(box.bevel)

    def crossings(self, origin: Array, direction: Array) -> Array:
        """Entry and exit."""
        inverse = 1 / np.where(direction == 0, _TINY, direction)
        middle = origin * inverse
        reach = self.high[:, None] * np.abs(inverse)
        far = reach - middle
        reach += middle  # from here on the nearer planes, with their sign turned
        both: Array = np.empty((2, direction.shape[1]), np.float32)
        np.minimum(np.minimum(reach[0], reach[1]), reach[2], out=both[0])
        np.negative(both[0], out=both[0])
        np.minimum(np.minimum(far[0], far[1]), far[2], out=both[1])
        both[:, both[0] > both[1]] = _NEVER
        return both

    def normals(self, points: Array) -> tuple[Array, Array]:
        """The face's normal, bent towards the neighbours' within the bevel."""
        half = self.high[:, None]
        away = np.abs(points) - half
        face = away.argmax(axis=0)
        sign = np.sign(points) + (points == 0)
        true = np.zeros_like(points)
        columns = np.arange(points.shape[1])
        true[face, columns] = sign[face, columns]
        if not self.bevel > 0:
            return true, true
        bend = np.clip(1 + away / self.bevel, 0, 1)
        bend[face, columns] = 1
        bent = sign * bend
        return true, bent / np.sqrt((bent * bent).sum(axis=0))


class EllipsoidSurface(Surface):
    """A ball in a stretched frame."""

    def __init__(self, ellipsoid: Ellipsoid) -> None:
        half = np.asarray(ellipsoid.half, np.float32)
        super().__init__(ellipsoid.center, ellipsoid.rotation, -half, half, ellipsoid.material)

    def crossings(self, origin: Array, direction: Array) -> Array:
        """Entry and exit."""
        start, step = origin / self.high[:, None], direction / self.high[:, None]
        a = (step * step).sum(axis=0)
        b = (start * step).sum(axis=0)
        c = (start * start).sum(axis=0) - 1
        inside = b * b - a * c
        root = np.sqrt(np.maximum(inside, 0))
        both: Array = np.stack([(-b - root) / a, (-b + root) / a])
        both[:, inside < 0] = _NEVER
        return both

    def normals(self, points: Array) -> tuple[Array, Array]:
        """The gradient of the implicit equation."""
        gradient = points / (self.high * self.high)[:, None]
        true = gradient / np.sqrt((gradient * gradient).sum(axis=0))
        return true, true


class RevolvedSurface(Surface):
    """Cone pieces and flat rings, all pieces of the profile at once."""

    def __init__(self, revolved: Revolved) -> None:
        points = np.asarray(revolved.profile, dtype=np.float64)
        steps = np.diff(points, axis=0)
        keep = np.hypot(steps[:, 0], steps[:, 1]) > 1e-9
        self._start, self._steps = points[:-1][keep], steps[keep]
        wide = points[:, 0].max()
        low = (-wide, -wide, points[:, 1].min())
        high = (wide, wide, points[:, 1].max())
        super().__init__(revolved.center, revolved.rotation, low, high, revolved.material)
        self._radius = np.float32(wide * wide)
        self._split_pieces()
        self._smooth_normals(np.cos(np.radians(revolved.smooth)))

    def _split_pieces(self) -> None:
        start, steps = self._start, self._steps
        flat = np.abs(steps[:, 1]) < 1e-4 * np.abs(steps[:, 0])
        slope = steps[~flat, 0] / steps[~flat, 1]
        low = np.minimum(start[:, 1], start[:, 1] + steps[:, 1])[~flat]
        high = np.maximum(start[:, 1], start[:, 1] + steps[:, 1])[~flat]
        # A hair of overlap closes the seams that rounding would leave between two pieces.
        overlap = 1e-5 * float(self.high[2] - self.low[2])
        base = start[~flat, 0] - slope * start[~flat, 1]
        cones = np.stack([base, slope, low - overlap, high + overlap]).astype(np.float32)
        self._cones: Array = cones[:, :, None]
        near = np.minimum(start[:, 0], start[:, 0] + steps[:, 0])[flat]
        far = np.maximum(start[:, 0], start[:, 0] + steps[:, 0])[flat]
        rings = np.stack([start[flat, 1], near * near, far * far]).astype(np.float32)
        self._rings: Array = rings[:, :, None]

    def _smooth_normals(self, cosine: float) -> None:
        steps = self._steps
        own = np.stack([steps[:, 1], -steps[:, 0]], axis=1)
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        at_start, at_end = own.copy(), own.copy()
        both = own[:-1] + own[1:]
        round_off = (own[:-1] * own[1:]).sum(axis=1) > cosine
        both = both[round_off] / np.linalg.norm(both[round_off], axis=1, keepdims=True)
        at_end[:-1][round_off] = both
        at_start[1:][round_off] = both
        self._normals: tuple[Array, Array, Array] = (
            own.T.astype(np.float32),
            at_start.T.astype(np.float32),
            at_end.T.astype(np.float32),
        )

    def crossings(self, origin: Array, direction: Array) -> Array:
        """Two per cone piece and one per ring."""
        count = direction.shape[1]
        base, slope, low, high = self._cones
        pieces, rings = len(base), self._rings.shape[1]
        found: Array = np.full((2 * pieces + rings, count), _NEVER, np.float32)
        dx, dy, dz = direction
        ox, oy, oz = np.broadcast_to(origin, direction.shape)
        # Rays whose line passes outside the bounding cylinder, seen along the axis, drop out here.
        flat = dx * dx + dy * dy
        turn = ox * dy - oy * dx
        near = np.flatnonzero(turn * turn <= self._radius * np.maximum(flat, _TINY))
        if not near.size:
            return found
        dx, dy, dz, ox, oy, oz = (part[near] for part in (dx, dy, dz, ox, oy, oz))
        flat = flat[near]
        if pieces:
            reach = base + slope * oz
            widen = slope * dz
            a = flat - widen * widen
            a = np.where(np.abs(a) < _TINY, _TINY, a)
            b = ox * dx + oy * dy - reach * widen
            c = ox * ox + oy * oy - reach * reach
            inside = b * b - a * c
            root = np.sqrt(np.maximum(inside, 0))
            for at, distance in ((0, (-b - root) / a), (pieces, (-b + root) / a)):
                z = oz + distance * dz
                valid = (inside >= 0) & (z >= low) & (z <= high)
                found[at : at + pieces, near] = np.where(valid, distance, _NEVER)
        if rings:
            level, inner, outer = self._rings
            distance = (level - oz) / np.where(np.abs(dz) < _TINY, _TINY, dz)
            x, y = ox + distance * dx, oy + distance * dy
            square = x * x + y * y
            valid = (square >= inner) & (square <= outer)
            found[2 * pieces :, near] = np.where(valid, distance, _NEVER)
        return found

    def normals(self, points: Array) -> tuple[Array, Array]:
        """Those of the nearest piece of the profile."""
        radius = np.maximum(np.hypot(points[0], points[1]), _TINY)
        start = self._start.astype(np.float32)[:, :, None]
        steps = self._steps.astype(np.float32)[:, :, None]
        from_start = np.stack([radius, points[2]])[None] - start
        along = (from_start * steps).sum(axis=1) / (steps * steps).sum(axis=1)
        along = np.clip(along, 0, 1)
        gap = from_start - along[:, None] * steps
        piece = (gap * gap).sum(axis=1).argmin(axis=0)
        own, at_start, at_end = self._normals
        share = along[piece, np.arange(len(piece))]
        shaded = at_start[:, piece] * (1 - share) + at_end[:, piece] * share
        shaded /= np.sqrt((shaded * shaded).sum(axis=0))
        x, y = points[0] / radius, points[1] / radius
        true = own[:, piece]
        return np.stack([true[0] * x, true[0] * y, true[1]]), np.stack(
            [shaded[0] * x, shaded[0] * y, shaded[1]]
        )


def surfaces_of(shapes: Iterable[Shape]) -> list[Surface]:
    """Make every shape ready for tracing; a cup with liquid becomes two surfaces.

    Raises:
        TypeError: something is no shape.
    """
    ready: list[Surface] = []
    for shape in shapes:
        if isinstance(shape, Box):
            ready.append(BoxSurface(shape))
        elif isinstance(shape, Ellipsoid):
            ready.append(EllipsoidSurface(shape))
        elif isinstance(shape, Sphere):
            half = (shape.radius,) * 3
            ready.append(EllipsoidSurface(Ellipsoid(shape.center, half, material=shape.material)))
        elif isinstance(shape, Cylinder):
            ready.extend(RevolvedSurface(part) for part in _turned_parts(shape))
        elif isinstance(shape, Revolved):
            ready.append(RevolvedSurface(shape))
        else:
            raise TypeError(
                "render() takes Box, Ellipsoid, Sphere, Cylinder and Revolved, "
                f"got {type(shape).__name__}: {shape!r}"
            )
    return ready


def _turned_parts(shape: Cylinder) -> list[Revolved]:
    """The profiles of a cylinder, or of a cup and what it holds."""
    height, bottom = shape.half_height, shape.radius
    top = bottom if shape.radius_top is None else shape.radius_top
    wall = shape.wall
    if wall == 0:
        solid: Profile = [(0, -height), (bottom, -height), (top, height), (0, height)]
        return [Revolved(shape.center, solid, shape.rotation, shape.material, smooth=0)]
    floor = wall - height

    def inner(z: float) -> float:
        return bottom + (top - bottom) * (z + height) / (2 * height) - wall

    floor_radius = max(inner(floor), 0.0)
    cup: Profile = [
        (0, -height),
        (bottom, -height),
        (top, height),
        (top - wall, height),
        (floor_radius, floor),
        (0, floor),
    ]
    parts = [Revolved(shape.center, cup, shape.rotation, shape.material, smooth=0)]
    if shape.liquid is not None and shape.fill > 0:
        level = floor + shape.fill * (height - floor)
        gap = 0.05 * wall  # keeps the liquid's side from lying in the wall's
        body: Profile = [
            (0, floor + gap),
            (max(floor_radius - gap, 0.0), floor + gap),
            (max(inner(level) - gap, gap), level),
            (0, level),
        ]
        parts.append(Revolved(shape.center, body, shape.rotation, shape.liquid, smooth=0))
    return parts
