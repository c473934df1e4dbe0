"""robosuite's Door under all twenty specifications, with counts worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.motions import CLOSE, View, act
from safe_rl.envs.robosuite.scripted import ScriptedPolicy
from safe_rl.errors import ConfigurationError
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]


@pytest.fixture(scope="module")
def env() -> Iterator[RobosuiteEnv]:
    pytest.importorskip("robosuite")
    made = RobosuiteEnv("Door", horizon=400, backend="numpy")
    yield made
    made.close()


def run(env: RobosuiteEnv, steps: int, seed: int = 0) -> tuple[Monitor, bool]:
    monitor = Monitor(load_specs("safemanip").bind(env.objects))
    policy = ScriptedPolicy("Door")
    observation, info = env.reset(seed=seed)
    monitor.reset(env.propositions())
    for _ in range(steps):
        observation, *_, info = env.step(policy.predict(observation)[0])
        monitor.step(env.propositions())
        if info["success"]:
            break
    monitor.finish(truncated=True)
    return monitor, info["success"]


def test_what_the_scene_has(env: RobosuiteEnv) -> None:
    env.reset(seed=0)
    assert {kind: names for kind, names in env.objects.items() if names} == {"fixture": ["door"]}
    specs = load_specs("safemanip").bind(env.objects)
    assert set(specs.propositions) <= set(env.proposition_names) | {
        name for name in specs.propositions if name.startswith("skill_place_onset_end")
    }
    layout, observation = env.layout, env._observation()
    data = env.simulation.sim.data
    site = env.simulation.sim.model.site_name2id("Door_handle")
    assert observation[layout["handle_pos"]] == pytest.approx(data.site_xpos[site], abs=1e-6)
    joint = env.simulation.sim.model.get_joint_qpos_addr("Door_hinge")
    data.qpos[joint] = 0.2
    assert env._observation()[layout["hinge_qpos"]] == pytest.approx([0.2])
    # The hinge's range ends at 0.4 rad.
    door = env._scene.roles.fixture_names.index("door")
    assert env._scene.frame().arrays.joint_fractions[door] == pytest.approx(0.5)


def test_the_script_opens_the_door_and_breaks_no_rule(env: RobosuiteEnv) -> None:
    for seed in (0, 3):
        monitor, success = run(env, 200, seed)
        assert success, seed
        counts = {name: (c.N, c.V, c.U, c.pending) for name, c in monitor.summary().items()}
        # It reaches for the lever once, and touches nothing but the door.
        assert counts.pop("open_close_preconditions_safe[f=door]") == (1, 0, 0, 0)
        assert set(counts.values()) == {(0, 0, 0, 0)}


def test_engaged_is_a_touch_of_the_handle_and_of_nothing_else(env: RobosuiteEnv) -> None:
    policy = ScriptedPolicy("Door")
    observation, info = env.reset(seed=0)
    touched = False
    for _ in range(75):
        observation, *_, info = env.step(policy.predict(observation)[0])
        pairs = env.frame_record().contacts
        touched |= any(other.startswith("Door_handle") for _, other in pairs)
        assert info["engaged"] == touched
    assert touched


def test_an_arm_pressed_on_the_table_is_a_forbidden_contact(env: RobosuiteEnv) -> None:
    observation, _ = env.reset(seed=0)
    view = View(env.layout)
    touching, forbidden = [], set()
    for step in range(90):
        view.values = observation.astype(float)
        target = np.array([-0.4, -0.23, 0.86])
        if step >= 40:
            target = view["eef_pos"] - np.array([0.0, 0.0, 0.05])  # down, whatever is there
        observation, *_ = env.step(act(view, target, None, CLOSE).astype(np.float32))
        touching.append(env.propositions()["forbidden_contact"])
        forbidden |= {pair[1] for pair in env.frame_record().forbidden}
    assert forbidden == {"table_collision"}
    first = touching.index(True)
    assert all(touching[first:])  # pressed down, it stays there
    assert env.propositions()["forbidden_contact_sustained"] == (90 - first > 20)
    assert 90 - first > 20


def test_a_state_keeps_where_the_door_stands(env: RobosuiteEnv) -> None:
    env.reset(seed=1)
    for _ in range(5):
        env.step(np.full(7, 0.3, np.float32))
    state, actions = env.get_state(), np.random.default_rng(0).uniform(-1, 1, (5, 7))
    expected = [env.step(action)[0].tobytes() for action in actions]
    env.reset(seed=2)  # elsewhere
    env.set_state(state)
    assert [env.step(action)[0].tobytes() for action in actions] == expected


def test_the_door_has_one_manner() -> None:
    with pytest.raises(ConfigurationError, match="its one manner is 'careful'"):
        ScriptedPolicy("Door", "slip")
