"""The RoboCasa adapter on a small kitchen with RoboCasa's names: roles, seeds, states, errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]
pytest.importorskip("robosuite")

from gymnasium.envs.registration import registry

import safe_rl.envs  # noqa: F401  (registers the ids)
from safe_rl.envs.robocasa import RoboCasaEnv, installation
from safe_rl.errors import (
    ConfigurationError,
    GroundingError,
    MissingDependencyError,
    OntologyError,
    ResetNeededError,
)
from safe_rl.grounding import AllowedContacts
from safe_rl.specs import Specification, load_specs
from safe_rl.wrappers import ProductMDP

from .standin import STANDING, Fixture, Setup, StandInUtils, TinyKitchen

HORIZON = 30
UTILS: Any = StandInUtils


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("kitchen"))


@pytest.fixture(scope="module")
def env(folder: Path) -> Iterator[RoboCasaEnv]:
    """One kitchen for the module, with a sink and a coffee machine."""
    made = RoboCasaEnv(
        TinyKitchen(folder, wet=True),
        backend="numpy",
        horizon=HORIZON,
        base=True,
        native_predicates=True,
        object_utils=UTILS,
        terminate_on_success=False,
    )
    yield made
    made.close()


def kitchen_of(env: RoboCasaEnv) -> Any:
    return env.simulation


def begin(env: RoboCasaEnv, **doors: float) -> None:
    """Start an episode with these joints open."""
    kitchen_of(env).setup = Setup(doors=doors)
    env.reset(seed=0)
    kitchen_of(env).setup = Setup()


STILL = np.zeros(12)
STILL[6], STILL[11] = -1.0, -1.0


def random_actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 12))


def play(env: RoboCasaEnv, actions: np.ndarray) -> list[Any]:
    """Everything that stepping returns, in a form that compares bit for bit."""
    found = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        found.append(
            (observation.tobytes(), reward, terminated, truncated, info, env.propositions())
        )
    return found


def test_the_kitchen_says_who_is_who(env: RoboCasaEnv) -> None:
    assert env.instruction == "Put the mug into the cabinet."
    assert env.parts["cab"] == ("cab", "cab_leftdoor", "cab_rightdoor")
    assert env.parts["microwave"] == ("microwave",) and env.parts["floor_room"] == ()
    acted_on = ["cab_leftdoor", "cab_rightdoor", "microwave", "sink", "coffee_machine"]
    assert env.objects == {
        "graspable": ["obj", "bowl", "meat", "glass", "distr_counter_1"],
        "receptacle": ["obj", "bowl", "glass"],
        "fixture": acted_on,
        "enclosure": acted_on[:3],
        "microwave": ["microwave"],
    }
    roles = env._scene.roles
    kinds = {fixture.name: fixture.kind for fixture in roles.fixtures}
    assert kinds["counter"] == "counter" and kinds["surroundings"] == "surroundings"
    # The counter has nothing to open: things may be put there, but the robot may not lean on it.
    doors = {"cab", "cab_leftdoor", "cab_rightdoor"}
    handled = {"obj", "bowl", "meat", "glass"}
    assert roles.allowed.manipulated == handled | doors
    assert roles.allowed.receivers["obj"] == handled - {"obj"} | doors | {"counter"}
    assert "distr_counter_1" not in roles.allowed.receivers


# get_ep_meta names each object's category; what follows from it, the ontology says.
def test_categories_become_properties_by_the_ontology(env: RoboCasaEnv) -> None:
    told = {c["name"]: c["info"]["cat"] for c in kitchen_of(env).get_ep_meta()["object_cfgs"]}
    assert told == {
        "obj": "mug", "bowl": "bowl", "meat": "steak", "glass": "wine_glass",
        "distr_counter_1": "apple",
    }  # fmt: skip
    found = {role.name: role for role in env._scene.roles.objects}
    mug, steak, glass, apple = (found[n] for n in ("obj", "meat", "glass", "distr_counter_1"))
    assert mug.receptacle and not mug.is_food and mug.heatable
    assert steak.raw and steak.is_food and not steak.ready_to_eat and not steak.receptacle
    assert glass.receptacle and glass.fragile
    assert apple.ready_to_eat and not apple.raw and apple.washable
    assert mug.half == pytest.approx((0.028, 0.028, 0.06))


def test_fractions_are_robocasas_joint_states(env: RoboCasaEnv) -> None:
    kitchen = kitchen_of(env)
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        begin(env, cab_leftdoorhinge=part, cab_rightdoorhinge=1 - part, microwave_microjoint=part)
        names = env._scene.roles.fixture_names
        ours = dict(zip(names, env._frame.arrays.joint_fractions.tolist(), strict=True))  # type: ignore[union-attr]
        cab, microwave = kitchen.fixtures["cab"], kitchen.fixtures["microwave"]
        theirs = cab.get_joint_state(kitchen, cab.door_joint_names)
        assert ours["cab_leftdoor"] == pytest.approx(theirs["cab_leftdoorhinge"], abs=1e-6)
        assert ours["cab_rightdoor"] == pytest.approx(theirs["cab_rightdoorhinge"], abs=1e-6)
        (state,) = microwave.get_joint_state(kitchen, microwave.door_joint_names).values()
        assert ours["microwave"] == pytest.approx(state, abs=1e-6)
        letter = env.propositions()
        assert letter["fixture_fully_open(microwave)"] == (part >= 0.60)
        assert letter["robocasa_is_open(microwave)"] == (part >= 0.90)
        assert letter["robocasa_is_closed(microwave)"] == (part <= 0.005)
        assert not letter["robocasa_is_open(cab)"], "one of its doors is not"


def test_robocasas_own_predicates_are_propositions_on_request(
    env: RoboCasaEnv, folder: Path
) -> None:
    kitchen_of(env).setup = Setup({**STANDING, "obj": (0.25, -0.2, 1.0)}, 0.0)
    env.reset(seed=0)
    kitchen_of(env).setup = Setup()
    letter = env.propositions()
    native = {name for name in letter if name.startswith("robocasa_")}
    assert set(env.proposition_names) == set(letter)
    assert {n.split("(")[0] for n in native} == {
        "robocasa_is_open", "robocasa_is_closed", "robocasa_inside", "robocasa_upright",
        "robocasa_grasped",
    }  # fmt: skip
    inside = [n for n in native if "inside" in n and letter[n]]
    assert inside == ["robocasa_inside(obj,cab)"]
    assert all(letter[f"robocasa_upright({name})"] for name in env.objects["graspable"])
    assert not any(letter[f"robocasa_grasped({name})"] for name in env.objects["graspable"])
    # Asked for by name, they are not looked for among SafeManip's.
    some = ["robocasa_is_open(cab)", "object_grasped(obj)"]
    other = RoboCasaEnv(
        TinyKitchen(folder), backend="numpy", propositions=some, native_predicates=True,
        object_utils=UTILS,
    )  # fmt: skip
    assert other._grounding.proposition_names == ("object_grasped(obj)",)
    other.reset(seed=0)
    assert other.propositions()["robocasa_is_open(cab)"] is False
    other.close()


TABLE_6 = {
    "grasp_window": 5, "stability_window": 5, "content_window": 5, "occupancy_window": 5,
    "onset_window": 10, "forbidden_contact_tolerance": 20, "settle_timeout": 100,
    "retract_timeout": 100, "linear_stability": 0.05, "angular_stability": 0.25,
    "grasp_linear_slip": 0.03, "grasp_angular_slip": 0.3, "fixture_motion": 1e-3,
    "gripper_clearance": 0.01, "reach": 0.05, "placement_margin": 0.03,
    "placement_proximity": 0.01, "clutter_height": 0.05, "path_allowance": 0.05,
    "dump_exit_grace": 0.01, "contamination_radius": 0.05, "gripper_closed": 0.0399,
    "bilateral_bodies": 2, "clutter_bound": 2, "fixture_fully_open": 0.60,
    "fixture_fully_closed": 0.05, "upright_tolerance": np.deg2rad(15),
}  # fmt: skip
"""SafeManip's table 6, the column of RoboCasa365."""


