"""A command that is held: the torques of robosuite's own controllers, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.control import HeldCommand, suits


@pytest.fixture(scope="module", params=["Stack", "Door"])
def env(request: pytest.FixtureRequest) -> Iterator[RobosuiteEnv]:
    pytest.importorskip("robosuite")
    made = RobosuiteEnv(request.param)
    yield made
    made.close()


def episode(env: RobosuiteEnv, seed: int) -> list[np.ndarray]:
    """Positions, velocities and commands of an episode of wild and of small motions."""
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    wild = rng.uniform(-1.0, 1.0, (10, 7)).repeat(4, axis=0)
    seen = []
    for action in (*wild, *rng.uniform(-0.1, 0.1, (20, 7))):
        env.step(action)
        data = env._data
        seen.append(np.concatenate([data.qpos, data.qvel, data.ctrl]))
    return seen


def test_held_commands_are_those_of_robosuite(
    env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = [episode(env, seed) for seed in (0, 1)]
    assert env._held is not None, "the short way was not taken"
    monkeypatch.setattr(HeldCommand, "of", lambda simulation, earlier: None)
    slow = [episode(env, seed) for seed in (0, 1)]
    assert env._held is None
    np.testing.assert_array_equal(fast, slow)
    assert np.ptp(np.array(fast[0]), axis=0).max() > 0.1, "the arm did not move"


def test_another_kind_of_robot_is_left_to_robosuite(env: RobosuiteEnv) -> None:
    env.reset(seed=0)
    robot = env.simulation.robots[0]
    arm = robot.part_controllers["right"]
    assert suits(env.simulation)
    for name, value in (("input_ref_frame", "world"), ("uncoupling", False), ("num_ref_sites", 2)):
        kept = getattr(arm, name)
        setattr(arm, name, value)
        assert not suits(env.simulation), name
        setattr(arm, name, kept)
    assert suits(env.simulation)
