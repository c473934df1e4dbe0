"""Chunks of actions: costs of each sub-step, where they stop, and the vector twin."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.specs import Limit, Specification
from safe_rl.wrappers import (
    ChunkedSteps,
    GroundingInfo,
    ProductMDP,
    VectorChunkedSteps,
    VectorProductMDP,
    VectorSafetyReward,
)
from tests.wrappers.scripted import NAMES, Script, ScriptedEnv, ScriptedVectorEnv, pool, script

MODES = list(AutoresetMode)
RULES = [
    Specification("never", "G !a", trigger="true", recovery="F c", weight=2.0),
    Specification("answered", "G(a -> F b)", limit=Limit("per_trigger", 0.25)),
]


def test_costs_of_each_action() -> None:
    env = ChunkedSteps(ProductMDP(ScriptedEnv([script("- a c a - - -")]), RULES), 4)
    assert env.action_space.shape == (4,)
    env.reset()
    observation, reward, terminated, truncated, info = env.step(np.zeros(4, int))
    assert observation[1] == 4.0 and reward == 4.0 and not terminated and not truncated
    assert info["chunk_cost"].tolist() == [2.0, 0.0, 2.0, 0.0]
    assert info["chunk_costs"].tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert info["chunk_constraint_costs"].tolist() == [[-0.25], [0.0], [-0.25], [0.0]]
    assert info["chunk_mask"].tolist() == [True] * 4
    assert info["cost"] == 4.0 and info["costs"].tolist() == [2.0, 0.0]
    assert info["constraint_costs"].tolist() == [-0.5]
    assert info["safety"]["happened"].violated.tolist() == [2, 0]


def test_a_chunk_stops_where_the_episode_ends() -> None:
    env = ChunkedSteps(ProductMDP(ScriptedEnv([script("- - a")]), RULES), 5)
    env.reset()
    observation, reward, terminated, _, info = env.step(np.zeros(5, int))
    assert terminated and observation[1] == 2.0 and reward == 2.0
    assert info["chunk_mask"].tolist() == [True, True, False, False, False]
    # The end leaves `answered` violated: the cost of the last step is not lost in the chunk.
    assert info["chunk_costs"].tolist() == [[0, 0], [1, 1], [0, 0], [0, 0], [0, 0]]
    assert info["chunk_rewards"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert info["safety"]["counts"]["V"].tolist() == [1, 1]


def test_box_actions_are_played_in_order() -> None:
    class Recorder(ScriptedEnv):
        def __init__(self) -> None:
            super().__init__([script("- - - -")])
            self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
            self.played: list[Any] = []

        def step(self, action: Any) -> Any:
            self.played.append(np.asarray(action).tolist())
            return super().step(action)

    inner = Recorder()
    env = ChunkedSteps(ProductMDP(inner, RULES), 2)
    assert env.action_space == spaces.Box(-1.0, 1.0, (2, 2), np.float32)
    env.reset()
    env.step(np.array([[0.0, 0.5], [1.0, -1.0]], np.float32))
    assert inner.played == [[0.0, 0.5], [1.0, -1.0]]


def test_arguments() -> None:
    with pytest.raises(ConfigurationError, match="chunk must be at least 1"):
        ChunkedSteps(ProductMDP(ScriptedEnv([script("- a")]), RULES), 0)
    with pytest.raises(ConfigurationError, match="no ProductMDP"):
        ChunkedSteps(ScriptedEnv([script("- a")]), 2)
    envs = VectorChunkedSteps(
        VectorProductMDP(ScriptedVectorEnv([[script("- a")]], AutoresetMode.NEXT_STEP), RULES), 2
    )
    envs.reset()
    with pytest.raises(ConfigurationError, match=r"shape \(1, 2, \.\.\.\)"):
        envs.step(np.zeros((1, 3), int))

    class Dictionary(ScriptedVectorEnv):
        def __init__(self) -> None:
            super().__init__([[script("- a")]], AutoresetMode.NEXT_STEP)
            self.single_action_space = spaces.Dict({"arm": spaces.Discrete(2)})

    with pytest.raises(ConfigurationError, match="flatten it first"):
        VectorChunkedSteps(VectorProductMDP(Dictionary(), RULES), 2)


# The vector twin, on the vector side and on the sub-environments' side.

letters = st.frozensets(st.sampled_from(NAMES))
scripts = st.builds(
    Script,
    st.lists(letters, min_size=2, max_size=9).map(tuple),
    st.sampled_from(["terminated", "truncated"]),
)


def single_chunks(own: Script, chunk: int) -> list[Any]:
    env = ChunkedSteps(ProductMDP(ScriptedEnv([own]), pool()), chunk)
    observation, _ = env.reset()
    trace, over = [observation[1:].tolist()], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(np.zeros(chunk, int))
        over = terminated or truncated
        trace.append(summary(observation, reward, terminated, truncated, info, over, ...))
    return trace


def summary(
    observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any, over: Any, row: Any
) -> list[Any]:
    counts = info["safety"]["counts"] if over else {}
    arrays = [info[key] for key in ("cost", "costs", "constraint_costs", "chunk_mask")]
    arrays += [info[f"chunk_{key}"] for key in ("cost", "costs", "constraint_costs", "rewards")]
    arrays += list(info["safety"]["happened"])
    return [
        observation[1:].tolist(),  # without the number of the episode, which rows may skip
        float(reward),
        bool(terminated),
        bool(truncated),
        *(np.asarray(array)[row].tolist() for array in arrays),
        {key: value[row].tolist() for key, value in counts.items()},
    ]


def vector_chunks(envs: Any, chunk: int, episodes: int) -> list[list[list[Any]]]:
    n, mode = envs.num_envs, envs.product.autoreset_mode
    actions = np.zeros((n, chunk), int)
    observations, _ = envs.reset()
    found: list[list[list[Any]]] = [[] for _ in range(n)]
    traces: list[list[Any]] = [[observations[i][1:].tolist()] for i in range(n)]
    over = np.zeros(n, bool)
    for _ in range(200):
        if min(len(own) for own in found) >= episodes:
            return found
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        ended = terminations | truncations
        for i in range(n):
            if mode is AutoresetMode.NEXT_STEP and over[i]:
                assert not infos["chunk_mask"][i].any() and rewards[i] == 0.0
                assert infos["cost"][i] == 0.0 and not ended[i]
                traces[i] = [observations[i][1:].tolist()]
                continue
            same_step = mode is AutoresetMode.SAME_STEP and ended[i]
            last = infos["final_obs"][i] if same_step else observations[i]
            values = (last, rewards[i], terminations[i], truncations[i], infos, ended[i], i)
            traces[i].append(summary(*values))
            if ended[i]:
                found[i].append(traces[i])
                traces[i] = [observations[i][1:].tolist()]
        over = ended
        if mode is AutoresetMode.DISABLED and ended.any():
            with pytest.raises(ResetNeededError):
                envs.step(actions)
            observations, _ = envs.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                traces[i] = [observations[i][1:].tolist()]
    raise AssertionError("episodes do not end")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("native", [False, True])
@settings(max_examples=15, deadline=None)
@given(st.lists(scripts, min_size=1, max_size=3), st.integers(1, 4))
def test_vector_equals_single(
    mode: AutoresetMode, native: bool, rows: list[Script], chunk: int
) -> None:
    inner: Any
    if native:
        inner = ScriptedVectorEnv([[own] for own in rows], mode)
    else:
        inner = SyncVectorEnv(
            [lambda own=own: GroundingInfo(ScriptedEnv([own])) for own in rows],
            autoreset_mode=mode,
        )
    envs = VectorChunkedSteps(VectorProductMDP(inner, pool()), chunk)
    for found, own in zip(vector_chunks(envs, chunk, 3), rows, strict=True):
        right = single_chunks(own, chunk)
        assert all(trace == right for trace in found)


@pytest.mark.parametrize("mode", MODES)
def test_chunks_over_rows_that_a_reward_cuts(mode: AutoresetMode) -> None:
    rows = [[script("- - a - - - -")], [script("- - - - - -")]]
    inner = VectorProductMDP(ScriptedVectorEnv(rows, mode), RULES)
    envs = VectorChunkedSteps(VectorSafetyReward(inner, violation=-3.0, terminate=True), 3)
    envs.reset()
    _, rewards, terminations, _, infos = envs.step(np.zeros((2, 3), int))
    assert terminations.tolist() == [True, False]
    assert infos["chunk_mask"].tolist() == [[True, True, False], [True] * 3]
    assert rewards.tolist() == [-1.0, 3.0]
    assert infos["chunk_cost"].tolist() == [[0.0, 2.0, 0.0], [0.0] * 3]


def test_sub_environments_may_chunk_by_themselves() -> None:
    envs = SyncVectorEnv(
        [lambda: ChunkedSteps(ProductMDP(ScriptedEnv([script("- a c a - - -")]), RULES), 3)] * 2
    )
    envs.reset()
    *_, infos = envs.step(np.zeros((2, 3), int))
    assert infos["chunk_cost"].tolist() == [[2.0, 0.0, 2.0]] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("moment", range(4))
def test_vector_resume(mode: AutoresetMode, moment: int) -> None:
    rows = [script("- a b - a", "truncated"), script("b a c b - - a")]
    actions = np.zeros((2, 3), int)

    def make() -> VectorChunkedSteps:
        inner = SyncVectorEnv(
            [lambda own=own: GroundingInfo(ScriptedEnv([own])) for own in rows],
            autoreset_mode=mode,
        )
        return VectorChunkedSteps(VectorProductMDP(inner, pool()), 3)

    def play(envs: VectorChunkedSteps, steps: int) -> list[Any]:
        seen = []
        for _ in range(steps):
            observations, paid, terminations, truncations, infos = envs.step(actions)
            seen.append((observations.tolist(), paid.tolist(), infos["chunk_costs"].tolist()))
            ended = terminations | truncations
            if mode is AutoresetMode.DISABLED and ended.any():
                envs.reset(options={"reset_mask": ended})
        return seen

    envs = make()
    envs.reset()
    play(envs, moment)
    saved = pickle.dumps(envs.get_state())
    right = play(envs, 5)
    resumed = make()
    resumed.reset()
    resumed.set_state(pickle.loads(saved))
    assert play(resumed, 5) == right


def test_single_passes_its_state_on() -> None:
    env = ChunkedSteps(ProductMDP(ScriptedEnv([script("- a c a - - -")]), RULES), 2)
    env.reset()
    env.step(np.zeros(2, int))
    saved = env.get_state()
    right = env.step(np.zeros(2, int))[-1]["chunk_cost"].tolist()
    env.set_state(saved)
    assert env.step(np.zeros(2, int))[-1]["chunk_cost"].tolist() == right
    assert isinstance(env, gym.Wrapper)