def test_the_constants_are_those_that_safemanip_gives_for_robocasa(env: RoboCasaEnv) -> None:
    settings = env._grounding.settings
    assert {name: getattr(settings, name) for name in TABLE_6} == pytest.approx(TABLE_6)


# All twenty: reset and step, every instance has a verdict, none is violated by waiting.
def test_all_twenty_specifications_are_watched(env: RoboCasaEnv) -> None:
    product = ProductMDP(env, load_specs("safemanip"))
    ids = {instance.id.split("[")[0] for instance in product.specs.instances}
    assert ids == set(load_specs("safemanip").ids) and len(ids) == 20
    observation, info = product.reset(seed=0)
    truncated, steps = False, 0
    while not truncated:
        observation, _, terminated, truncated, info = product.step(STILL)
        steps += 1
        assert not terminated and info["cost"] == 0.0
    assert steps == HORIZON and product.observation_space.contains(observation)
    counts = info["safety"]["counts"]
    assert counts["N"].shape == (len(product.specs.instances),) and not counts["V"].any()


# robosuite PR 635: same seed, different placement
def test_a_seed_decides_the_episode_bit_for_bit(env: RoboCasaEnv) -> None:
    actions, runs = random_actions(6), []
    for _ in range(2):
        observation, info = env.reset(seed=11)
        runs.append([observation.tobytes(), info, env.propositions(), *play(env, actions)])
        env.reset()  # what came in between must not matter
    assert runs[0] == runs[1]
    first, second = env.reset(seed=11)[0], env.reset(seed=12)[0]
    place = env.layout["obj_pos"]
    assert 0 < np.abs(first[place] - second[place]).max() < 0.03


