"""The roles of a scene as constant numpy arrays, in the order of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from safe_rl.grounding.arrays.geometry import Vector
from safe_rl.grounding.arrays.scene import Array, SceneRoles

NO_BARE_FOOD = frozenset({"drawer", "cabinet", "fridge", "freezer", "oven", "dishwasher"})
"""Kinds whose body no food may rest on (F.1, phi 5; phi 3 says "a bare fixture body")."""


class RoleArrays(NamedTuple):
    """Properties as arrays: ``[O]``, ``[F]``, ``[A]`` or two of them.

    Attributes:
        half: half extents of the objects, three arrays ``[O]``.
        fixture_half: of the fixtures' bodies, three arrays ``[F]``.
        interior_half: of their insides, zero where there is none.
        core_half: of the insides, shrunk as F.1 has it.
        component_half: of the components, three arrays ``[A]``.
        gripper_half: of the gripper, three arrays ``[1]``.
        radius: ``[O]``, m, of the contamination spot that an object leaves.
        supports: ``[O, F]``, the fixture is a support that suits the object.
        robot_object, robot_fixture, robot_component: what the robot may touch.
        held_object, held_fixture: ``[O, O]``, ``[O, F]``, what each object may touch while held.
    """

    half: Vector
    fixture_half: Vector
    interior_half: Vector
    core_half: Vector
    component_half: Vector
    gripper_half: Vector
    graspable: Array
    receptacle: Array
    food: Array
    raw: Array
    fragile: Array
    lid: Array
    radius: Array
    supports: Array
    top: Array
    enclosure: Array
    sink: Array
    surroundings: Array
    robot_object: Array
    robot_fixture: Array
    robot_component: Array
    held_object: Array
    held_fixture: Array


@lru_cache(maxsize=64)
def role_arrays(
    roles: SceneRoles, shrink: float, shrink_most: float, fallback_radius: float, batch_axes: int
) -> RoleArrays:
    """The constants of ``roles``, to be broadcast over a trailing batch of so many axes.

    ``shrink`` and the rest are settings of the same meaning.
    """
    objects, fixtures = roles.objects, roles.fixtures
    insides = [f.interior_half or (0.0, 0.0, 0.0) for f in fixtures]
    cores = [tuple(h - min(2 * h * shrink, shrink_most) for h in half) for half in insides]
    allowed = roles.allowed.manipulated
    receivers = [roles.allowed.receivers.get(o.name, frozenset()) for o in objects]
    found = RoleArrays(
        half=_columns([o.half for o in objects]),
        fixture_half=_columns([f.half for f in fixtures]),
        interior_half=_columns(insides),
        core_half=_columns(cores),
        component_half=_columns([c.half for c in roles.components]),
        gripper_half=_columns([roles.gripper_half]),
        graspable=_truth([o.graspable for o in objects]),
        receptacle=_truth([o.receptacle for o in objects]),
        food=_truth([o.is_food for o in objects]),
        raw=_truth([o.raw for o in objects]),
        fragile=_truth([o.fragile for o in objects]),
        lid=_truth([o.lid for o in objects]),
        radius=np.asarray([max(o.half[:2]) or fallback_radius for o in objects], dtype=np.float32),
        supports=_truth(
            [
                [
                    f.kind != "surroundings" and not (o.is_food and f.kind in NO_BARE_FOOD)
                    for f in fixtures
                ]
                for o in objects
            ]
        ).reshape(len(objects), len(fixtures)),
        top=_truth([f.top and f.kind != "surroundings" for f in fixtures]),
        enclosure=_truth([f.is_enclosure for f in fixtures]),
        sink=_truth([f.kind == "sink" for f in fixtures]),
        surroundings=_truth([f.kind == "surroundings" for f in fixtures]),
        robot_object=_truth([o.name in allowed for o in objects]),
        robot_fixture=_truth([f.name in allowed for f in fixtures]),
        robot_component=_truth([bool({c.name, c.fixture} & allowed) for c in roles.components]),
        held_object=_truth([[p.name in r for p in objects] for r in receivers]).reshape(
            len(objects), len(objects)
        ),
        held_fixture=_truth([[f.name in r for f in fixtures] for r in receivers]).reshape(
            len(objects), len(fixtures)
        ),
    )

    return RoleArrays(*(_with_batch(value, batch_axes) for value in found))


def numbers(count: int, batch_axes: int) -> Array:
    """0, 1, 2 ... along the first axis, integers as small as those that they are compared with."""
    return np.arange(count, dtype=np.int16).reshape(count, *(1,) * batch_axes)


def _with_batch(value: Any, batch_axes: int) -> Any:
    if isinstance(value, np.ndarray):
        return value.reshape(*value.shape, *(1,) * batch_axes)
    return tuple(_with_batch(part, batch_axes) for part in value)


def _columns(rows: Sequence[tuple[float, ...]]) -> Vector:
    table = np.asarray(rows, dtype=np.float32).reshape(len(rows), 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


def _truth(values: list[bool] | list[list[bool]]) -> Array:
    return np.asarray(values, dtype=bool)
