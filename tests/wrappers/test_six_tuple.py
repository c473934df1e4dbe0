"""Safety-Gymnasium's six values, single and vector."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from safe_rl.errors import ConfigurationError
from safe_rl.specs import Specification
from safe_rl.wrappers import ProductMDP, SixTuple, VectorProductMDP, VectorSixTuple
from tests.wrappers.scripted import ScriptedEnv, ScriptedVectorEnv, script

RULES = [Specification("never", "G !a", trigger="true", recovery="F c", weight=2.0)]


def test_single() -> None:
    env = SixTuple(ProductMDP(ScriptedEnv([script("- a c a")]), RULES))
    env.reset()
    steps = [env.step(0) for _ in range(3)]
    assert [step[2] for step in steps] == [2.0, 0.0, 2.0]
    assert [step[3] for step in steps] == [False, False, True]
    assert all(len(step) == 6 and step[2] == step[5]["cost"] for step in steps)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_keeps_the_cost_of_the_last_step(mode: AutoresetMode) -> None:
    rows = [[script("- - a")], [script("- a - -")]]
    envs = VectorSixTuple(VectorProductMDP(ScriptedVectorEnv(rows, mode), RULES))
    envs.reset()
    costs = []
    for _ in range(2):
        _, _, cost, terminations, _, _ = envs.step(np.zeros(2, int))
        costs.append(cost.tolist())
    assert costs == [[0.0, 2.0], [2.0, 0.0]]
    assert terminations.tolist() == [True, False]


def test_an_environment_without_cost() -> None:
    env = SixTuple(ScriptedEnv([script("- a")]))
    env.reset()
    with pytest.raises(ConfigurationError, match=r"no info\['cost'\]"):
        env.step(0)
    envs = VectorSixTuple(ScriptedVectorEnv([[script("- a")]], AutoresetMode.NEXT_STEP))
    envs.reset()
    with pytest.raises(ConfigurationError, match=r"no info\['cost'\]"):
        envs.step(np.zeros(1, int))
