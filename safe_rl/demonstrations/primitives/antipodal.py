"""Candidates for grasps: pairs of opposed surfaces that fit between the fingers.

A line through the object is cut by its collision geoms (each convex) into solid parts. A part that
is narrow enough, whose surfaces face along the line and whose ends leave room for the fingers, is a
place to close them (antipodal grasps: Chen and Burdick, 1993).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from safe_rl.demonstrations.primitives.grasps import Grasp
from safe_rl.demonstrations.primitives.pose import Matrix, Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.simulator import load

WIDEST = 0.072  # m, between the open fingers of a Panda, with a little room
_FINGER = 0.012  # m, what a finger needs beside a surface
_FACING = 0.97  # cosine between the closing direction and the surfaces' normals
_FAR = 1.0  # m
_TILT = 0.6  # rad, of the approach from straight down


class Part(NamedTuple):
    """A solid part of a line.

    Attributes:
        start: distance of its first surface along the line, m.
        end: of its last.
        facing: the smaller cosine between the line and the surfaces' normals.
    """

    start: float
    end: float
    facing: float

    @property
    def width(self) -> float:
        """Between the surfaces, m."""
        return self.end - self.start


class Solid:
    """An object's collision geoms, to cut lines with; in the world, as it stands now."""

    def __init__(self, scene: Scene, thing: str) -> None:
        """Take the geoms of ``thing``."""
        self._mujoco, self._scene = load().mujoco, scene
        self._geoms = scene.geoms(thing)
        self.low, self.high = scene.bounds(thing)

    def cut(self, point: Vector, direction: Vector) -> list[Part]:
        """Solid parts of a line, measured from ``point``, in order."""
        found = []
        for geom in self._geoms:
            enter, first = self._ray(geom, point - _FAR * direction, direction)
            if enter < 0:
                continue
            leave, last = self._ray(geom, point + _FAR * direction, -direction)
            if leave >= 0:
                found.append((enter - _FAR, _FAR - leave, first, last))
        parts: list[Part] = []
        for start, end, first, last in sorted(found):
            before = parts[-1] if parts else None
            if before is None or start > before.end + 1e-4:
                parts.append(Part(start, end, min(first, last)))
            elif end > before.end:
                parts[-1] = Part(before.start, end, min(before.facing, last))
        return parts

    def _ray(self, geom: int, origin: Vector, direction: Vector) -> tuple[float, float]:
        """Distance to a geom, -1 beside it, and the cosine to its surface there."""
        model, data, mujoco = self._scene.model, self._scene.data, self._mujoco
        normal = np.zeros(3)
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
            distance = mujoco.mj_rayMesh(model, data, geom, origin, direction, normal)
        else:
            place, turn = data.geom_xpos[geom], data.geom_xmat[geom]
            size, kind = model.geom_size[geom], model.geom_type[geom]
            distance = mujoco.mju_rayGeom(place, turn, size, origin, direction, kind, normal)
        return float(distance), abs(float(normal @ direction))


def candidates(scene: Scene, thing: str, rng: np.random.Generator) -> Iterator[Grasp]:
    """Grasps of ``thing`` as it stands, from above, without end and without order."""
    solid, place = Solid(scene, thing), scene.pose(thing)
    for _ in range(20_000):
        point = rng.uniform(solid.low, solid.high)
        closing = _unit(rng.normal(size=3) * [1.0, 1.0, 0.3])
        parts = solid.cut(point, closing)
        for index, part in enumerate(parts):
            if not 0.002 < part.width < WIDEST or part.facing < _FACING:
                continue
            if not _room(parts, index):
                continue
            middle = point + closing * (part.start + part.end) / 2
            pose = Pose(middle, _looking_down(closing, float(rng.normal(scale=_TILT / 2))))
            yield Grasp(place.inverse() @ pose, part.width)


def _room(parts: list[Part], index: int) -> bool:
    before = index == 0 or parts[index].start - parts[index - 1].end > _FINGER
    return before and (
        index == len(parts) - 1 or parts[index + 1].start - parts[index].end > _FINGER
    )


def _looking_down(closing: Vector, tilt: float) -> Matrix:
    """The rotation that closes along ``closing`` and looks down, but for a tilt about it."""
    down = np.array([0.0, 0.0, -1.0])
    look = _unit(down - closing * (closing @ down))
    look = np.cos(tilt) * look + np.sin(tilt) * np.cross(closing, look)
    return np.column_stack([closing, np.cross(look, closing), look])


def _unit(vector: Vector) -> Vector:
    length: Vector = vector / np.linalg.norm(vector)
    return length
