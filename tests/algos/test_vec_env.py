"""The adapter from Gymnasium's vector environments: ends of episodes, costs, attributes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import safe_rl.envs  # noqa: F401 (registers the ids)
from safe_rl.algos import PPOLagrangian, VectorEnvAdapter
from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.wrappers import VectorProductMDP
from tests.algos.analytic_envs import ChoiceVectorEnv, ScriptedEnv

MODES = list(AutoresetMode)


def adapter(
    mode: AutoresetMode, lengths: tuple[int, ...] = (3, 5), truncates: bool = False, **options: Any
) -> VectorEnvAdapter:
    fns = [lambda n=n: ScriptedEnv(5, truncates, **options) for n in lengths]
    envs = SyncVectorEnv(fns, autoreset_mode=mode)
    for env, length in zip(envs.envs, lengths, strict=True):
        env.unwrapped.length = length
    return VectorEnvAdapter(envs)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("observation", ["box", "dict"])
def test_last_step_is_whole_in_every_mode(
    mode: AutoresetMode, truncates: bool, observation: str
) -> None:
    """omnisafe 161, 127: neither cost nor value of the last step is lost at an autoreset."""
    env = adapter(mode, truncates=truncates, observation=observation)
    env.seed(0)
    env.reset()
    sums = np.zeros((2, 2))
    episodes: list[list[np.ndarray]] = [[], []]
    for _ in range(24):
        obs, rewards, dones, infos = env.step(np.array([0, 1]))
        resets = infos.arrays.get("reset_step", np.zeros(2, bool))
        for index in range(2):
            if resets[index]:
                assert infos[index]["reset_step"] and not dones[index] and rewards[index] == 0.0
                continue
            sums[index] += infos[index]["constraint_costs"]
            if dones[index]:
                info = infos[index]
                length = (3, 5)[index]
                final = info["terminal_observation"]
                last = final["step"][0] if observation == "dict" else final[0]
                assert last == length  # not the first observation of the next episode
                assert info["TimeLimit.truncated"] is truncates
                assert info["episode"]["l"] == length
                assert info["episode"]["r"] == sum(t + 1.0 for t in range(length))
                episodes[index].append(sums[index].copy())
                sums[index] = 0.0
                if mode is not AutoresetMode.NEXT_STEP:  # already the next episode
                    assert (obs["step"] if observation == "dict" else obs)[index][0] == 0.0
    for index, length in enumerate((3, 5)):
        assert len(episodes[index]) >= 3
        for episode in episodes[index]:
            np.testing.assert_array_equal(
                episode,
                [sum(10.0 + t for t in range(length)), sum(100.0 * t for t in range(length))],
            )


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED], ids=str)
@pytest.mark.parametrize("num_envs", [1, 3])
def test_equal_to_dummy_vec_env(mode: AutoresetMode, num_envs: int) -> None:
    fns = [lambda: ScriptedEnv(4, truncates=True) for _ in range(num_envs)]
    ours, theirs = VectorEnvAdapter(SyncVectorEnv(fns, autoreset_mode=mode)), DummyVecEnv(fns)
    ours.seed(3)
    theirs.seed(3)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for step in range(13):
        actions = np.arange(num_envs) % 3
        first, second = ours.step(actions), theirs.step(actions)
        for a, b in zip(first[:3], second[:3], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"step {step}")
        for a, b in zip(first[3], second[3], strict=True):
            np.testing.assert_array_equal(a["constraint_costs"], b["constraint_costs"])
            if "terminal_observation" in b:
                np.testing.assert_array_equal(a["terminal_observation"], b["terminal_observation"])
                assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("lengths", [(3,), (3, 5, 4)])
def test_training_counts_every_episode_whole(mode: AutoresetMode, lengths: tuple[int, ...]) -> None:
    """cleanrl 499, omnisafe 127: exact for every autoreset mode and for one environment."""
    model = PPOLagrangian(
        "MlpPolicy",
        adapter(mode, lengths),
        cost_limits=[1.0, 1.0],
        n_steps=7,
        batch_size=7,
        n_epochs=1,
        seed=0,
    )
    found: list[tuple[int, list[float]]] = []
    original = model.episode_sums.add

    def add(costs: np.ndarray, dones: np.ndarray) -> np.ndarray:
        sums = original(costs, dones)
        found.extend(zip(np.flatnonzero(dones).tolist(), sums.tolist(), strict=True))
        return sums

    model.episode_sums.add = add  # type: ignore[method-assign]
    model.learn(7 * len(lengths) * 6)
    spent = 1 if mode is AutoresetMode.NEXT_STEP else 0
    assert len(found) == sum((42 + spent) // (length + spent) for length in lengths)
    for index, sums in found:
        steps = range(lengths[index])
        assert sums == [sum(10.0 + t for t in steps), sum(100.0 * t for t in steps)]


def test_the_step_that_resets_is_not_learned_from() -> None:
    model = PPOLagrangian(
        "MlpPolicy",
        adapter(AutoresetMode.NEXT_STEP, (3,)),
        cost_limits=[1.0, 1.0],
        n_steps=8,
        batch_size=8,
        n_epochs=1,
        seed=0,
    )
    model.learn(8)
    buffer = model.rollout_buffer
    valid = buffer.valid.flatten()
    assert valid.tolist() == [True, True, True, False, True, True, True, False]
    drawn = sum(len(batch.actions) for batch in buffer.samples(4))
    assert drawn == 6
    # The action of the ignored step leaks into no advantage: the last real step of the first
    # episode sees its own reward and no future (it terminated).
    last = buffer.returns.flatten()[2]
    assert last == pytest.approx(3.0, abs=1e-5)


def test_observations_are_copied() -> None:
    """A vector environment may write its next observations into the same array."""
    envs = SyncVectorEnv([lambda: ScriptedEnv(9)], copy=False)
    env = VectorEnvAdapter(envs)
    first = env.reset()
    kept = first.copy()
    env.step(np.array([0]))
    np.testing.assert_array_equal(first, kept)


def test_a_cost_that_some_environment_does_not_give_is_an_error() -> None:
    """Gymnasium fills the gap with zero; a missing cost must not be read as no cost."""
    fns = [lambda: ScriptedEnv(4), lambda: ScriptedEnv(4, costs=False)]
    for mode in MODES:
        model = PPOLagrangian(
            "MlpPolicy",
            SyncVectorEnv(fns, autoreset_mode=mode),
            cost_limits=[1.0, 1.0],
            n_steps=8,
            batch_size=8,
        )
        with pytest.raises(ConfigurationError, match="environment 1 gives no info"):
            model.learn(16)


def test_bad_vector_environments_are_clear_errors() -> None:
    envs = ChoiceVectorEnv(2)
    envs.metadata = {}
    with pytest.raises(ConfigurationError, match="autoreset_mode.*None.*must be one of"):
        VectorEnvAdapter(envs)
    env = VectorEnvAdapter(ChoiceVectorEnv(2))
    with pytest.raises(ResetNeededError, match=r"call reset\(\)"):
        env.step(np.zeros(2, np.int64))
    env.reset()
    plain = env.envs.step

    def without_final(actions: np.ndarray) -> Any:
        *rest, info = plain(actions)
        del info["final_obs"]
        return (*rest, info)

    env.envs.step = without_final  # type: ignore[method-assign]
    with pytest.raises(ConfigurationError, match="final_obs"):
        env.step(np.zeros(2, np.int64))


def kitchen(num_envs: int, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> VectorProductMDP:
    envs = gym.make_vec(
        "safe_rl/KitchenGrid-v0",
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        observation="features",
        autoreset_mode=mode,
    )
    return VectorProductMDP(envs, "kitchen")


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_product_mdp_through_the_adapter(mode: AutoresetMode) -> None:
    """Episode sums of the adapter are those of the monitors' own counts, in every mode."""
    env = VectorEnvAdapter(kitchen(16, mode))
    env.seed(0)
    env.reset()
    constraints = env.get_attr("constraints")[0]
    ids = [c.id for c in constraints]
    assert env.get_attr("constraints", [3, 5]) == [constraints, constraints]
    sums = np.zeros((16, len(ids)))
    rng = np.random.default_rng(0)
    ended = violations = 0
    for _ in range(300):
        _, _, dones, infos = env.step(rng.integers(0, 6, 16))
        for index in range(16):
            if not infos[index].get("reset_step", False):
                sums[index] += infos[index]["constraint_costs"]
            if not dones[index]:
                continue
            ended += 1
            counts = infos[index]["safety"]["counts"]
            for k, constraint in enumerate(constraints):
                v, n = counts["V"][k], counts["N"][k]
                expected = {
                    "episode": float(v),
                    "probability": float(v > 0),
                    "per_trigger": v - constraint.value * n,
                }[constraint.kind]
                assert sums[index, k] == pytest.approx(expected, abs=1e-9)
                violations += v
            sums[index] = 0.0
    assert ended > 50 and violations >= 5


def test_state_passes_through() -> None:
    env = VectorEnvAdapter(kitchen(4))
    env.seed(0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(5):
        env.step(rng.integers(0, 6, 4))
    state = env.env_method("get_state", indices=0)[0]
    actions = [rng.integers(0, 6, 4) for _ in range(30)]
    first = [env.step(action)[:3] for action in actions]
    env.env_method("set_state", state, indices=0)
    second = [env.step(action)[:3] for action in actions]
    for a, b in zip(first, second, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_attributes_and_wrappers() -> None:
    env = adapter(AutoresetMode.NEXT_STEP, (4, 3))
    assert env.get_attr("length") == [4, 3]
    assert not env.has_attr("no_such_thing")
    env.reset()
    assert env.env_method("_observe", indices=[1])[0].shape == (2,)
    assert env.env_is_wrapped(gym.Wrapper) == [False, False]
    product = VectorEnvAdapter(kitchen(2))
    assert product.env_is_wrapped(VectorProductMDP) == [True, True]
    assert product.get_attr("num_envs") == [2, 2]
    normalised = VecNormalize(VectorEnvAdapter(kitchen(2)))
    assert normalised.get_attr("constraints")[0] == product.get_attr("constraints")[0]
    env.close()
