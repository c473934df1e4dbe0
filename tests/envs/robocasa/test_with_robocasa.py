"""With RoboCasa and its meshes, where they are installed: nowhere in this project's own runs."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]
pytest.importorskip("robocasa", reason="RoboCasa is not installed: docs/robocasa.md")

from safe_rl.envs.robocasa import RoboCasaEnv
from safe_rl.errors import ConfigurationError
from safe_rl.specs import load_specs
from safe_rl.wrappers import ProductMDP


@pytest.mark.parametrize("kitchen", ["PickPlaceCounterToCabinet", "TurnOnMicrowave"])
def test_a_kitchen_is_watched_by_all_twenty(kitchen: str) -> None:
    try:
        env = RoboCasaEnv(kitchen, horizon=20, native_predicates=True)
    except ConfigurationError as error:
        pytest.skip(str(error))
    product = ProductMDP(env, load_specs("safemanip"))
    assert {i.id.split("[")[0] for i in product.specs.instances} <= set(load_specs("safemanip").ids)
    for _ in range(2):
        observation, info = product.reset(seed=0)
        start, truncated = info["propositions"], False
        while not truncated:
            observation, _, terminated, truncated, info = product.step(np.zeros(7))
            assert not terminated and product.observation_space.contains(observation)
        assert product.reset(seed=0)[1]["propositions"] == start
    product.close()
