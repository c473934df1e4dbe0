"""Chunks are played row by row, the same in every autoreset mode, and the monitors only watch."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from safe_rl.errors import ConfigurationError, PolicyError
from safe_rl.evaluation import roll_out
from safe_rl.policies import ChunkRunner, checked_chunks, named_observation, scenario_seed
from safe_rl.specs import Specification
from safe_rl.wrappers import GroundingInfo, VectorProductMDP
from tests.policies.counting import Countdown, Telling

LENGTHS = ([7, 3], [5, 2, 9])
NEVER_BAD = Specification("never_bad", "G !bad", trigger="true")


def _envs(mode: AutoresetMode) -> VectorProductMDP:
    makers = [lambda i=i: GroundingInfo(Countdown(i, LENGTHS[i])) for i in range(2)]
    return VectorProductMDP(SyncVectorEnv(makers, autoreset_mode=mode), [NEVER_BAD], features=None)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_row_plays_its_own_chunks_in_every_mode(mode: AutoresetMode) -> None:
    envs, policy = _envs(mode), Telling()
    runner = ChunkRunner(policy, envs, play=3, seed=5)
    rollouts = roll_out(envs, runner, 6, seed=0)
    assert len(rollouts.records) == 6
    for number, env in enumerate(env.unwrapped for env in envs.unwrapped.envs):
        for episode, taken in enumerate(env.taken[:3]):
            wanted = scenario_seed(5, f"{number}/{episode}") % 1000 / 1000
            for step, action in enumerate(taken):
                np.testing.assert_allclose(action, [wanted, step % 3 / 10], atol=1e-6)
    # a violation at step 2 ended nothing
    assert rollouts.records.violations.sum() == 6
    assert set(rollouts.records.lengths.tolist()) == {7, 3, 5, 2, 9}


def test_only_rows_whose_chunk_is_used_up_are_asked() -> None:
    envs, policy = _envs(AutoresetMode.SAME_STEP), Telling()
    runner = ChunkRunner(policy, envs, play=4, prompt=lambda text: text.upper())
    roll_out(envs, runner, 2, seed=0)
    # both begin; row 0 asks again at its step 4, row 1 too; row 1 begins anew after step 5
    assert policy.calls[0] == ([0, 1], [0.0, 0.0], ["TASK 0.0", "TASK 1.0"])
    assert policy.calls[1] == ([0, 1], [4.0, 4.0], ["TASK 0.0", "TASK 1.0"])
    assert policy.calls[2] == ([1], [0.0], ["TASK 1.1"])


def test_scenario_names_decide_the_seeds() -> None:
    envs, policy = _envs(AutoresetMode.SAME_STEP), Telling()
    ChunkRunner(policy, envs, play=1, seed=2, scenario=lambda row, k: f"scene-{row}-{k}").act(
        np.zeros((2, 3)), np.ones(2, bool)
    )
    assert policy.seeds == {0: scenario_seed(2, "scene-0-0"), 1: scenario_seed(2, "scene-1-0")}


def test_a_scenarios_seed_is_the_crc_of_base_and_name() -> None:
    import binascii

    assert scenario_seed(3, "jar/task_0000") == binascii.crc32(b"3:jar/task_0000")


@pytest.mark.parametrize("play", [0, 5])
def test_no_more_is_played_than_a_chunk_holds(play: int) -> None:
    with pytest.raises(ConfigurationError, match="from 1 to 4"):
        ChunkRunner(Telling(), _envs(AutoresetMode.SAME_STEP), play=play)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros((1, 4, 2)), r"must be \[2, 4, 2\], but are \[1, 4, 2\]"),
        (np.zeros((2, 4, 3)), r"but are \[2, 4, 3\]"),
        (np.zeros((2, 3, 2)), r"but are \[2, 3, 2\]"),
        ([[["a", "b"]] * 4] * 2, "must be numbers"),
        ([[[1.0]], [[1.0, 2.0]]], "no array"),
        (np.full((2, 4, 2), np.nan), "action 0 of row 0 has nan as entry 0"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        checked_chunks(answer, 2, 4, 2)


def test_actions_are_cut_to_the_action_space() -> None:
    class Far(Telling):
        def act(self, observation, instruction, rows):
            return np.full((len(rows), 4, 2), 7.0)

    envs = _envs(AutoresetMode.SAME_STEP)
    actions = ChunkRunner(Far(), envs, play=2).act(np.zeros((2, 3)), np.ones(2, bool))
    assert actions.max() == 1.0


def test_observations_by_name() -> None:
    picture = np.zeros((2, 4, 4, 3), np.uint8)
    named = named_observation({"state": np.zeros((2, 3)), "agentview": picture})
    assert set(named) == {"state", "images.agentview"}
    assert named["state"].dtype == np.float32
    with pytest.raises(ConfigurationError, match="no 'state'"):
        named_observation({"agentview": picture})
    with pytest.raises(ConfigurationError, match="float64"):
        named_observation({"state": np.zeros((2, 3)), "depth": np.zeros((2, 4, 4))})
