"""From shapes to pixels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast.blocks import Blocks, Index, put, tile_order
from safe_rl.envs.raycast.camera import Camera
from safe_rl.envs.raycast.lighting import Light, Looks, cover, lit, looks_of
from safe_rl.envs.raycast.materials import Array, Color, display, linear
from safe_rl.envs.raycast.shapes import Shape
from safe_rl.envs.raycast.surfaces import Surface, surfaces_of
from safe_rl.envs.raycast.tracing import (
    Rays,
    across_and_along,
    clear_fragments,
    nearest_hits,
    openness,
    sunlight,
    view_of,
)
from safe_rl.errors import ConfigurationError

# Positions inside a pixel for the second look at edges: a rotated grid (columns: across, down).
_CORNERS = ((-0.125, -0.375), (0.375, -0.125), (0.125, 0.375), (-0.375, 0.125))
_EQUAL = np.full(len(_CORNERS), 1 / len(_CORNERS), np.float32)
_CONTRAST = np.float32(0.04)
_OCTANTS = np.array([[1], [2], [4], [8], [16], [32]], np.int32)


def render(
    shapes: Iterable[Shape],
    camera: Camera,
    light: Light | None = None,
    background: tuple[Color, Color] = ("#e9e6e1", "#c3cfdb"),
    smooth: bool = True,
) -> NDArray[np.uint8]:
    """Draw a scene; the same arguments give the same picture, bit by bit.

    One ray for each pixel, then four more wherever neighbouring pixels differ. Shadows are soft:
    neighbouring pixels aim at different places on the sun and share what they find.

    Args:
        shapes: the solids.
        camera: where from, and how many pixels.
        light: sun and sky; ``None`` is a default from the left, above.
        background: colours at and below the horizon, and straight above.
        smooth: take the second look at edges; without it they are jagged, and it is faster.

    Returns:
        ``[height, width, 3]``, uint8.

    Raises:
        TypeError: something in ``shapes`` is no shape.

    >>> render([], Camera((1.0, 0.0, 0.0), width=4, height=3)).shape
    (3, 4, 3)
    """
    if len(background) != 2:
        raise ConfigurationError(
            f"background must be two colours (horizon, zenith), got {background!r}"
        )
    painter = _Painter(surfaces_of(shapes), camera, light or Light(), background)
    height, width = camera.height, camera.width
    order = tile_order(height, width)
    color, known = painter.first_look(order)
    shown: Array = np.empty((3, height * width), np.float32)
    for row, light_row in zip(shown, display(color), strict=True):
        row[order] = light_row
    if smooth:
        stands_out = _differs(shown.reshape(3, height, width)).reshape(-1)
        edge = order[stands_out[order]]
        if edge.size:
            again = display(painter.second_look(np.repeat(edge, len(_CORNERS)), known))
            shown[:, edge] = again.reshape(3, -1, len(_CORNERS)) @ _EQUAL
    levels = np.clip(shown * 255 + np.float32(0.5), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(levels.T).reshape(height, width, 3)


def _differs(shown: Array) -> NDArray[np.bool_]:
    """Pixels of ``[3, h, w]`` that stand out from a neighbour, ``[h, w]``."""
    found = np.zeros(shown.shape[1:], dtype=bool)
    across = np.abs(np.diff(shown, axis=2)).max(axis=0) > _CONTRAST
    down = np.abs(np.diff(shown, axis=1)).max(axis=0) > _CONTRAST
    found[:, 1:] |= across
    found[:, :-1] |= across
    found[1:] |= down
    found[:-1] |= down
    return found


class _Known(NamedTuple):
    """What the first look found for every pixel, ``[n]`` each.

    ``face`` numbers the surface and the way it faces, -1 for none; ``sun`` and ``sky`` are the
    shares of light that reach it.
    """

    face: NDArray[np.int32]
    sun: Array
    sky: Array


class _Painter:
    """What stays the same between the first look and the second."""

    def __init__(
        self,
        surfaces: list[Surface],
        camera: Camera,
        light: Light,
        background: tuple[Color, Color],
    ) -> None:
        self.surfaces = surfaces
        self.camera = camera
        self.light = light
        self.horizon, self.zenith = (linear(color)[:, None] for color in background)
        self.view = view_of(surfaces, camera)
        self.position = np.asarray(camera.position, np.float32)[:, None]
        gaze = np.asarray(camera.look_at, float) - np.asarray(camera.position, float)
        self.scale = np.float32(np.linalg.norm(gaze))
        self.reach = 0.08 * float(self.scale)

    def first_look(self, pixel: Index) -> tuple[Array, _Known]:
        """Linear light ``[3, n]`` through the middles of all pixels; ``pixel`` is their order."""
        height, width = self.camera.height, self.camera.width
        count = height * width
        known = _Known(
            np.full(count, -1, np.int32), np.zeros(count, np.float32), np.zeros(count, np.float32)
        )

        def shares(met: Index, looks: Looks, face: NDArray[np.int32]) -> tuple[Array, Array]:
            at = pixel[met]
            known.face[at] = face
            known.sun[at] = self._sun(looks, at)
            if self.light.softness > 0:
                known.sun[:] = _shared(known, (height, width))
            sky = openness(self.surfaces, looks.point, looks.true, self.reach)
            known.sky[at] = sky
            return known.sun[at], sky

        row, column = np.divmod(pixel, width)
        return self._paint(column.astype(np.float32), row.astype(np.float32), shares), known

    def second_look(self, pixel: Index, known: _Known) -> Array:
        """Linear light ``[3, n]`` through places inside pixels ``[n]``, four in a row for each.

        Shadows change slowly over a face: they are taken from the first look where that saw the
        same face in the pixel or next to it.
        """
        height, width = self.camera.height, self.camera.width
        at_row, at_column = np.divmod(pixel, width)

        def shares(met: Index, looks: Looks, face: NDArray[np.int32]) -> tuple[Array, Array]:
            sun, sky = np.empty(len(met), np.float32), np.empty(len(met), np.float32)
            left = np.arange(len(met))
            for down, right in _AROUND:
                near = np.clip(at_row[met[left]] + down, 0, height - 1) * width
                near += np.clip(at_column[met[left]] + right, 0, width - 1)
                same = known.face[near] == face[left]
                found, near = left[same], near[same]
                sun[found] = known.sun[near]
                sky[found] = known.sky[near]
                left = left[~same]
            if left.size:
                some = Looks(*(part[..., left] for part in looks))
                sun[left] = self._sun(some, pixel[met[left]])
                sky[left] = openness(self.surfaces, some.point, some.true, self.reach)
            return sun, sky

        inside = np.tile(np.array(_CORNERS, np.float32).T, len(pixel) // len(_CORNERS))
        column, row = at_column + inside[0], at_row + inside[1]
        return self._paint(column.astype(np.float32), row.astype(np.float32), shares)

    def _paint(self, column: Array, row: Array, shares: _Shares) -> Array:
        direction = self.camera.rays(column, row)
        rays = Rays(column, row, direction, Blocks(np.stack([column, row])))
        hits = nearest_hits(self.surfaces, self.view, self.camera, rays)
        color: Array = np.empty_like(direction)
        missed = np.flatnonzero(hits.surface < 0)
        height = np.sqrt(np.clip(direction[2, missed], 0, 1))
        put(color, missed, self.horizon + (self.zenith - self.horizon) * height)
        met = np.flatnonzero(hits.surface >= 0)
        if met.size:
            seen = direction.take(met, axis=1)
            points = self.position + seen * hits.distance[met]
            surface = hits.surface[met]
            looks = looks_of(self.surfaces, surface, points, seen)
            sun, sky = shares(met, looks, _face(surface, looks.true))
            put(color, met, lit(looks, seen, sun, sky, self.light))
        glass = clear_fragments(self.surfaces, self.view, self.camera, rays, hits)
        if glass.ray.size:
            through = direction.take(glass.ray, axis=1)
            points = self.position + through * glass.distance
            looks = looks_of(self.surfaces, glass.surface, points, through)
            whole = np.ones(len(glass.ray), np.float32)
            shade = lit(looks, through, whole, whole, self.light)
            _lay_over(color, shade, cover(looks, through), glass.ray, glass.distance)
        return color

    def _sun(self, looks: Looks, pixel: Index) -> Array:
        """Share of the sun at points, each aiming at its own place on the sun's disc, ``[n]``."""
        middle = self.light.towards()
        spread = np.float32(np.tan(np.radians(self.light.softness)))
        share: Array = np.zeros(len(pixel), np.float32)
        facing = np.flatnonzero(middle @ looks.true > 0)
        if not facing.size:
            return share
        aims = middle[:, None] + across_and_along(middle)[:2].T @ (_DISC * spread)
        aims /= np.sqrt((aims * aims).sum(axis=0))
        row, column = np.divmod(pixel[facing], self.camera.width)
        direction = aims.take(column % 4 + 4 * (row % 4), axis=1)
        lift = np.float32(4e-4) * self.scale
        lifted = (looks.point + looks.true * lift).take(facing, axis=1)
        share[facing] = sunlight(self.surfaces, lifted, direction, middle, float(spread))
        return share