# dm_control 64: replay differs because of warm start
def test_a_saved_state_replays_to_the_same_trace(env: RoboCasaEnv) -> None:
    env.reset(seed=1)
    play(env, random_actions(4))
    kitchen_of(env).fixtures["microwave"]._turned_on = True
    state = pickle.loads(pickle.dumps(env.get_state()))
    expected = play(env, random_actions(6, seed=2))
    after = env.reset()[0]
    assert kitchen_of(env).fixtures["microwave"].get_state() == {"turned_on": False}
    env.set_state(state)
    assert kitchen_of(env).fixtures["microwave"].get_state() == {"turned_on": True}
    assert play(env, random_actions(6, seed=2)) == expected
    np.testing.assert_array_equal(env.reset()[0], after)


def test_an_episode_does_not_inherit_what_fixtures_remember(env: RoboCasaEnv) -> None:
    env.reset(seed=0)
    kitchen_of(env).fixtures["microwave"]._turned_on = True
    env.reset(seed=0)
    assert kitchen_of(env).fixtures["microwave"].get_state() == {"turned_on": False}


def test_the_base_moves_only_when_it_is_told_to(env: RoboCasaEnv) -> None:
    forward = env.layout["mobilebase0_joint_mobile_forward_qpos"]
    before = env.reset(seed=0)[0][forward]
    for _ in range(8):
        observation, *_ = env.step(STILL)
    assert abs(observation[forward] - before) < 1e-3
    back = STILL.copy()
    back[7], back[11] = -1.0, 1.0
    for _ in range(8):
        observation, *_ = env.step(back)
    assert observation[forward] - before < -0.02


def test_actions_of_seven_move_the_arm_alone(folder: Path) -> None:
    env = RoboCasaEnv(TinyKitchen(folder), backend="numpy", propositions=["sanitized"])
    assert env.action_space.shape == (7,)
    start = env.reset(seed=0)[0][env.layout["eef_pos"]]
    for _ in range(6):
        observation, *_ = env.step(np.array([0, 0, -1.0, 0, 0, 0, -1.0]))
    assert observation[env.layout["eef_pos"]][2] < start[2] - 0.05
    assert abs(observation[env.layout["mobilebase0_joint_mobile_forward_qpos"]][0]) < 1e-2
    for wrong in (np.zeros(12), np.full(7, np.nan)):
        with pytest.raises(ConfigurationError, match="an action is 7 finite numbers"):
            env.step(wrong)
    env.close()


def test_a_running_tap_and_a_coffee_machine_pour_when_robocasa_says_so(env: RoboCasaEnv) -> None:
    kitchen = kitchen_of(env)
    sink, machine = kitchen.fixtures["sink"], kitchen.fixtures["coffee_machine"]
    env.reset(seed=0)
    names = env._scene.roles.fixture_names
    arrays = env._frame.arrays  # type: ignore[union-attr]
    assert not arrays.dispensing.any()
    # Water comes out at the upper end of the stream that RoboCasa shows.
    stream = kitchen.sim.data.get_site_xpos("sink_water")
    assert arrays.outlets[names.index("sink")] == pytest.approx(stream + [0, 0, 0.1], abs=1e-6)
    sink.set_joint_state(0.6, kitchen, ["sink_handle_joint"])
    machine._turned_on = True
    env.step(STILL)
    running = env._frame.arrays.dispensing  # type: ignore[union-attr]
    assert {n for n, on in zip(names, running, strict=True) if on} == {"sink", "coffee_machine"}
    assert env.propositions()["liquid_transfer_event"] and not env.propositions()["sanitized"]


