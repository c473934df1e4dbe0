"""The camera: a pinhole that maps the scene to pixels and pixels to rays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.envs.raycast.materials import Array
from safe_rl.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera; z is up in the picture.

    Attributes:
        position: ``[3]``, where it stands.
        look_at: ``[3]``, what is in the middle of the picture.
        fov: vertical field of view in degrees.
        width, height: of the picture, in pixels.
    """

    position: ArrayLike
    look_at: ArrayLike = (0.0, 0.0, 0.0)
    fov: float = 45.0
    width: int = 320
    height: int = 240

    def __post_init__(self) -> None:
        """Check the view."""
        for name in ("position", "look_at"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (3,) or not np.isfinite(value).all():
                raise ConfigurationError(f"Camera.{name} must be three finite numbers, got {value}")
        if not 0 < self.fov < 180:
            raise ConfigurationError(f"Camera.fov must be between 0 and 180, got {self.fov!r}")
        for name in ("width", "height"):
            if int(getattr(self, name)) < 1:
                raise ConfigurationError(
                    f"Camera.{name} must be at least 1 pixel, got {getattr(self, name)!r}"
                )
        self.axes()

    def axes(self) -> NDArray[np.float64]:
        """Rows are the directions of the picture's right, its top, and the view, ``[3, 3]``.

        Raises:
            ConfigurationError: the camera stands on the point it looks at.
        """
        view = np.asarray(self.look_at, dtype=float) - np.asarray(self.position, dtype=float)
        length = float(np.linalg.norm(view))
        if length == 0:
            raise ConfigurationError(
                f"the camera stands at the point it looks at, {self.position!r}"
            )
        view /= length
        up = np.array([0.0, 0.0, 1.0])
        if abs(view[2]) > 0.9999:  # straight down or up: y is the picture's top
            up = np.array([0.0, 1.0, 0.0])
        right = np.cross(view, up)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, view), view])

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return self.height / 2 / math.tan(math.radians(self.fov) / 2)

    def rays(self, column: Array, row: Array) -> Array:
        """Unit directions ``[3, n]`` through places ``[n]`` in the picture.

        The middle of the top left pixel is (0, 0).
        """
        x = (column - np.float32((self.width - 1) / 2)) / np.float32(self.focal)
        y = (np.float32((self.height - 1) / 2) - row) / np.float32(self.focal)
        axes = self.axes().astype(np.float32)
        direction = axes.T @ np.stack([x, y, np.ones_like(x)])
        return direction / np.sqrt((direction * direction).sum(axis=0))

    def project(self, points: ArrayLike) -> tuple[Array, Array, Array]:
        """Column, row and depth (``[n]`` each) of world points ``[3, n]``.

        Column and row mean nothing where the depth is not positive.
        """
        away = np.asarray(points, dtype=float) - np.asarray(self.position, dtype=float)[:, None]
        x, y, depth = self.axes() @ away
        scale = self.focal / np.where(np.abs(depth) < 1e-9, 1e-9, depth)
        column = x * scale + (self.width - 1) / 2
        row = (self.height - 1) / 2 - y * scale
        return column.astype(np.float32), row.astype(np.float32), depth.astype(np.float32)
