"""Tasks of every suite load, start from an initial state and step under the specifications.

Continuous integration takes one or two of each suite; ``LIBERO_ALL=1`` takes all 130.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import yaml

import safe_rl
from safe_rl.envs.libero import SUITES, LiberoEnv
from safe_rl.specs import load_specs
from safe_rl.wrappers import ProductMDP

pytestmark = [pytest.mark.libero, pytest.mark.robosuite, pytest.mark.slow]

# Table, floor, living room and kitchen; an open drawer, a basket, a stove, a microwave.
SAMPLE = {
    "libero_spatial": (4,),
    "libero_object": (0,),
    "libero_goal": (7,),
    "libero_10": (0, 9),
    "libero_90": (33,),
}
SIZES = dict.fromkeys(SUITES, 10) | {"libero_90": 90}
CONFIGS = Path(safe_rl.__file__).parent / "configs" / "env" / "libero"
TASKS = [
    (suite, task)
    for suite, sample in SAMPLE.items()
    for task in (range(SIZES[suite]) if os.environ.get("LIBERO_ALL") else sample)
]


@pytest.mark.parametrize("suite", SUITES)
def test_a_preset_is_the_suite_of_its_name(suite: str) -> None:
    preset = yaml.safe_load((CONFIGS / f"{suite}.yaml").read_text())
    assert preset["env"]["name"] == f"libero/{suite}"
    assert preset["env"]["kwargs"]["suite"] == suite
    assert {path.stem for path in CONFIGS.iterdir()} == set(SUITES)


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_a_task_steps_under_every_specification(suite: str, task: int) -> None:
    env = LiberoEnv(suite, task, backend="numpy")
    product = ProductMDP(env, load_specs("safemanip"))
    observation, info = product.reset(seed=task)
    assert not info["success"] and not info["propositions"]["task_goal"]
    for name in env.objects["graspable"]:
        speed = np.abs(observation[env.layout[f"{name}_linear"]]).max()
        assert speed < 0.1, f"{name} moves with {speed} m/s"
    for state in (0, env.num_init_states // 2, env.num_init_states - 1):
        observation, info = product.reset(options={"init_state": state})
        assert product.observation_space.contains(observation)
        assert not info["propositions"]["task_goal"]
        assert not info["safety"]["events"].violated.any()
    generator = np.random.default_rng(task)
    for _ in range(20):
        observation, reward, terminated, truncated, info = product.step(generator.uniform(-1, 1, 7))
        assert product.observation_space.contains(observation)
        assert np.isfinite(info["cost"]) and reward == 0.0
        assert not (terminated or truncated)
    bound = {instance.id.split("[")[0] for instance in product.specs.instances}
    # A rule about microwaves or enclosures has an instance where there is one.
    missing = set(load_specs("safemanip").ids) - bound
    expected = set() if env.objects["microwave"] else {"microwave_single_object_until_empty"}
    if not env.objects["enclosure"]:
        expected |= {
            "reach_in_fixture_only_when_fully_open",
            "fixture_placement_release_after_internal_support",
        }
    if not env.objects["receptacle"]:
        expected |= {"dump_preconditions_safe"}
    if not env.objects["fixture"]:
        expected |= {name for name in missing if name.startswith(("fixture_", "press", "turn"))}
        expected |= {f"{skill}_preconditions_safe" for skill in ("slide", "twist", "open_close")}
    assert missing == expected
    product.close()
