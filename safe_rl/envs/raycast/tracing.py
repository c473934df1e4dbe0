"""What rays meet in a scene: the nearest surface, the glass before it, the sun, the open sky.

Every function goes over the surfaces one by one and, for each, over the rays that can meet it at
all: those inside its rectangle in the picture, or inside its rectangle as the sun sees it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast.blocks import Blocks, Index
from safe_rl.envs.raycast.camera import Camera
from safe_rl.envs.raycast.materials import Array, dot
from safe_rl.envs.raycast.surfaces import Surface

_NEVER = np.float32(np.inf)


class Rays(NamedTuple):
    """Rays from the camera: places in the picture ``[n]`` and unit directions ``[3, n]``."""

    column: Array
    row: Array
    direction: Array
    blocks: Blocks


class Hits(NamedTuple):
    """What each ray met first.

    ``surface`` is an index into the surfaces, -1 for none (``[n]``); ``distance`` is ``[n]``.
    """

    surface: NDArray[np.int16]
    distance: Array


class Fragments(NamedTuple):
    """Crossings of glass before the first opaque surface: ray, surface, distance (``[m]`` each)."""

    ray: Index
    surface: NDArray[np.int16]
    distance: Array


class View(NamedTuple):
    """The surfaces as the camera sees them: ``[4, k]`` rectangle, ``[k]`` least distance."""

    rectangle: Array
    nearest: Array


def view_of(surfaces: list[Surface], camera: Camera) -> View:
    """Bound every surface in the picture by its box's corners.

    A box that reaches behind the camera is bounded by the whole picture.
    """
    if not surfaces:
        return View(np.empty((4, 0), np.float32), np.empty(0, np.float32))
    corners = np.concatenate([surface.corners for surface in surfaces], axis=1)
    column, row, depth = (part.reshape(-1, 8) for part in camera.project(corners))
    rectangle = np.stack([column.min(1), column.max(1), row.min(1), row.max(1)])
    everywhere = np.array([[-_NEVER], [_NEVER], [-_NEVER], [_NEVER]])
    nowhere = -everywhere
    rectangle = np.where(depth.min(axis=1) <= 1e-6, everywhere, rectangle)
    rectangle = np.where(depth.max(axis=1) <= 0, nowhere, rectangle)
    position = np.asarray(camera.position, np.float32)
    nearest = np.empty(len(surfaces), np.float32)
    for k, surface in enumerate(surfaces):
        local = surface.to_local(position - surface.center)
        outside = np.maximum(np.maximum(surface.low - local, local - surface.high), 0)
        nearest[k] = np.sqrt(outside @ outside)
    return View(rectangle, nearest)


def nearest_hits(surfaces: list[Surface], view: View, camera: Camera, rays: Rays) -> Hits:
    """Find the first opaque surface on every ray."""
    count = len(rays.column)
    distance: Array = np.full(count, _NEVER, np.float32)
    index = np.full(count, -1, np.int16)
    for k in np.argsort(view.nearest, kind="stable"):
        if surfaces[k].material.opacity < 1:
            continue
        chosen = _inside(view, int(k), rays, distance)
        if not chosen.size:
            continue
        crossings = _crossings(surfaces[k], camera, rays, chosen)
        found = np.where(crossings > 0, crossings, _NEVER).min(axis=0)
        closer = found < distance[chosen]
        won = chosen[closer]
        distance[won] = found[closer]
        index[won] = k
    return Hits(index, distance)


def clear_fragments(
    surfaces: list[Surface], view: View, camera: Camera, rays: Rays, opaque: Hits
) -> Fragments:
    """Find every crossing of a transparent surface that no opaque one hides."""
    parts: list[Fragments] = []
    for k, surface in enumerate(surfaces):
        if surface.material.opacity >= 1:
            continue
        chosen = _inside(view, k, rays, opaque.distance)
        if not chosen.size:
            continue
        found = _crossings(surface, camera, rays, chosen)
        which, column = np.nonzero((found > 0) & (found < opaque.distance[chosen]))
        ray = chosen[column]
        parts.append(Fragments(ray, np.full(len(ray), k, np.int16), found[which, column]))
    if not parts:
        none: Index = np.zeros(0, np.int64)
        return Fragments(none, none.astype(np.int16), none.astype(np.float32))
    return Fragments(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _inside(view: View, k: int, rays: Rays, distance: Array) -> Index:
    """Rays within a surface's rectangle for which nothing nearer than the surface is known."""
    left, right, top, bottom = view.rectangle[:, k]
    low, high = rays.blocks.low, rays.blocks.high
    chosen = rays.blocks.columns(
        (high[0] >= left) & (low[0] <= right) & (high[1] >= top) & (low[1] <= bottom)
    )
    column, row = rays.column[chosen], rays.row[chosen]
    exact = (column >= left) & (column <= right) & (row >= top) & (row <= bottom)
    return chosen[exact & (distance[chosen] > view.nearest[k])]


def _crossings(surface: Surface, camera: Camera, rays: Rays, chosen: Index) -> Array:
    """Distances of all crossings of the chosen rays, ``[k, n]``."""
    position = np.asarray(camera.position, np.float32)
    direction = surface.to_local(rays.direction.take(chosen, axis=1))
    origin = surface.to_local(position - surface.center)
    # Start at the point nearest to the solid: small numbers keep float32 exact enough.
    shift = -(origin @ direction)
    crossings = surface.crossings(origin[:, None] + shift * direction, direction)
    crossings += shift
    return crossings


