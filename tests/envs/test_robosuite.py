"""The robosuite environment: seeds, ends of episodes, exact states, propositions, errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import safe_rl.envs  # noqa: F401  (registers the ids)
from safe_rl.envs.robosuite import RobosuiteEnv, observation_layout
from safe_rl.envs.robosuite.scripted import ScriptedPolicy
from safe_rl.envs.robosuite.tasks import find_task
from safe_rl.errors import CheckpointError, ConfigurationError, GroundingError, ResetNeededError
from safe_rl.grounding import explain

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]

HORIZON = 60


@pytest.fixture(scope="module")
def env() -> Iterator[RobosuiteEnv]:
    """One simulation for the whole module: building it and compiling its controller costs most."""
    pytest.importorskip("robosuite")
    made = RobosuiteEnv("Stack", horizon=HORIZON)
    yield made
    made.close()


@pytest.fixture(scope="module")
def other() -> Iterator[RobosuiteEnv]:
    """A second simulation of the same kind, built independently."""
    pytest.importorskip("robosuite")
    made = RobosuiteEnv("Stack", horizon=HORIZON)
    yield made
    made.close()


def random_actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7)).astype(np.float32)


def play(env: RobosuiteEnv, actions: np.ndarray) -> list[Any]:
    """Everything that stepping returns, in a form that compares bit for bit."""
    found = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        found.append(
            (observation.tobytes(), reward, terminated, truncated, info, env.propositions())
        )
    return found


def grasp(env: RobosuiteEnv, seed: int = 0) -> tuple[ScriptedPolicy, np.ndarray]:
    """Run the scripted policy until cube A is grasped and off the table."""
    policy = ScriptedPolicy("Stack")
    observation, _ = env.reset(seed=seed)
    while (
        not env.propositions()["object_grasped(cubeA)"]
        or env.propositions()["object_supported(cubeA)"]
    ):
        observation, *_ = env.step(policy.predict(observation)[0])
    return policy, observation


# robosuite PR 635: same seed, different placement
def test_a_seed_decides_the_episode_bit_for_bit(env: RobosuiteEnv, other: RobosuiteEnv) -> None:
    actions = random_actions(25)
    runs = []
    for which in (env, env, other):
        observation, info = which.reset(seed=11)
        runs.append([observation.tobytes(), info, which.propositions(), *play(which, actions)])
        which.reset()  # what came in between must not matter
    assert runs[0] == runs[1] == runs[2]


def test_resets_after_a_seeded_one_follow_from_it_and_differ(env: RobosuiteEnv) -> None:
    first = [env.reset(seed=5)[0], env.reset()[0], env.reset()[0]]
    again = [env.reset(seed=5)[0], env.reset()[0], env.reset()[0]]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[1], first[2])
    assert not np.array_equal(first[0], env.reset(seed=6)[0])


def test_without_a_seed_environments_differ(other: RobosuiteEnv) -> None:
    fresh = RobosuiteEnv("Stack")
    other._seeded = False
    other._np_random = None
    assert not np.array_equal(fresh.reset()[0], other.reset()[0])


def test_it_simulates_what_robosuite_simulates(env: RobosuiteEnv) -> None:
    from safe_rl.envs.robosuite.simulator import make_simulation

    raw = make_simulation("Stack", model_seed=0)
    env.reset(seed=3)
    raw.rng.bit_generator.state = np.random.default_rng(3).bit_generator.state
    raw.reset()
    for action in random_actions(20, seed=1):
        raw.step(action.astype(np.float64))
        env.step(action)
        np.testing.assert_array_equal(raw.sim.data.qpos, env.simulation.sim.data.qpos)
        np.testing.assert_array_equal(raw.sim.data.qvel, env.simulation.sim.data.qvel)


# robosuite's GymWrapper: the horizon reported as termination
def test_the_horizon_truncates(env: RobosuiteEnv) -> None:
    env.reset(seed=0)
    ends = [env.step(np.zeros(7))[2:4] for _ in range(HORIZON)]
    assert ends == [(False, False)] * (HORIZON - 1) + [(False, True)]
    with pytest.raises(ResetNeededError, match=r"needs reset\(\) first"):
        env.step(np.zeros(7))


# LIBERO 149: success while the object is in the air; it must hold for 10 steps in a row
def test_success_is_held_for_ten_steps(env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    goal = iter([False] + [True] * 9 + [False] + [True] * 12 + [False])
    monkeypatch.setattr(env.simulation, "_check_success", lambda: next(goal))
    _, info = env.reset(seed=0)
    successes = [info["success"]]
    for _ in range(23):
        _, _, terminated, _, info = env.step(np.zeros(7))
        successes.append(info["success"])
        assert not terminated
    # Frames 1 to 9 are nine in a row; 11 to 20 are ten. From then on the episode is a success.
    assert successes == [False] * 20 + [True] * 4


def test_success_terminates_on_request(env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env.simulation, "_check_success", lambda: True)
    monkeypatch.setattr(env, "_terminate", True)
    env.reset(seed=0)
    ends = [env.step(np.zeros(7))[2:4] for _ in range(9)]  # the first frame counts too
    assert ends == [(False, False)] * 8 + [(True, False)]


# robocasa 216: success already at reset
def test_the_goal_is_a_proposition_of_the_first_frame(
    env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.reset(seed=0)
    assert env.propositions()["task_goal"] is False
    monkeypatch.setattr(env.simulation, "_check_success", lambda: True)
    env.reset(seed=0)
    assert env.propositions()["task_goal"] is True


# dm_control 64: replay differs because of warm start
def test_a_saved_state_replays_to_the_same_trace(env: RobosuiteEnv, other: RobosuiteEnv) -> None:
    grasp(env)  # contacts, a hold and running devices
    state = pickle.loads(pickle.dumps(env.get_state()))
    letter, record = env.propositions(), env.frame_record()
    actions = random_actions(8, seed=2)
    expected = play(env, actions)
    after = env.reset()[0]  # the generator is part of the state
    env.set_state(state)
    assert env.propositions() == letter and env.frame_record() == record
    assert play(env, actions) == expected
    np.testing.assert_array_equal(env.reset()[0], after)
    other.set_state(state)  # and in another simulation
    assert play(other, actions) == expected
    np.testing.assert_array_equal(other.reset()[0], after)


def test_a_state_saved_at_the_end_is_an_end(env: RobosuiteEnv) -> None:
    env.reset(seed=0)
    play(env, random_actions(HORIZON))
    ended = env.get_state()
    env.reset(seed=1)
    env.set_state(ended)
    with pytest.raises(ResetNeededError):
        env.step(np.zeros(7))


# robosuite 366: a contact that lives between two control steps
def test_contacts_of_every_substep_are_seen(env: RobosuiteEnv) -> None:
    policy = ScriptedPolicy("Stack")
    # The cubes start 1 cm above the table; while the gripper closes, contacts come and go.
    observation, _ = env.reset(seed=0)
    assert not env.propositions()["object_supported(cubeA)"]
    seen_only_within = 0
    observed: set[tuple[int, int]] = set()
    original = env._scene.observe_contacts

    def watching() -> None:
        observed.update(map(tuple, env.simulation.sim.data.contact.geom.tolist()))
        original()

    env._scene.observe_contacts = watching  # type: ignore[method-assign]
    names = env.simulation.sim.model.geom_id2name
    try:
        for _ in range(50):
            observed.clear()
            observation, *_ = env.step(policy.predict(observation)[0])
            at_end = set(map(tuple, env.simulation.sim.data.contact.geom.tolist()))
            seen_only_within += len(observed - at_end)
            found = {frozenset(pair) for pair in env.frame_record().contacts}
            considered = {
                frozenset(map(names, pair))
                for pair in observed
                if not any("mount" in names(geom) for geom in pair)
            }
            assert found == {pair for pair in considered if not all("robot" in n for n in pair)}
    finally:
        env._scene.observe_contacts = original  # type: ignore[method-assign]
    assert seen_only_within > 0


# SafeManip notes: one-frame bilateral contact flicker inside a hold
def test_contact_flicker_inside_a_hold_changes_nothing(env: RobosuiteEnv) -> None:
    policy, observation = grasp(env)
    original = env._scene.observe_contacts
    env._scene.observe_contacts = lambda: None  # type: ignore[method-assign]
    observation, *_ = env.step(policy.predict(observation)[0])
    env._scene.observe_contacts = original  # type: ignore[method-assign]
    assert not env.propositions()["object_grasped_raw(cubeA)"]
    for _ in range(6):
        letter = env.propositions()
        assert letter["object_grasped(cubeA)"] and letter["object_sync(cubeA)"]
        assert not letter["object_dropped(cubeA)"] and not letter["object_released(cubeA)"]
        observation, *_ = env.step(policy.predict(observation)[0])
    assert env.propositions()["object_grasped_raw(cubeA)"]


def test_engaged_from_the_first_touch_of_an_object(env: RobosuiteEnv) -> None:
    policy = ScriptedPolicy("Stack")
    observation, info = env.reset(seed=0)
    touches = []
    assert not info["engaged"]
    for _ in range(40):
        observation, *_, info = env.step(policy.predict(observation)[0])
        pairs = env.frame_record().contacts
        touches.append(any("gripper" in a and "cube" in b for a, b in pairs))
        assert info["engaged"] == any(touches)
    assert any(touches) and not touches[0]
    assert not env.reset(seed=0)[1]["engaged"]


def test_the_observation_is_the_state_at_named_places(env: RobosuiteEnv) -> None:
    observation, _ = env.reset(seed=0)
    for action in random_actions(10):
        observation, *_ = env.step(action)
    layout, data = env.layout, env.simulation.sim.data
    assert layout == observation_layout(find_task("Stack"))
    for name in ("cubeA", "cubeB"):
        body = env.simulation.sim.model.body_name2id(f"{name}_main")
        np.testing.assert_allclose(observation[layout[f"{name}_pos"]], data.body_xpos[body], 1e-6)
        np.testing.assert_allclose(observation[layout[f"{name}_quat"]], data.body_xquat[body], 1e-6)
        from_eef = observation[layout[f"{name}_pos"]] - observation[layout["eef_pos"]]
        np.testing.assert_allclose(observation[layout[f"{name}_from_eef"]], from_eef, atol=1e-6)
    joints = [data.get_joint_qpos(f"robot0_joint{i}") for i in range(1, 8)]
    np.testing.assert_allclose(observation[layout["joint_pos"]], joints, 1e-6)
    end = max(place.stop for place in layout.values())
    assert len(observation) == end + len(env.device_features)
    np.testing.assert_allclose(observation[end:], env._grounding.features, 1e-6)
    assert env.observation_space.contains(observation)


def test_it_is_a_gymnasium_environment() -> None:
    import gymnasium

    made = gymnasium.make("safe_rl/RobosuiteLift-v0", horizon=20, observe_devices=False)
    check_env(made.unwrapped, skip_render_check=True)
    objects = made.unwrapped.objects  # type: ignore[attr-defined]
    assert {kind: names for kind, names in objects.items() if names} == {"graspable": ["cube"]}
    layout = observation_layout(find_task("Lift"))
    assert made.observation_space.shape == (max(place.stop for place in layout.values()),)
    made.close()


def test_the_letter_is_boolean_and_complete(env: RobosuiteEnv) -> None:
    env.reset(seed=0)
    env.step(np.zeros(7))
    letter = env.propositions()
    assert set(letter) == set(env.proposition_names)
    assert all(type(value) is bool for value in letter.values())
    letter["task_goal"] = True  # the caller's copy
    assert not env.propositions()["task_goal"]


def test_records_go_into_the_info_on_request(env: RobosuiteEnv) -> None:
    _, info = env.reset(seed=0)
    assert "grounding" not in info
    env._record = True
    try:
        records = [env.reset(seed=0)[1]["grounding"]]
        records += [env.step(np.zeros(7))[4]["grounding"] for _ in range(3)]
    finally:
        env._record = False
    text = explain(records, ["object_supported(cubeA)"])
    assert "+cubeA_g0~table_collision" in text.splitlines()[2]
    assert [line.split()[1] for line in text.splitlines()[1:]] == [".", "1", "1", "1"]


def test_an_image_is_rendered(env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="make the environment with render_mode"):
        assert env.render() is None
    monkeypatch.setattr(env, "render_mode", "rgb_array")
    monkeypatch.setattr(env, "_image", ("attic", 96, 64))
    with pytest.raises(ConfigurationError, match="no camera 'attic' in the model"):
        env.render()
    monkeypatch.setattr(env, "_image", ("frontview", 96, 64))
    try:
        image = env.render()
    except ConfigurationError as error:
        assert "install Mesa" in str(error)
        pytest.skip(str(error))
    assert image is not None and image.shape == (64, 96, 3) and image.dtype == np.uint8
    assert image.std() > 10  # not one colour
    env.step(np.ones(7))
    env.step(np.ones(7))
    assert not np.array_equal(env.render(), image)
    assert env._camera is not None
    env._camera.close()
    monkeypatch.setattr(env, "_camera", None)


def test_misuse_is_one_clear_error(env: RobosuiteEnv) -> None:
    with pytest.raises(ConfigurationError, match="no robosuite task 'Lit'; did you mean 'Lift'"):
        RobosuiteEnv("Lit")
    with pytest.raises(ConfigurationError, match="horizon must be at least 1, got 0"):
        RobosuiteEnv("Lift", horizon=0)
    with pytest.raises(ConfigurationError, match="render_mode"):
        RobosuiteEnv("Lift", render_mode="human")
    env.reset(seed=0)
    for bad in (np.zeros(6), np.full(7, np.nan), np.zeros((1, 7))):
        with pytest.raises(ConfigurationError, match="an action is 7 finite numbers"):
            env.step(bad)
    lift = RobosuiteEnv("Lift")
    for call in (lift.propositions, lift.frame_record, lift.get_state):
        with pytest.raises(ResetNeededError, match=r"before the first reset\(\)"):
            call()
    with pytest.raises(ResetNeededError):
        lift.step(np.zeros(7))
    with pytest.raises(CheckpointError, match="saved by task 'Stack', this environment is 'Lift'"):
        lift.set_state(env.get_state())


@pytest.mark.parametrize("ends", [True, False])
def test_an_episode_that_ends_with_success_is_paid_to_its_horizon(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = RobosuiteEnv("Lift", horizon=30, terminate_on_success=ends, success_steps=4)
    env.reset(seed=0)
    monkeypatch.setattr(env.simulation, "_check_success", lambda: True)
    monkeypatch.setattr(env.simulation, "reward", lambda action: 1.0)
    paid, terminated, truncated = 0.0, False, False
    while not (terminated or truncated):
        _, reward, terminated, truncated, _ = env.step(np.zeros(7))
        paid += reward
    assert (terminated, truncated) == (ends, not ends)
    assert paid == 30.0
    env.close()


def test_a_model_without_the_gripper_is_a_grounding_error(
    env: RobosuiteEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safe_rl.envs.robosuite import tasks
    from safe_rl.grounding.mujoco import MujocoScene

    gripper = env.simulation.robots[0].gripper["right"]
    monkeypatch.setattr(type(gripper), "naming_prefix", "gripper1_right_", raising=False)
    with pytest.raises(GroundingError, match="no body named 'gripper1_right_.*did you mean"):
        MujocoScene(
            env._model, env._data, tasks.scene_roles(env._task, env.simulation), lambda *_: 0.0
        )