class _Shares(Protocol):
    """Finds the shares of sun and sky (``[m]`` each) for the rays ``met`` ``[m]``."""

    def __call__(
        self, met: Index, looks: Looks, face: NDArray[np.int32]
    ) -> tuple[Array, Array]: ...


def _disc() -> Array:
    """Sixteen places on the unit disc ``[2, 16]``, one for each pixel of a 4 by 4 block.

    The golden angle spreads them evenly; the order keeps neighbours of a block apart.
    """
    number = np.array([0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5])
    radius, angle = np.sqrt((number + 0.5) / 16), number * 2.399963
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32)


_DISC = _disc()
_AROUND = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))


def _face(surface: NDArray[np.int16], normal: Array) -> NDArray[np.int32]:
    """One number for a surface and the octant that its normal points to, ``[n]``."""
    half = np.float32(0.5)
    sides = np.concatenate([normal > half, normal < -half])
    number: NDArray[np.int32] = (sides * _OCTANTS).sum(axis=0, dtype=np.int32)
    return number + surface.astype(np.int32) * 64


def _shared(known: _Known, grid: tuple[int, int]) -> Array:
    """Mean of ``known.sun`` over the neighbours that lie on the same face, ``[n]``.

    The weights are a tent seven pixels wide, in which each of the sixteen places on the sun weighs
    the same; a plain 4 by 4 mean would too, but leaves steps at the shadow's edge.
    """
    face = known.face.reshape(grid)
    total = known.sun.reshape(grid)
    weight: Array = np.ones(grid, np.float32)
    for axis in (0, 1):
        size = grid[axis]
        sums, weights = 4 * total, 4 * weight
        for step in range(1, min(4, size)):
            here, there = [slice(None)] * 2, [slice(None)] * 2
            here[axis], there[axis] = slice(step, size), slice(0, size - step)
            for near, far in ((tuple(here), tuple(there)), (tuple(there), tuple(here))):
                same = (face[near] == face[far]) * np.float32(4 - step)
                sums[near] += same * total[far]
                weights[near] += same * weight[far]
        total, weight = sums, weights
    return (total / weight).reshape(-1)


def _lay_over(color: Array, shade: Array, hidden: Array, ray: Index, distance: Array) -> None:
    """Put glass over ``color`` ``[3, n]`` in place, the farthest layer of every ray first."""
    order = np.lexsort((-distance, ray))
    ray = ray[order]
    starts = np.flatnonzero(np.r_[True, ray[1:] != ray[:-1]])
    depth = np.arange(len(ray)) - np.repeat(starts, np.diff(np.r_[starts, len(ray)]))
    for layer in range(int(depth.max()) + 1):
        mine = depth == layer
        which, source = ray[mine], order[mine]
        below = color.take(which, axis=1) * (1 - hidden[source])
        put(color, which, below + shade.take(source, axis=1))
