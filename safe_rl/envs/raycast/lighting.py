"""How bright a point is: sun, sky, highlights and what a shiny surface mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.envs.raycast.blocks import put
from safe_rl.envs.raycast.materials import Array, Color, base_color, dot, linear
from safe_rl.envs.raycast.surfaces import Surface
from safe_rl.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Light:
    """A sun and a sky.

    Attributes:
        direction: ``[3]``, towards the sun; of any length.
        color: of the sun, sRGB.
        strength: of the sun; 1 lights a white surface that faces it to about white.
        sky: colour of the light from above.
        ground: colour of the light from below.
        ambient: strength of sky and ground.
        softness: radius of the sun in degrees; 0 gives hard shadows.
    """

    direction: ArrayLike = (-0.45, -0.4, 0.9)
    color: Color = "#fff3e0"
    strength: float = 0.78
    sky: Color = "#dfe8f5"
    ground: Color = "#a89c90"
    ambient: float = 0.5
    softness: float = 3.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        towards = np.asarray(self.direction, dtype=float)
        if towards.shape != (3,) or not np.isfinite(towards).all() or not towards.any():
            raise ConfigurationError(
                f"Light.direction must be three finite numbers, not all 0, got {self.direction!r}"
            )
        if not 0 <= self.softness < 45:
            raise ConfigurationError(f"Light.softness must be in [0, 45), got {self.softness!r}")
        for name in ("strength", "ambient"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(
                    f"Light.{name} must not be negative, got {getattr(self, name)!r}"
                )
        for name in ("color", "sky", "ground"):
            linear(getattr(self, name))

    def towards(self) -> Array:
        """Unit direction to the sun, ``[3]``."""
        vector = np.asarray(self.direction, dtype=float)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class Looks(NamedTuple):
    """Points on surfaces: where, which way they face, what they are made of.

    ``point``, ``true`` (geometric normal), ``normal`` (shaded) and ``color`` are ``[3, n]``;
    ``gloss``, ``metal`` and ``opacity`` are ``[n]``. Normals face the camera.
    """

    point: Array
    true: Array
    normal: Array
    color: Array
    gloss: Array
    metal: Array
    opacity: Array


def looks_of(
    surfaces: list[Surface], index: NDArray[np.int16], points: Array, direction: Array
) -> Looks:
    """Look up normals and materials.

    Args:
        surfaces: all surfaces.
        index: ``[n]``, the surface that each point is on; none may be -1.
        points: ``[3, n]`` in the world.
        direction: ``[3, n]``, of the rays that came there.
    """
    order = np.argsort(index, kind="stable")
    numbers, starts = np.unique(index[order], return_index=True)
    sorted_points = points.take(order, axis=1)
    ends = [*starts[1:], len(index)]
    true: Array = np.empty_like(points)
    normal: Array = np.empty_like(points)
    color: Array = np.empty_like(points)
    for k, start, end in zip(numbers, starts, ends, strict=True):
        surface, mine = surfaces[k], slice(start, end)
        local = surface.to_local(sorted_points[:, mine] - surface.center[:, None])
        geometric, shaded = surface.normals(local)
        true[:, mine] = surface.frame @ geometric
        normal[:, mine] = true[:, mine] if shaded is geometric else surface.frame @ shaded
        color[:, mine] = base_color(surface.material, local)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    true, normal, color = (part.take(back, axis=1) for part in (true, normal, color))
    away = dot(true, direction) > 0
    flip = np.where(away, np.float32(-1), np.float32(1))
    true *= flip
    normal *= flip
    materials = [surface.material for surface in surfaces]
    table = np.array([(m.gloss, m.metal, m.opacity) for m in materials], np.float32).T
    return Looks(points, true, normal, color, *table.take(index, axis=1))


def lit(looks: Looks, direction: Array, sun: Array, sky: Array, light: Light) -> Array:
    """Light that leaves points towards the camera, ``[3, n]``, linear.

    Diffuse light of sun and sky (a hemisphere), a Blinn-Phong highlight, and the surroundings
    mirrored with Schlick's approximation. For glass the result is already weighted by its
    opacity: add it to what is behind, times one minus :func:`cover`.

    Args:
        looks: the points.
        direction: of the rays that came there, ``[3, n]``.
        sun: share of the sun that reaches them, ``[n]``.
        sky: share of the sky that they see, ``[n]``.
        light: the light.
    """
    towards = light.towards()
    normal = looks.normal
    facing = np.maximum(towards @ normal, 0) * sun
    sun_color = linear(light.color)[:, None] * np.float32(light.strength)
    above, below = linear(light.sky)[:, None], linear(light.ground)[:, None]
    up = normal[2] * np.float32(0.5) + np.float32(0.5)
    body = (above - below) * up
    body += below
    body *= np.float32(light.ambient) * sky
    body += sun_color * facing
    body *= looks.color
    body *= (1 - np.float32(0.75) * looks.metal) * looks.opacity
    shiny = np.flatnonzero(looks.gloss + looks.metal > np.float32(0.02))
    if not shiny.size:
        return body
    gloss, metal, clear = looks.gloss[shiny], looks.metal[shiny], looks.opacity[shiny] < 1
    turned, seen = normal.take(shiny, axis=1), direction.take(shiny, axis=1)
    cosine = np.clip(-dot(turned, seen), 0, 1)
    half = towards[:, None] - seen
    # The half vector to the power 8 * 2^(5 gloss), through logarithms in base 2.
    aligned = np.maximum(dot(turned, half), np.float32(1e-6)) / np.sqrt(dot(half, half))
    spot = np.exp2(np.log2(aligned) * (8 * np.exp2(5 * gloss)))
    spot *= gloss * np.where(facing[shiny] > 0, sun[shiny], 0) * (np.float32(0.25) + metal)
    share = np.maximum(gloss * _schlick(cosine), np.float32(0.7) * metal)
    share = np.where(clear, _glass_edge(cosine), share)
    share *= np.float32(0.4) + np.float32(0.6) * sky[shiny]
    around = _surroundings(seen + 2 * cosine * turned, above, below)
    around *= 1 + (looks.color.take(shiny, axis=1) - 1) * metal
    around *= share
    around += sun_color * spot
    put(body, shiny, body.take(shiny, axis=1) + around)
    return body


def cover(looks: Looks, direction: Array) -> Array:
    """How much glass hides of what is behind it, ``[n]``; more at the edges it is seen along."""
    cosine = np.clip(-dot(looks.normal, direction), 0, 1)
    return looks.opacity + (1 - looks.opacity) * np.float32(0.9) * _glass_edge(cosine)


def _schlick(cosine: Array) -> Array:
    grazing = 1 - cosine
    square = grazing * grazing
    return np.float32(0.04) + np.float32(0.5) * square * square * grazing


def _glass_edge(cosine: Array) -> Array:
    grazing = 1 - cosine
    return np.float32(0.05) + np.float32(0.8) * grazing * grazing * grazing


def _surroundings(direction: Array, above: Array, below: Array) -> Array:
    """A room for shiny things to mirror: bright above, dim below, one large window."""
    height = np.clip(direction[2] * np.float32(1.2) + np.float32(0.4), 0, 1)
    pane = np.clip((_WINDOW @ direction - np.float32(0.8)) / np.float32(0.06), 0, 1)
    dim = below * np.float32(0.45)
    room = (above - dim) * (height * height)
    room += dim
    room += (above * np.float32(0.9)) * pane
    return room


_WINDOW = np.array((-0.6, -0.5, 0.62), np.float32)
