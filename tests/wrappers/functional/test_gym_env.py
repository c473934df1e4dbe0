"""Functional environments under Gymnasium's interface: seeds, lanes, ends, exact resume."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

jax = pytest.importorskip("jax")

from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from safe_rl.envs.kitchen_grid.functional import KitchenGridFunctional
from safe_rl.errors import CheckpointError, ConfigurationError, ResetNeededError
from safe_rl.wrappers import ProductMDP, VectorProductMDP
from safe_rl.wrappers.functional import FunctionalGymEnv, FunctionalVectorEnv
from safe_rl.wrappers.functional.saving import state_from_arrays, state_to_arrays
from tests.wrappers.functional.analytic import ENDS, OBJECTS, Slope, ToldEnv, told_specs

KITCHEN = KitchenGridFunctional(termination=0.2)
LANES = 4


@pytest.fixture(scope="module")
def vector() -> FunctionalVectorEnv:
    return FunctionalVectorEnv(KITCHEN, LANES, render_mode="rgb_array")


@pytest.fixture(scope="module")
def single() -> FunctionalGymEnv:
    return FunctionalGymEnv(KITCHEN, render_mode="rgb_array")


def test_gymnasiums_own_checks(single: FunctionalGymEnv) -> None:
    check_env(single, skip_render_check=True)
    assert single.render().shape == (220, 288, 3)  # type: ignore[union-attr]
    assert single.render().dtype == np.uint8  # type: ignore[union-attr]


def test_lane_i_is_the_single_environment_of_seed_plus_i(
    vector: FunctionalVectorEnv, single: FunctionalGymEnv
) -> None:
    """Bit for bit, over resets, with the product's costs."""
    steps = 40
    actions = np.random.default_rng(0).integers(0, 6, (steps, LANES))
    envs = VectorProductMDP(vector, "kitchen")
    observation, infos = envs.reset(seed=7)
    seen = [(observation, infos)]
    for action in actions:
        observation, reward, terminated, truncated, infos = envs.step(action)
        seen.append((observation, reward, terminated, truncated, infos))
    assert sum(s[2].sum() for s in seen[1:]) > 10
    env = ProductMDP(single, "kitchen")
    for lane in range(LANES):
        own, info = env.reset(seed=7 + lane)
        assert np.array_equal(seen[0][0][lane], own)
        for t, (observation, reward, terminated, truncated, infos) in enumerate(seen[1:]):
            own, r, end, cut, info = env.step(int(actions[t, lane]))
            assert (reward[lane], terminated[lane], truncated[lane]) == (r, end, cut)
            assert np.array_equal(infos["costs"][lane], info["costs"])
            facts = infos
            if end:
                assert np.array_equal(infos["final_obs"][lane], own)
                facts = infos["final_info"]
                letter = {k: bool(v[lane]) for k, v in facts["propositions"].items()}
                assert letter == info["propositions"]
            assert facts["success"][lane] == info["success"]
            assert facts["engaged"][lane] == info["engaged"]
            if end:
                own, info = env.reset()
            assert np.array_equal(observation[lane], own)
            letter = {name: bool(v[lane]) for name, v in infos["propositions"].items()}
            assert letter == info["propositions"]


def test_a_saved_state_continues_bit_for_bit(
    vector: FunctionalVectorEnv, single: FunctionalGymEnv
) -> None:
    actions = np.random.default_rng(1).integers(0, 6, (30, LANES))
    vector.reset(seed=0)
    for action in actions[:10]:
        vector.step(action)
    saved = vector.get_state()
    assert all(type(v) is np.ndarray for v in (*saved["state"].values(), saved["keys"]))
    expected = [vector.step(action) for action in actions[10:]]
    other = FunctionalVectorEnv(KITCHEN, LANES)
    other.set_state(saved)
    assert np.array_equal(other.propositions_array(), saved_letters(saved))
    for action, (observation, reward, terminated, *_) in zip(actions[10:], expected, strict=True):
        again = other.step(action)
        assert np.array_equal(again[0], observation)
        assert np.array_equal(again[1], reward) and np.array_equal(again[2], terminated)

    single.reset(seed=3)
    kept = single.get_state()
    first = single.step(2)
    single.set_state(kept)
    again = single.step(2)
    assert np.array_equal(first[0], again[0]) and first[1:] == again[1:]