def sunlight(
    surfaces: list[Surface], points: Array, direction: Array, sun: Array, spread: float
) -> Array:
    """How much of the sun reaches each point, 0 to 1.

    Args:
        surfaces: all surfaces.
        points: ``[3, n]``, already moved off their own surface; neighbours near each other.
        direction: unit vectors towards the sun, ``[3, n]``, one for each point.
        sun: ``[3]``, the middle of the sun.
        spread: tangent of the largest angle between ``direction`` and ``sun``.

    Returns:
        ``[n]``.
    """
    left: Array = np.ones(points.shape[1], np.float32)
    axes = across_and_along(sun)
    seen = axes @ points
    blocks, places = Blocks(seen), Blocks(points)
    for surface in surfaces:
        corners = axes @ surface.corners
        low, high = corners.min(axis=1), corners.max(axis=1)
        margin = np.float32(spread) * np.maximum(high[2] - blocks.low[2], 0)
        may_meet = (
            (blocks.low[2] < high[2])
            & (blocks.low[0] - margin < high[0])
            & (blocks.high[0] + margin > low[0])
            & (blocks.low[1] - margin < high[1])
            & (blocks.high[1] + margin > low[1])
        )
        if np.count_nonzero(may_meet) > 50:
            may_meet &= ~_leaves_behind(surface, places, sun, spread)
        chosen = blocks.columns(may_meet)
        if not chosen.size:
            continue
        u, v, w = seen.take(chosen, axis=1)
        wide = np.float32(spread) * (high[2] - w)
        exact = (wide >= 0) & (left[chosen] > 0)
        exact &= (u - wide < high[0]) & (u + wide > low[0])
        exact &= (v - wide < high[1]) & (v + wide > low[1])
        chosen = chosen[exact]
        if not chosen.size:
            continue
        origin = surface.to_local(points.take(chosen, axis=1) - surface.center[:, None])
        towards = surface.to_local(direction.take(chosen, axis=1))
        blocked = surface.blocks(origin, towards)
        left[chosen[blocked]] *= np.float32(0.85 * (1 - surface.material.opacity))
    return left


def _leaves_behind(
    surface: Surface, places: Blocks, sun: Array, spread: float
) -> NDArray[np.bool_]:
    """Blocks that lie on the sunny side of a face, where the way to the sun leads away from it.

    This keeps floors and walls, which are in everybody's rectangle, out of the search.
    """
    middle = surface.to_local(
        (places.low + places.high) * np.float32(0.5) - surface.center[:, None]
    )
    radius = np.abs(surface.frame.T) @ ((places.high - places.low) / 2)
    towards = surface.to_local(sun)[:, None]
    slack = np.float32(spread)
    above = (middle - radius > surface.high[:, None]) & (towards > slack)
    below = (middle + radius < surface.low[:, None]) & (towards < -slack)
    return np.logical_or.reduce(above | below, axis=0)


def across_and_along(sun: Array) -> Array:
    """Rows are two directions across the sun's and the sun's own, ``[3, 3]``."""
    other = np.eye(3)[np.abs(sun).argmin()]
    first = np.cross(sun, other)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(sun, first), sun]).astype(np.float32)


def openness(surfaces: list[Surface], points: Array, normals: Array, reach: float) -> Array:
    """How much of the sky each point sees past its neighbours, 0 to 1.

    Each solid counts as the ellipsoid inside its bounding box, with the sphere's closed form in the
    frame where it is one (Quilez, "sphere ambient occlusion"); the shares multiply. An estimate,
    meant for the dark seam where things touch.

    Args:
        surfaces: all surfaces; glass does not count.
        points: ``[3, n]``; neighbours near each other.
        normals: ``[3, n]``, unit.
        reach: how far beyond its own size a solid darkens others, in scene units.

    Returns:
        ``[n]``.
    """
    open_sky: Array = np.ones(points.shape[1], np.float32)
    blocks = Blocks(points)
    for surface in surfaces:
        if surface.material.opacity < 1:
            continue
        middle, half = surface.middle, surface.half
        bound = np.abs(surface.frame) @ half + np.float32(reach)
        low, high = (middle - bound)[:, None], (middle + bound)[:, None]
        overlap = (blocks.low < high) & (blocks.high > low)
        chosen = blocks.columns(overlap[0] & overlap[1] & overlap[2])
        if not chosen.size:
            continue
        away = points.take(chosen, axis=1) - middle[:, None]
        normal = normals.take(chosen, axis=1)
        facing = -dot(away, normal)
        place = surface.to_local(away)
        beyond = np.maximum.reduce(np.abs(place) - half[:, None], axis=0)
        near = np.flatnonzero((facing > 0) & (beyond < reach))
        if not near.size:
            continue
        fade = np.minimum(1 - beyond[near] / np.float32(reach), 1)
        scale = np.maximum(half, np.float32(0.02) * half.max()) * np.float32(1.1)
        stretched = (surface.frame * scale).T @ normal.take(near, axis=1)
        place = place.take(near, axis=1) / scale[:, None]
        square = np.maximum(dot(place, place), 1)
        # The inner product of place and normal is the same in both frames.
        covered = facing[near] / (square * np.sqrt(square * dot(stretched, stretched)))
        open_sky[chosen[near]] *= 1 - np.float32(0.8) * np.minimum(covered * fade, 1)
    return open_sky
