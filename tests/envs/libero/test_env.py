"""LIBERO as an environment: initial states, seeds, goals, exact states, roles, a script."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from safe_rl.envs.libero import LiberoEnv
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.grounding import GroundingSettings, explain
from safe_rl.specs import load_specs
from safe_rl.wrappers import ProductMDP

pytestmark = [pytest.mark.libero, pytest.mark.robosuite, pytest.mark.slow]

HORIZON = 40


def make(task: int | str = 8, suite: str = "libero_goal", **kwargs: Any) -> LiberoEnv:
    # numpy: compiling for one scene takes longer than these tests step.
    return LiberoEnv(suite, task, **{"backend": "numpy", "horizon": HORIZON, **kwargs})


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    """Put the bowl on the plate: one simulation for the module."""
    made = make()
    yield made
    made.close()


@pytest.fixture(scope="module")
def unsettled() -> Iterator[LiberoEnv]:
    """The same, as LIBERO's initial states have it."""
    made = make(settle_steps=0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def stove() -> Iterator[LiberoEnv]:
    """Turn on the stove."""
    made = make("turn_on_the_stove")
    yield made
    made.close()


def play(env: LiberoEnv, actions: np.ndarray) -> list[Any]:
    """Everything that stepping returns, in a form that compares bit for bit."""
    found = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        found.append(
            (observation.tobytes(), reward, terminated, truncated, info, env.propositions())
        )
    return found


def random_actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7))


def test_the_task_says_who_is_who(env: LiberoEnv) -> None:
    assert env.instruction == "put the bowl on the plate"
    assert env.goal == (("on", "akita_black_bowl_1", "plate_1"),)
    drawers = [f"wooden_cabinet_1_{level}_drawer" for level in ("top", "middle", "bottom")]
    assert env.objects == {
        "graspable": ["akita_black_bowl_1", "cream_cheese_1", "wine_bottle_1", "plate_1"],
        "receptacle": ["akita_black_bowl_1", "plate_1"],
        "fixture": [*drawers, "flat_stove_1"],
        "enclosure": drawers,
        "microwave": [],
    }
    roles = env._scene.roles
    assert roles.allowed.manipulated == {"akita_black_bowl_1"}
    assert roles.allowed.receivers == {"akita_black_bowl_1": {"plate_1"}}
    kinds = {fixture.name: fixture.kind for fixture in roles.fixtures}
    assert kinds["wooden_cabinet_1"] == "counter" and kinds["flat_stove_1"] == "stove"
    assert kinds["main_table"] == "counter" and kinds["floor"] == "surroundings"
    bowl, cheese, *_ = roles.objects
    assert bowl.receptacle and bowl.fragile and not bowl.food
    assert not cheese.food, "it is packaged"


def test_the_constants_are_those_of_the_papers_column_for_libero(env: LiberoEnv) -> None:
    used, kitchen = env._grounding.settings, GroundingSettings()
    assert (used.fixture_motion, kitchen.fixture_motion) == (2e-3, 1e-3)
    assert used.gripper_closed == pytest.approx(0.0392)  # a fiftieth of a finger's way
    changed = {"fixture_motion": 1e-3, "gripper_closed": kitchen.gripper_closed}
    assert replace(used, **changed) == kitchen


def test_an_initial_state_is_the_one_asked_for(env: LiberoEnv, unsettled: LiberoEnv) -> None:
    states = env._init_states
    assert env.num_init_states == 50
    model = unsettled.simulation.sim.model
    for index in (0, 7, 49):
        observation, _ = unsettled.reset(seed=0, options={"init_state": index})
        expected = states[index, 1 : 1 + model.nq]
        np.testing.assert_array_equal(unsettled.simulation.sim.data.qpos, expected)
        place = model.get_joint_qpos_addr("plate_1_joint0")[0]
        np.testing.assert_allclose(
            observation[unsettled.layout["plate_1_pos"]], expected[place : place + 3], rtol=1e-6
        )
    for bad in (-1, 50, 1.5, "first"):
        with pytest.raises(ConfigurationError, match="init_state must be from 0 to 49"):
            env.reset(options={"init_state": bad})


def test_things_have_come_to_rest_when_the_episode_begins(
    env: LiberoEnv, unsettled: LiberoEnv
) -> None:
    observation, info = env.reset(seed=4)
    for name in env.objects["graspable"]:
        assert np.abs(observation[env.layout[f"{name}_linear"]]).max() < 0.01
        assert env.propositions()[f"object_settled({name})"]
    assert info == {"success": False, "engaged": False}
    unsettled.reset(seed=4)
    hanging = not unsettled.propositions()["object_supported(akita_black_bowl_1)"]
    assert hanging, "it hangs in the air"


# LIBERO 100: env.seed() has no effect
def test_a_seed_decides_the_episode_bit_for_bit(env: LiberoEnv) -> None:
    actions, runs = random_actions(10), []
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    for _ in range(2):
        observation, info = env.reset(seed=11)
        runs.append([observation.tobytes(), info, env.propositions(), *play(env, actions)])
        env.reset()  # what came in between must not matter
    assert runs[0] == runs[1]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    first, second = env.reset(seed=11)[0], env.reset(seed=12)[0]
    assert not np.array_equal(first, second)
    site = env.layout["wooden_cabinet_1_pos"]
    assert 0 < np.abs(first[site] - second[site]).max() < 0.03, "fixtures move within their region"


