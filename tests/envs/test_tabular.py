"""The environments that sample a transition model: distribution, twins, autoreset modes, state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from safe_rl.envs.tabular import TabularEnv, TabularVectorEnv, TransitionModel
from safe_rl.envs.tabular.streams import uniform, uniform_array
from safe_rl.errors import ConfigurationError, ResetNeededError


def small_model(**changes: Any) -> TransitionModel:
    """Three states in which action 0 stays, action 1 moves on and is paid for it."""
    values: dict[str, Any] = {
        "next_state": np.array(
            [[[0, 0], [1, 2]], [[1, 0], [2, 0]], [[2, 0], [0, 1]]], dtype=np.int32
        ),
        "probability": np.array(
            [[[1.0, 0.0], [0.3, 0.7]], [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]]
        ),
        "reward": np.array(
            [[[0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [3.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]]]
        ),
        "initial": np.array([0.25, 0.0, 0.75]),
        "labels": np.array([[True, False], [False, True], [True, True]]),
        "propositions": ("p", "q"),
        "termination": 0.2,
    }
    return TransitionModel(**(values | changes))


def test_frequencies_match_the_model() -> None:
    model = small_model(termination=0.2)
    envs = TabularVectorEnv(20_000, model, autoreset_mode=AutoresetMode.SAME_STEP)
    first, _ = envs.reset(seed=1)
    # Five standard errors of a frequency over 20,000 draws.
    assert np.bincount(first, minlength=3) / 20_000 == pytest.approx(
        model.initial, abs=5 * 0.5 / np.sqrt(20_000)
    )
    before = envs.state_indices.copy()
    observations, rewards, terminated, _, info = envs.step(np.ones(20_000, np.int64))
    reached = np.where(terminated, info.get("final_obs", observations), observations)
    assert terminated.mean() == pytest.approx(0.2, abs=5 * 0.4 / np.sqrt(20_000))
    from_zero = before == 0
    assert (reached[from_zero] == 2).mean() == pytest.approx(
        0.7, abs=5 * 0.46 / np.sqrt(from_zero.sum())
    )
    assert set(np.unique(rewards[from_zero])) == {1.0, 2.0}
    assert ((rewards[from_zero] == 2.0) == (reached[from_zero] == 2)).all()


def test_streams_agree_and_are_uniform() -> None:
    keys = np.random.default_rng(0).integers(0, 1 << 63, 2000, dtype=np.uint64)
    counters = np.arange(2000, dtype=np.uint64)
    numbers = uniform_array(keys, counters)
    plain = [uniform(int(k), int(c)) for k, c in zip(keys, counters, strict=True)]
    assert numbers.tolist() == plain
    one_stream = uniform_array(np.full(100_000, 5, np.uint64), np.arange(100_000, dtype=np.uint64))
    counts = np.histogram(one_stream, 20, (0.0, 1.0))[0]
    chi_square = ((counts - 5_000) ** 2 / 5_000).sum()
    assert chi_square < 43.8  # 0.999 quantile with 19 degrees of freedom
    assert abs(np.corrcoef(one_stream[:-1], one_stream[1:])[0, 1]) < 5 / np.sqrt(100_000)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_and_single_give_the_same_trace(mode: AutoresetMode) -> None:
    """Same seeds and actions: the same states, rewards, ends and facts, whatever the mode."""
    model, n = small_model(), 5
    engaging = np.array([False, True, False])
    envs = TabularVectorEnv(n, model, engaging=engaging, goal=6.0, autoreset_mode=mode)
    twins = [TabularEnv(model, engaging=engaging, goal=6.0) for _ in range(n)]
    observations, info = envs.reset(seed=11)
    over = np.zeros(n, bool)
    for i, twin in enumerate(twins):
        assert twin.reset(seed=11 + i)[0] == observations[i]
    rng = np.random.default_rng(3)
    ended = 0
    for _ in range(200):
        actions = rng.integers(0, 2, n)
        if mode is AutoresetMode.DISABLED and over.any():
            observations, info = envs.reset(options={"reset_mask": over})
            for i in np.flatnonzero(over):
                assert twins[i].reset()[0] == observations[i]
            over = np.zeros(n, bool)
        observations, rewards, terminated, truncated, info = envs.step(actions)
        assert not truncated.any()
        ended += int(terminated.sum())
        for i, twin in enumerate(twins):
            if mode is AutoresetMode.NEXT_STEP and over[i]:
                observation, facts = twin.reset()
                reward, end = 0.0, False
            else:
                observation, reward, end, _, facts = twin.step(actions[i])
            assert (reward, end) == (rewards[i], terminated[i])
            if mode is AutoresetMode.SAME_STEP and end:
                assert info["final_obs"][i] == observation and info["_final_obs"][i]
                final = info["final_info"]
                assert (facts["success"], facts["engaged"]) == (
                    final["success"][i],
                    final["engaged"][i],
                )
                assert final["propositions"][i].tolist() == list(twin.propositions().values())
                observation, facts = twin.reset()
            assert observation == observations[i]
            assert (facts["success"], facts["engaged"]) == (
                info["success"][i],
                info["engaged"][i],
            )
            assert envs.propositions_array()[i].tolist() == list(twin.propositions().values())
        over = terminated
    assert ended > 50


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_continues_from_a_saved_state(mode: AutoresetMode) -> None:
    envs = TabularVectorEnv(6, small_model(), autoreset_mode=mode)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)

    def run(vector: TabularVectorEnv, actions: np.ndarray) -> list[Any]:
        seen = []
        for action in actions:
            observation, reward, terminated, _, _ = vector.step(action)
            seen.append((observation.tolist(), reward.tolist(), terminated.tolist()))
            if mode is AutoresetMode.DISABLED and terminated.any():
                vector.reset(options={"reset_mask": terminated})
        return seen

    run(envs, rng.integers(0, 2, (17, 6)))
    saved, actions = envs.get_state(), rng.integers(0, 2, (40, 6))
    expected = run(envs, actions)
    other = TabularVectorEnv(6, small_model(), autoreset_mode=mode)
    other.set_state(saved)
    assert run(other, actions) == expected
    envs.set_state(saved)  # the saved state was not changed by the continuation
    assert run(envs, actions) == expected


def test_single_continues_from_a_saved_state() -> None:
    env = TabularEnv(small_model(termination=0.01))
    env.reset(seed=5)
    for _ in range(7):
        env.step(1)
    saved = env.get_state()
    expected = [env.step(k % 2)[:3] for k in range(10)]
    other = TabularEnv(small_model(termination=0.01))
    other.set_state(saved)
    assert [other.step(k % 2)[:3] for k in range(10)] == expected


def test_reset_seeds_repeat_and_unseeded_resets_continue() -> None:
    """robosuite PR 635 in kind: ``reset(seed=s)`` twice gives the same state, and trace."""
    env = TabularEnv(small_model(termination=0.001))

    def trace(seed: int | None) -> list[Any]:
        start = env.reset(seed=seed)[0]
        return [start, *(env.step(1)[0] for _ in range(30) if not env._over)]

    first = trace(3)
    assert trace(3) == first
    assert trace(None) != first
    assert env.reset(options={"state": 1})[0] == 1


def test_misuse_is_explained() -> None:
    env = TabularEnv(small_model(termination=1.0))
    with pytest.raises(ResetNeededError, match="before the first reset"):
        env.step(0)
    with pytest.raises(ResetNeededError, match="before the first reset"):
        env.propositions()
    env.reset(seed=0)
    with pytest.raises(ConfigurationError, match=r"action must lie in \[0, 2\), got 2"):
        env.step(2)
    assert env.step(0)[2]
    with pytest.raises(ResetNeededError, match="after the end"):
        env.step(0)
    envs = TabularVectorEnv(2, small_model(termination=1.0), autoreset_mode="Disabled")
    with pytest.raises(ResetNeededError, match="before the first reset"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(seed=0)
    with pytest.raises(ConfigurationError, match="got -1"):
        envs.step(np.array([0, -1]))
    with pytest.raises(ConfigurationError, match="actions must be integers of shape"):
        envs.step(np.zeros(2))
    envs.step(np.zeros(2, np.int64))
    with pytest.raises(ResetNeededError, match=r"environments \[0, 1\] have ended"):
        envs.step(np.zeros(2, np.int64))
    with pytest.raises(ConfigurationError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([1, 0])})
    with pytest.raises(ConfigurationError, match="list of 2 entries"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ConfigurationError, match="needs features"):
        TabularEnv(small_model(), observation="features")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"termination": 0.0}, "termination must lie"),
        ({"initial": np.array([0.5, 0.0, 0.4])}, "initial sums to"),
        ({"initial": np.array([1.0, 0.0])}, "initial must have shape"),
        ({"labels": np.zeros((3, 1), bool)}, "labels must have shape"),
        ({"reward": np.zeros((3, 2, 1))}, "share one shape"),
        ({"probability": np.full((3, 2, 2), 0.4)}, "state 0, action 0 sum to 0.8"),
        ({"next_state": np.full((3, 2, 2), 3, np.int32)}, r"next_state must lie in \[0, 3\)"),
    ],
)
def test_malformed_models_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        small_model(**changes)


def test_rounding_never_selects_padding() -> None:
    """Ten outcomes of 0.1 sum to less than one in floats; the last one still closes the row."""
    probability = np.zeros((1, 1, 12))
    probability[..., :10] = 0.1
    model = TransitionModel(
        next_state=np.zeros((1, 1, 12), np.int32),
        probability=probability,
        reward=np.zeros((1, 1, 12)),
        initial=np.ones(1),
        labels=np.zeros((1, 0), bool),
        propositions=(),
        termination=0.5,
    )
    assert (model.cumulative[0, 9:] == 1.0).all()
    assert (model.cumulative[0, :9] < 1.0).all()
