from __future__ import annotations

import pytest

from safe_rl.demonstrations.engine.variation import Mixture
from safe_rl.demonstrations.families import family_names, find_family
from safe_rl.demonstrations.primitives.grasps import load_grasps
from safe_rl.errors import ConfigurationError


def test_the_families_are_the_modules() -> None:
    assert family_names() == (
        "libero/bowl_by_ramekin",
        "libero/bowl_on_cabinet",
        "libero/bowl_on_plate",
        "libero/bowl_on_stove",
        "libero/cheese_in_bowl",
        "robosuite/door",
        "robosuite/lift",
        "robosuite/pick_place",
        "robosuite/stack",
    )


@pytest.mark.parametrize("name", family_names())
def test_a_family_is_complete(name: str) -> None:
    family = find_family(name)
    assert family.name == name
    assert {"manner", "speed"} <= {parameter.name for parameter in family.parameters}
    Mixture.of(family.parameters, None)
    known = load_grasps()
    for grasps in family.grasps.values():
        assert len(known[grasps]) >= 2, grasps


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'robosuite/stack'"):
        find_family("robosuite/stak")
