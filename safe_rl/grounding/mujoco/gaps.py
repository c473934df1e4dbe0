"""How far the gripper is from objects and components, and whose box overlaps its own."""

from __future__ import annotations

from collections.abc import Collection
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from safe_rl.grounding.mujoco.bindings import GeomDistance, MujocoData, MujocoModel
from safe_rl.grounding.mujoco.entities import MujocoEntities
from safe_rl.grounding.mujoco.oriented_boxes import PosedBox, boxes_gap, boxes_overlap
from safe_rl.grounding.settings import GroundingSettings

Floats = NDArray[np.floating]
FAR = 1.0
"""m, the gap that is reported for everything beyond what any predicate looks at."""


class GripperGaps:
    """Surface gaps between the gripper's geoms and those of objects and components."""

    def __init__(
        self,
        model: MujocoModel,
        data: MujocoData,
        entities: MujocoEntities,
        distance: GeomDistance,
        settings: GroundingSettings,
        parts: Collection[str],
    ) -> None:
        """Measure what these parts of the grounding need (names of ``vocabulary``)."""
        self._model, self._data, self._distance = model, data, distance
        self._half = [box.half for box in entities.objects]
        self._gripper_half = entities.gripper.half
        radii = np.asarray([_radius(half) for half in self._half])
        self._meeting = (radii + _radius(self._gripper_half)) ** 2
        self._objects = len(entities.objects)
        self._components = len(entities.components)
        # The place where a skill starts is further away than what a release has to clear.
        self._limit = 2.0 * settings.gripper_clearance
        targets: list[tuple[int, ...]] = [() for _ in entities.objects + entities.components]
        if "grasps" in parts:
            targets[: self._objects] = entities.object_geoms
        if "onsets" in parts:
            self._limit = max(self._limit, 1.02 * settings.reach)
            targets[self._objects :] = entities.component_geoms
        pairs = [(target, g) for target, geoms in enumerate(targets) for g in geoms]
        self._targets = np.asarray([target for target, _ in pairs], dtype=np.intp)
        self._geoms = np.asarray([g for _, g in pairs], dtype=np.intp)
        self._gripper = np.asarray(entities.gripper_geoms, dtype=np.intp)
        self._spheres = model.geom_rbound[self._geoms][:, None]
        boxes = model.geom_aabb[self._gripper]
        self._middles, self._halves = boxes[:, None, :3], boxes[:, None, 3:]

    def measure(self) -> tuple[Floats, Floats]:
        """``[O]`` and ``[A]``, m; ``FAR`` beyond the reach of every predicate."""
        gaps = [FAR] * (self._objects + self._components)
        data = self._data
        places, axes = data.geom_xpos, data.geom_xmat[self._gripper].reshape(-1, 3, 3)
        # A bounding sphere is never further from a bounding box than what they bound: nearest
        # first, most of the other pairs of a target cannot be nearer than what was found, and are
        # left out. By geom of the gripper: the spheres' centres in its frame, beyond its box.
        apart = (places[self._geoms][None] - places[self._gripper][:, None]) @ axes
        apart = np.maximum(np.abs(apart - self._middles) - self._halves, 0.0)
        least = np.sqrt((apart * apart).sum(axis=-1)).T - self._spheres
        rows, columns = (least < self._limit).nonzero()
        least = least[rows, columns]
        order = np.argsort(least)
        rows, columns = rows[order], columns[order]
        for target, bound, mine, other in zip(
            self._targets[rows].tolist(),
            least[order].tolist(),
            self._geoms[rows].tolist(),
            self._gripper[columns].tolist(),
            strict=True,
        ):
            if max(bound, 0.0) < gaps[target]:
                gap = self._gap(mine, other)
                if gap < min(gaps[target], self._limit):
                    gaps[target] = max(gap, 0.0)
        found = np.asarray(gaps, dtype=np.float32)
        return found[: self._objects], found[self._objects :]

    def _gap(self, mine: int, other: int) -> float:
        gap = self._distance(mine, other, self._limit)
        if gap == 0.0:
            # MuJoCo (3.9) answers exactly zero for some pairs that are well apart, when their
            # edges line up. The gap of their boxes is never larger than the true one.
            gap = boxes_gap(self._geom_box(mine), self._geom_box(other))
        return gap

    def _geom_box(self, geom: int) -> PosedBox:
        box, axes = self._model.geom_aabb[geom], self._data.geom_xmat[geom]
        center = self._data.geom_xpos[geom] + axes.reshape(3, 3) @ box[:3]
        return PosedBox(tuple(center.tolist()), tuple(axes.tolist()), tuple(box[3:].tolist()))

    def in_gripper_box(self, hand: Floats, places: Floats, axes: Floats) -> NDArray[np.bool_]:
        """``[O]``: the object's oriented box overlaps the gripper's.

        Args:
            hand: ``[3]``, centre of the gripper's box.
            places: ``[O, 3]``, centres of the objects' boxes.
            axes: ``[1 + O, 3, 3]`` or more, of the gripper and then the objects.
        """
        found = np.zeros(self._objects, dtype=bool)
        apart = places - hand
        near = (apart * apart).sum(axis=-1) <= self._meeting
        if near.any():
            mine = _posed(hand, axes[0], self._gripper_half)
            for index in near.nonzero()[0].tolist():
                its = _posed(places[index], axes[1 + index], self._half[index])
                found[index] = boxes_overlap(its, mine)
        return found


def _posed(center: Floats, axes: Floats, half: tuple[float, float, float]) -> PosedBox:
    flat: list[float] = axes.ravel().tolist()
    return PosedBox(tuple(center.tolist()), tuple(flat), half)  # type: ignore[arg-type]


def _radius(half: tuple[float, float, float]) -> float:
    return sqrt(sum(h * h for h in half))
