"""Candidates for grasps: pairs of opposed surfaces that fit between the fingers.

A line through the object is cut by its collision geoms (each convex) into solid parts. A part that
is narrow enough, whose surfaces face along the line and whose ends leave room for the fingers, is a
place to close them (antipodal grasps: Chen and Burdick, 1993).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.primitives.grasps import Grasp
from safe_rl.demonstrations.primitives.pose import Matrix, Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.simulator import load

WIDEST = 0.072  # m, between the open fingers of a Panda, with a little room
_FINGER = 0.012  # m, what a finger needs beside a surface
_FRICTION = 0.25
_FAR = 1.0  # m
_BESIDE = 0.002  # m, between the rays that tell how a surface is turned
_TILT = 0.6  # rad, of the approach from straight down


class Solid:
    """An object's collision geoms, to cut lines with; in the world, as it stands now."""

    def __init__(self, scene: Scene, thing: str) -> None:
        """Take the geoms of ``thing``."""
        self._mujoco, self._scene = load().mujoco, scene
        self._geoms = scene.geoms(thing)
        self.low, self.high = scene.bounds(thing)

    def cut(self, point: Vector, direction: Vector) -> list[tuple[float, float]]:
        """Solid parts of a line, as distances from ``point``, in order."""
        parts = []
        for geom in self._geoms:
            enter = self._ray(geom, point - _FAR * direction, direction)
            leave = self._ray(geom, point + _FAR * direction, -direction)
            if enter >= 0 and leave >= 0:
                parts.append((enter - _FAR, _FAR - leave))
        merged: list[tuple[float, float]] = []
        for start, end in sorted(parts):
            if merged and start <= merged[-1][1] + 1e-4:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return merged

    def _ray(self, geom: int, origin: Vector, direction: Vector) -> float:
        model, data, mujoco = self._scene.model, self._scene.data, self._mujoco
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
            return float(mujoco.mj_rayMesh(model, data, geom, origin, direction, None))
        place, turn = data.geom_xpos[geom], data.geom_xmat[geom]
        size, kind = model.geom_size[geom], model.geom_type[geom]
        return float(mujoco.mju_rayGeom(place, turn, size, origin, direction, kind, None))

    def faces(self, point: Vector, direction: Vector, part: tuple[float, float]) -> bool:
        """Whether both surfaces of a solid part lie across the line, within the friction cone."""
        sides = _across(direction)
        for side in sides:
            beside = self._near(self.cut(point + _BESIDE * side, direction), part)
            if beside is None:
                return False
            slopes = np.abs(np.subtract(beside, part)) / _BESIDE
            if slopes.max() > _FRICTION:
                return False
        return True

    @staticmethod
    def _near(
        parts: list[tuple[float, float]], part: tuple[float, float]
    ) -> tuple[float, float] | None:
        middle = sum(part) / 2
        return next((found for found in parts if found[0] <= middle <= found[1]), None)


def candidates(scene: Scene, thing: str, rng: np.random.Generator) -> Iterator[Grasp]:
    """Grasps of ``thing`` as it stands, from above, without end and without order."""
    solid, place = Solid(scene, thing), scene.pose(thing)
    for _ in range(20_000):
        point = rng.uniform(solid.low, solid.high)
        closing = _unit(rng.normal(size=3) * [1.0, 1.0, 0.3])
        parts = solid.cut(point, closing)
        for index, part in enumerate(parts):
            width = part[1] - part[0]
            if not 0.002 < width < WIDEST or not _room(parts, index):
                continue
            if not solid.faces(point, closing, part):
                continue
            middle = point + closing * sum(part) / 2
            pose = Pose(middle, _looking_down(closing, float(rng.normal(scale=_TILT / 2))))
            yield Grasp(place.inverse() @ pose, width)


def _room(parts: list[tuple[float, float]], index: int) -> bool:
    start, end = parts[index]
    before = index == 0 or start - parts[index - 1][1] > _FINGER
    after = index == len(parts) - 1 or parts[index + 1][0] - end > _FINGER
    return before and after


def _looking_down(closing: Vector, tilt: float) -> Matrix:
    """The rotation that closes along ``closing`` and looks down, but for a tilt about it."""
    down = np.array([0.0, 0.0, -1.0])
    look = _unit(down - closing * (closing @ down))
    look = np.cos(tilt) * look + np.sin(tilt) * np.cross(closing, look)
    return np.column_stack([closing, np.cross(look, closing), look])


def _across(direction: Vector) -> tuple[Vector, Vector]:
    other = np.eye(3)[int(np.argmin(np.abs(direction)))]
    first = _unit(np.cross(direction, other))
    second = np.asarray(np.cross(direction, first), np.float64)
    return first, second


def _unit(vector: Vector) -> Vector:
    length: Vector = vector / np.linalg.norm(vector)
    return length