# robocasa 216: success already at reset
def test_success_at_reset_is_caught_by_the_initial_gate(
    env: RoboCasaEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen = kitchen_of(env)
    initializer, draws = kitchen.placement_initializer, []
    original = initializer.sample

    def sample(placed_objects: Any) -> dict[str, Any]:
        draws.append(len(draws))
        done = {**STANDING, "obj": (0.25, -0.2, 1.0)} if len(draws) < 3 else STANDING
        kitchen.setup = Setup(dict(done), 0.0)
        return original(placed_objects)

    monkeypatch.setattr(initializer, "sample", sample)
    env.reset(seed=0)
    assert env.propositions()["task_goal"], "the mug is in the cabinet from the start"
    rule = Specification("not_done_yet", "!task_goal", trigger="true", initial=True)
    _, info = ProductMDP(env, [rule]).reset(seed=0)
    assert len(draws) == 3 and info["propositions"]["task_goal"] is False
    kitchen.setup = Setup()


class Crowded:
    """Objects that never fit."""

    def sample(self, placed_objects: Any) -> dict[str, Any]:
        from robosuite.utils.errors import RandomizationError

        raise RandomizationError("no room")


def test_objects_that_do_not_fit_are_an_error(
    env: RoboCasaEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kitchen_of(env), "placement_initializer", Crowded())
    with pytest.raises(ConfigurationError, match="the objects of TinyKitchen cannot be placed"):
        env.reset()


# LIBERO 149: success must hold for ten steps; robosuite's GymWrapper: the horizon is no end
def test_success_is_held_and_the_horizon_truncates(
    env: RoboCasaEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = iter([False, True, False] + [True] * 40)
    monkeypatch.setattr(kitchen_of(env), "_check_success", lambda: next(goal))
    monkeypatch.setattr(kitchen_of(env), "reward", lambda action: 0.0)
    env.reset(seed=0)
    ends = []
    for _ in range(HORIZON):
        *_, terminated, truncated, info = env.step(STILL)
        ends.append((terminated, truncated, info["success"]))
    # Frames 3 to 12 are ten in a row.
    assert [end[2] for end in ends] == [False] * 11 + [True] * (HORIZON - 11)
    assert [end[:2] for end in ends] == [(False, False)] * (HORIZON - 1) + [(False, True)]
    with pytest.raises(ResetNeededError):
        env.step(STILL)


def test_gymnasium_makes_it(folder: Path) -> None:
    assert "safe_rl/RoboCasa-v0" in registry
    allowed = AllowedContacts(frozenset({"obj"}))
    made = gymnasium.make(
        "safe_rl/RoboCasa-v0", kitchen=TinyKitchen(folder), backend="numpy",
        propositions=["forbidden_contact_sustained"], allowed=allowed, disable_env_checker=True,
    )  # fmt: skip
    assert made.get_wrapper_attr("proposition_names") == (
        "forbidden_contact_sustained",
        "task_goal",
    )
    assert made.unwrapped._scene.roles.allowed == allowed  # type: ignore[attr-defined]
    made.close()


def test_without_robocasa_one_error_says_how_to_get_it() -> None:
    if installation.find_spec("robocasa") is not None:
        pytest.skip("RoboCasa is installed")
    with pytest.raises(MissingDependencyError, match="needs robocasa.*download_kitchen_assets"):
        RoboCasaEnv("PickPlaceCounterToCabinet")


class Unknown(Fixture):
    """A fixture of a class that RoboCasa does not have."""


def test_what_is_no_kitchen_of_robocasas_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="SimpleNamespace is no RoboCasa kitchen.*robots"):
        RoboCasaEnv(type("SimpleNamespace", (), {"sim": object()})())
    with pytest.raises(ConfigurationError, match="control_freq=10"):
        RoboCasaEnv(TinyKitchen(folder, control_freq=10))
    with pytest.raises(ConfigurationError, match="mobile base, with 12 action entries.*has 7"):
        RoboCasaEnv(TinyKitchen(folder, robots="Panda"), base=True)
    with pytest.raises(ConfigurationError, match="knows a Panda.*the kitchen has a UR5e"):
        RoboCasaEnv(TinyKitchen(folder, robots="UR5e"))
    kitchen = TinyKitchen(folder)
    kitchen.fixtures["counter"].__class__ = Unknown
    with pytest.raises(GroundingError, match="does not know RoboCasa's fixture class 'Unknown'"):
        RoboCasaEnv(kitchen)


def test_an_object_must_be_known(folder: Path) -> None:
    kitchen = TinyKitchen(folder)
    kitchen.object_cfgs[0]["info"] = {}
    with pytest.raises(GroundingError, match="no category of the object 'obj'"):
        RoboCasaEnv(kitchen)
    kitchen.object_cfgs[0]["info"] = {"cat": "flux_capacitor"}
    with pytest.raises(OntologyError, match="RoboCasa's object 'obj'.*flux_capacitor"):
        RoboCasaEnv(kitchen)
