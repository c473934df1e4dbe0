"""The solids a scene is made of.

Lengths are in whatever unit the scene uses (metres, usually), the z axis points up. A rotation is
a 3x3 matrix, a quaternion (w, x, y, z) as MuJoCo has them, or ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.envs.raycast.materials import Material
from safe_rl.errors import ConfigurationError

Vector: TypeAlias = ArrayLike
Rotation: TypeAlias = ArrayLike | None
Profile: TypeAlias = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Box:
    """A box.

    Attributes:
        center: ``[3]``.
        half: ``[3]``, half of each edge.
        rotation: of the box about its centre.
        material: its look.
        bevel: width of the edge that catches the light, as if it were rounded; it changes the
            shading only, never the outline.
    """

    center: Vector
    half: Vector
    rotation: Rotation = None
    material: Material = field(default_factory=Material)
    bevel: float = 0.0

    def __post_init__(self) -> None:
        """Check the sizes."""
        _vector("Box.center", self.center)
        _positive("Box.half", *_vector("Box.half", self.half))


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """An ellipsoid with half axes ``half`` ``[3]`` about ``center`` ``[3]``."""

    center: Vector
    half: Vector
    rotation: Rotation = None
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        """Check the sizes."""
        _vector("Ellipsoid.center", self.center)
        _positive("Ellipsoid.half", *_vector("Ellipsoid.half", self.half))


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball of ``radius`` about ``center`` ``[3]``."""

    center: Vector
    radius: float
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        """Check the sizes."""
        _vector("Sphere.center", self.center)
        _positive("Sphere.radius", self.radius)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder along its own z axis, capped, or a cup if it has a ``wall``.

    Attributes:
        center: ``[3]``, half way up.
        half_height: half of its height.
        radius: at the bottom.
        radius_top: at the top; ``None`` means ``radius``.
        rotation: of the cylinder about its centre.
        material: its look.
        wall: thickness of wall and floor of a cup that is open at the top; 0 is solid.
        liquid: what the cup holds; ``None`` is nothing.
        fill: how far the liquid reaches, 0 (empty) to 1 (the rim).
    """

    center: Vector
    half_height: float
    radius: float
    radius_top: float | None = None
    rotation: Rotation = None
    material: Material = field(default_factory=Material)
    wall: float = 0.0
    liquid: Material | None = None
    fill: float = 0.0

    def __post_init__(self) -> None:
        """Check the sizes."""
        _vector("Cylinder.center", self.center)
        _positive("Cylinder.half_height", self.half_height)
        _positive("Cylinder.radius", self.radius)
        top = self.radius if self.radius_top is None else self.radius_top
        if top < 0:
            raise ConfigurationError(f"Cylinder.radius_top must not be negative, got {top!r}")
        if not 0 <= self.fill <= 1:
            raise ConfigurationError(f"Cylinder.fill must be in [0, 1], got {self.fill!r}")
        thickest = min(self.radius, top, 2 * self.half_height)
        if self.wall < 0 or (self.wall > 0 and self.wall >= thickest):
            raise ConfigurationError(
                f"Cylinder.wall must be from 0 to below {thickest!r}, the smallest of the radii "
                f"and the height, got {self.wall!r}"
            )


@dataclass(frozen=True, eq=False)
class Revolved:
    """A profile turned about the local z axis: plates, glasses, bottles, knobs.

    Attributes:
        center: ``[3]``, where the profile's origin lies.
        profile: points (radius, z) in the order of drawing, at least two. Corners between pieces
            that meet at less than ``smooth`` degrees are shaded as if they were round.
        rotation: about the centre.
        material: its look.
        smooth: largest angle between two pieces that is shaded away, in degrees.
    """

    center: Vector
    profile: Profile
    rotation: Rotation = None
    material: Material = field(default_factory=Material)
    smooth: float = 40.0

    def __post_init__(self) -> None:
        """Check the profile."""
        _vector("Revolved.center", self.center)
        points = np.asarray(self.profile, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
            raise ConfigurationError(
                "Revolved.profile must hold two or more points (radius, z), got an array of "
                f"shape {points.shape}"
            )
        if not np.isfinite(points).all() or (points[:, 0] < 0).any() or not points[:, 0].any():
            raise ConfigurationError(
                f"Revolved.profile must have finite points, no negative radius and one above 0, "
                f"got {points.tolist()}"
            )


Shape: TypeAlias = Box | Ellipsoid | Sphere | Cylinder | Revolved


def turned(degrees: float, axis: ArrayLike = (0.0, 0.0, 1.0)) -> NDArray[np.float64]:
    """Rotation matrix ``[3, 3]`` about an axis, counter-clockwise seen from its tip.

    >>> turned(90.0).round().astype(int).tolist()
    [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    x, y, z = (float(value) for value in _unit("axis", axis))
    angle = math.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def matrix(rotation: Rotation) -> NDArray[np.float64]:
    """Rotation matrix ``[3, 3]`` of a matrix, a quaternion (w, x, y, z), or ``None``.

    Raises:
        ConfigurationError: the shape is another, or the values are no rotation.
    """
    if rotation is None:
        return np.eye(3)
    values = np.asarray(rotation, dtype=float)
    if values.shape == (3, 3):
        if not np.allclose(values @ values.T, np.eye(3), atol=1e-3):
            raise ConfigurationError(f"rotation is no rotation matrix: {values.tolist()}")
        return values
    if values.shape == (4,):
        w, x, y, z = _unit("rotation", values)
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    raise ConfigurationError(
        f"rotation must be a 3x3 matrix or a quaternion (w, x, y, z), got shape {values.shape}"
    )


def _unit(name: str, values: ArrayLike) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    length = float(np.linalg.norm(vector))
    if not (np.isfinite(length) and length > 0):
        raise ConfigurationError(f"{name} must be finite and not zero, got {vector.tolist()}")
    return vector / length


def _vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ConfigurationError(f"{name} must be three finite numbers, got {values!r}")
    return vector


def _positive(name: str, *values: float) -> None:
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ConfigurationError(f"{name} must be positive and finite, got {values!r}")