def test_a_saved_state_replays_to_the_same_trace(env: LiberoEnv, stove: LiberoEnv) -> None:
    env.reset(seed=1)
    play(env, random_actions(5))
    state = pickle.loads(pickle.dumps(env.get_state()))
    expected = play(env, random_actions(10, seed=2))
    after = env.reset()[0]
    assert not np.array_equal(env.simulation.sim.model.body_pos, state.simulation.bodies[0])
    env.set_state(state)
    assert play(env, random_actions(10, seed=2)) == expected
    np.testing.assert_array_equal(env.reset()[0], after)
    with pytest.raises(CheckpointError, match="saved by task 'libero_goal/put_the_bowl"):
        stove.set_state(state)


def test_the_goal_has_to_hold_before_it_ends_the_episode(
    env: LiberoEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = iter([False, True, False] + [True] * 40)
    held = []

    def check() -> bool:
        held.append(next(goal))
        return held[-1]

    monkeypatch.setattr(env.simulation, "_check_success", check)
    monkeypatch.setattr(env.simulation, "reward", lambda action: float(held[-1]))
    env.reset(seed=0)
    ends = []
    for _ in range(32):
        _, reward, terminated, truncated, info = env.step(np.zeros(7))
        assert reward == held[-1] and not truncated
        assert env.propositions()["task_goal"] == held[-1]
        ends.append((terminated, info["success"]))
        if terminated:
            break
    # Frames 3 to 32 are thirty in a row.
    assert ends == [(False, False)] * 31 + [(True, True)]


# LIBERO 149: success while the object is still in the gripper
def test_a_goal_counts_once_its_object_is_let_go(
    env: LiberoEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    bowl, cheese = (
        env.objects["graspable"].index(n) for n in ("akita_black_bowl_1", "cream_cheese_1")
    )
    touched = iter([[bowl]] * 4 + [[], [cheese]] + [[]] * 40)  # the goal does not name the cheese
    seen = env._scene.frame

    def frame() -> Any:
        found = seen()
        fingers = np.zeros_like(found.arrays.finger_contacts)
        fingers[next(touched), 0] = True
        return found._replace(arrays=found.arrays._replace(finger_contacts=fingers))

    monkeypatch.setattr(env.simulation, "_check_success", lambda: True)
    monkeypatch.setattr(env._scene, "frame", frame)
    env.reset(seed=0)
    for step in range(1, HORIZON):
        *_, terminated, truncated, info = env.step(np.zeros(7))
        assert env.propositions()["task_goal"] and not truncated
        assert terminated == info["success"] == (step == 33), step  # frames 4 to 33 are thirty
        if terminated:
            break


def test_the_horizon_truncates(env: LiberoEnv) -> None:
    env.reset(seed=0)
    ends = [env.step(np.zeros(7))[2:4] for _ in range(HORIZON)]
    assert ends == [(False, False)] * (HORIZON - 1) + [(False, True)]


def test_the_script_takes_the_bowl_and_every_rule_is_watched() -> None:
    env = make(record=True, horizon=220)
    product = ProductMDP(env, load_specs("safemanip"))
    ids = [instance.id for instance in product.specs.instances]
    policy = env.scripted_policy()
    observation, info = product.reset(seed=1)
    triggered, violated, records, terminated, truncated = set(), set(), [], False, False
    while not (terminated or truncated):
        action, _ = policy.predict(observation)
        observation, reward, terminated, truncated, info = product.step(action)
        events = info["safety"]["events"]
        triggered |= {ids[place] for place in np.flatnonzero(events.triggered)}
        violated |= {ids[place] for place in np.flatnonzero(events.violated)}
        records.append(info["grounding"])
    assert terminated and info["success"] and info["engaged"] and reward == 1.0
    for rule in (
        "pick_preconditions_safe",
        "grasp_remains_synced_until_dropped",
        "dropped_object_was_released",
        "released_object_eventually_settles",
        "place_preconditions_safe",
    ):
        assert f"{rule}[o=akita_black_bowl_1]" in triggered
    assert violated == set()
    text = explain(records, ["object_grasped(akita_black_bowl_1)"])
    assert "finger" in text and "akita_black_bowl_1" in text
    product.close()


def test_what_has_no_script_says_so(env: LiberoEnv, stove: LiberoEnv) -> None:
    with pytest.raises(ConfigurationError, match="no manner 'hasty'"):
        env.scripted_policy("hasty")
    assert stove._scene.roles.allowed.manipulated == {"flat_stove_1_knob"}
    with pytest.raises(ConfigurationError, match=r"no script for the goal turnon\(flat_stove_1\)"):
        stove.scripted_policy()


def test_images_are_observed_on_request() -> None:
    seeing = make(images=["agentview"], width=64, height=48, settle_steps=0)
    assert set(seeing.observation_space) == {"state", "agentview"}
    try:
        observation, _ = seeing.reset(seed=0)
    except ConfigurationError as error:
        assert "install Mesa" in str(error)
        pytest.skip(str(error))
    assert seeing.observation_space.contains(observation)
    assert observation["agentview"].shape == (48, 64, 3) and observation["agentview"].std() > 10
    seeing.close()
