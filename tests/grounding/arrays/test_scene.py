"""Roles that contradict each other, and the empty scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding import AllowedContacts
from safe_rl.grounding.arrays import (
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneRoles,
    empty_scene,
)

from .kitchen import ROLES

HALF = (0.1, 0.1, 0.1)
MUG, TABLE = ObjectRole("mug", HALF), FixtureRole("table", "counter", HALF)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((MUG,), ()), "a scene needs a fixture .*; got none"),
        (((MUG, MUG), (TABLE,)), "name 'mug' more than once"),
        (
            ((MUG,), (FixtureRole("box", "drawr", HALF),)),
            "unknown kind 'drawr'; did you .*'drawer'",
        ),
        (((MUG,), (TABLE,), (ComponentRole("knob", "table", "trun"),)), "did you mean 'turn'"),
        (((MUG,), (TABLE,), (ComponentRole("knob", "tabel", "turn"),)), "did you mean 'table'"),
        (
            (
                (MUG,),
                (TABLE,),
                (ComponentRole("a", "table", "turn"), ComponentRole("b", "table", "turn")),
            ),
            "two components to turn",
        ),
        (
            ((MUG,), (TABLE,), (), HALF, AllowedContacts(frozenset({"mugg"}))),
            "name 'mugg', which is no entity",
        ),
    ],
)
def test_contradictions_are_one_clear_error(arguments: Any, message: str) -> None:
    with pytest.raises(GroundingError, match=message):
        SceneRoles(*arguments)


def test_properties_bind_the_library() -> None:
    assert ROLES.properties == {
        "graspable": ("mug", "bowl", "meat", "apple"),
        "receptacle": ("mug", "bowl"),
        "fixture": ("drawer", "microwave", "sink"),
        "enclosure": ("drawer", "microwave"),
        "microwave": ("microwave",),
    }


def test_an_empty_scene_has_the_batch_last() -> None:
    one, many = empty_scene(ROLES, np), empty_scene(ROLES, np, (2, 3))
    for name, value in many._asdict().items():
        single = getattr(one, name)
        assert value.shape == (*single.shape, 2, 3)
        assert value.dtype == single.dtype
        assert np.array_equal(value[..., 0, 0], single)
    assert one.object_quaternions[:, 0].all() and not one.object_quaternions[:, 1:].any()