def saved_letters(saved: dict[str, Any]) -> Any:
    return np.asarray(KITCHEN.model.labels)[saved["state"][".place"]]


def test_a_state_of_another_environment_is_refused(vector: FunctionalVectorEnv) -> None:
    vector.reset(seed=0)
    saved = vector.get_state()
    with pytest.raises(CheckpointError, match="number of environments"):
        FunctionalVectorEnv(KITCHEN, 2).set_state(saved)
    with pytest.raises(CheckpointError, match="another environment"):
        FunctionalVectorEnv(Slope(), LANES).set_state(saved)


def test_a_key_in_the_state_is_saved_as_numbers() -> None:
    env = Slope()
    state = jax.jit(env.initial)(jax.random.key(4))
    arrays = state_to_arrays(state)
    assert arrays["['key']"].dtype == np.uint32
    again = state_from_arrays(env, arrays)
    assert jax.random.key_data(again["key"]).tolist() == arrays["['key']"].tolist()
    assert again["x"] == state["x"]


def test_truncation_at_the_limit_and_masked_resets() -> None:
    envs = FunctionalVectorEnv(ToldEnv(3), 3)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.objects == OBJECTS
    with pytest.raises(ResetNeededError):
        envs.propositions_array()
    with pytest.raises(ResetNeededError, match="first reset"):
        envs.reset(options={"reset_mask": np.array([True, False, True])})
    envs.reset(seed=0)
    envs.step(np.array([1, 2, 3]))
    before = envs.step(np.array([1, 2, 3]))[0]
    observation, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(observation[[0, 2]], before[[0, 2]]) and observation[1, 1] == 0
    _, _, terminated, truncated, infos = envs.step(np.array([1, 2, 3 + ENDS]))
    assert truncated.tolist() == [True, False, False]
    assert terminated.tolist() == [False, False, True]
    assert infos["final_obs"][:, 1].tolist() == [3, 1, 3]
    env = ProductMDP(FunctionalGymEnv(ToldEnv(2)), told_specs())
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    with pytest.raises(ResetNeededError, match="after the end"):
        env.env.step(0)


def test_wrong_arguments(vector: FunctionalVectorEnv, single: FunctionalGymEnv) -> None:
    vector.reset(seed=0)
    with pytest.raises(ConfigurationError, match=r"\[0, 6\)"):
        vector.step(np.array([0, 6, 0, 0]))
    with pytest.raises(ConfigurationError, match=r"shape \(4,\)"):
        vector.step(np.zeros(3, int))
    with pytest.raises(ConfigurationError, match="list of 4 entries"):
        vector.reset(seed=[1, 2])
    with pytest.raises(ConfigurationError, match="reset_mask"):
        vector.reset(options={"reset_mask": np.zeros(4, int)})
    with pytest.raises(ConfigurationError, match="render_mode"):
        FunctionalGymEnv(Slope(), render_mode="rgb_array")
    with pytest.raises(ConfigurationError, match="num_envs"):
        FunctionalVectorEnv(KITCHEN, 0)
    fresh = FunctionalGymEnv(Slope())
    for call in (fresh.propositions, fresh.get_state, lambda: fresh.step(0.0)):
        with pytest.raises(ResetNeededError):
            call()
    assert fresh.render() is None
    assert isinstance(single, gym.Env)


def test_pictures_of_all_lanes(vector: FunctionalVectorEnv) -> None:
    vector.reset(seed=0)
    pictures = vector.render()
    assert pictures is not None and len(pictures) == LANES
    assert all(p.shape == (220, 288, 3) for p in pictures)
    vector.close()
