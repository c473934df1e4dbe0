"""The tabletop suite under Gymnasium: registration, its checker, the vector twin, pictures."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import safe_rl.envs  # noqa: F401  (registers the ids)

pytest.importorskip("jax")

from safe_rl.envs.tabletop import TASKS, TabletopGymEnv, TabletopVectorEnv
from safe_rl.envs.tabletop.picture import draw
from tests.envs.tabletop.scenes import CLOSE, Scene, environment


def test_registration_is_cheap() -> None:
    code = (
        "import sys, safe_rl.envs, gymnasium\n"
        "assert 'safe_rl/TabletopCook-v0' in gymnasium.registry\n"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_registered(task: str) -> None:
    spec = gym.spec(f"safe_rl/Tabletop{task.capitalize()}-v0")
    assert spec.kwargs == {"task": task}
    assert spec.vector_entry_point is not None


def test_gymnasium_accepts_it() -> None:
    env = gym.make("safe_rl/TabletopLift-v0", propositions="own", render_mode="rgb_array")
    assert isinstance(env.unwrapped, TabletopGymEnv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space .*infinity")
        warnings.filterwarnings("ignore", message=".*not within.*infinity.*")
        check_env(env.unwrapped, skip_close_check=True)


def test_the_vector_twin_draws_what_single_environments_draw() -> None:
    arguments: dict[str, Any] = {"propositions": "own"}
    envs = gym.make_vec(
        "safe_rl/TabletopLift-v0",
        num_envs=2,
        vectorization_mode="vector_entry_point",
        **arguments,
    )
    assert isinstance(envs, TabletopVectorEnv)
    one = gym.make("safe_rl/TabletopLift-v0", **arguments).unwrapped
    many, _ = envs.reset(seed=5)
    single, _ = one.reset(seed=6)
    np.testing.assert_array_equal(many[1], single)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, 2, 4)).astype(np.float32)
    for action in actions:
        many, rewards, _, _, _ = envs.step(action)
        single, reward, _, _, _ = one.step(action[1])
        np.testing.assert_allclose(many[1], single, atol=1e-5)
        assert rewards[1] == pytest.approx(reward, abs=1e-5)


def test_pictures_show_what_happens() -> None:
    scene = Scene(environment("place")).put(
        {"block": (0.0, -0.2), "plate": (0.3, 0.2), "glass": (-0.2, 0.1), "cup": (0.3, -0.3)}
    )
    task = scene.env.task
    before = draw(task, scene.state.world, 64, 48)
    assert before.shape == (48, 64, 3) and before.dtype == np.uint8
    np.testing.assert_array_equal(before, draw(task, scene.state.world, 64, 48))
    scene.go(-0.2, 0.0, 0.2, CLOSE)
    scene.go(-0.2, 0.0, 0.02, CLOSE)
    scene.go(-0.2, 0.12, 0.02, CLOSE, cap=0.6)
    assert bool(scene.body("glass").broken)
    assert (draw(task, scene.state.world, 64, 48) != before).any()
