"""What those who train elsewhere are given: RLinf's chunk_step, SimpleVLA-RL's rewards."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from gymnasium.vector import AutoresetMode

from safe_rl.algos.finetuning import ChunkStepEnvs, SafetyRewardManager
from safe_rl.errors import ConfigurationError
from safe_rl.wrappers import VectorSixTuple
from tests.algos.finetuning.runner import runners


def test_a_chunk_step_tells_what_each_action_earned_and_cost() -> None:
    envs = ChunkStepEnvs(runners(2, chunk=3, mode=AutoresetMode.SAME_STEP))
    shown, _ = envs.reset(seed=0)
    assert len(shown["states"]) == 2 and shown["states"].dtype == torch.float32
    speeds = torch.tensor([[0.1, 0.9, 0.9], [0.2, 0.3, 0.4]])
    for _ in range(2):
        observed, rewards, terminated, truncated, infos = envs.chunk_step(speeds[..., None])
        assert torch.allclose(rewards, speeds)
        assert not terminated.any() and not truncated.any()
    # These environments charge exposure: every fast step.
    assert infos[0]["chunk_costs"].tolist() == [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    observed, rewards, terminated, truncated, infos = envs.chunk_step(speeds[..., None])
    # Episodes have 8 steps: the third chunk ends with its second action.
    assert truncated.tolist() == [[False, True, False]] * 2 and not terminated.any()
    assert rewards[:, 2].tolist() == [0.0, 0.0]
    assert infos[0]["chunk_mask"].tolist() == [[True, True, False]] * 2
    assert infos[0]["episode"]["violations"].tolist() == [3, 0]
    final = infos[0]["final_observation"]["states"]
    assert final[0, 0] == pytest.approx(0.9) and observed[0]["states"][0, 0] == 0.0


def test_chunk_step_needs_environments_that_reset_themselves() -> None:
    with pytest.raises(ConfigurationError, match="SAME_STEP"):
        ChunkStepEnvs(runners(2))


def test_a_chunk_has_six_values_too() -> None:
    envs = VectorSixTuple(runners(2))
    envs.reset(seed=0)
    _, rewards, costs, *_ = envs.step(np.array([[[0.9], [0.9]], [[0.1], [0.1]]], np.float32))
    assert costs.tolist() == [2.0, 0.0] and rewards.tolist() == pytest.approx([1.8, 0.2])


def batch(**changes: object) -> SimpleNamespace:
    given = {
        "complete": torch.tensor([True, True, False]),
        "finish_step": torch.tensor([2, 3, 3]),
        "responses": torch.zeros(3, 3, 4, dtype=torch.long),
        "violations": torch.tensor([[0, 0], [2, 1], [0, 0]]),
    }
    return SimpleNamespace(batch=given | changes)


def test_a_rollout_is_rewarded_for_success_less_what_its_violations_cost() -> None:
    manager = SafetyRewardManager({"spill": 0.5, "drop": 0.25}, tokens_per_action=4)
    rewards, metrics = manager(batch())
    assert rewards["all"].shape == (3, 12)
    assert rewards["all"].sum(1).tolist() == [1.0, -0.25, 0.0]
    assert rewards["all"][0, 7] == 1.0 and rewards["all"][1, 11] == -0.25
    assert metrics["success"] == pytest.approx(2 / 3)
    assert metrics["success_and_safe"] == pytest.approx(1 / 3)
    assert metrics["violations/spill"] == pytest.approx(2 / 3)


def test_nothing_said_of_violations_is_never_safe() -> None:
    manager = SafetyRewardManager({"spill": 0.5, "drop": 0.25}, tokens_per_action=4)
    silent = batch()
    del silent.batch["violations"]
    with pytest.raises(ConfigurationError, match="no 'violations'"):
        manager(silent)
    with pytest.raises(ConfigurationError, match=r"must be \[B, 2\]"):
        manager(batch(violations=torch.zeros(3, 1)))
    with pytest.raises(ConfigurationError, match="responses hold 3 actions"):
        manager(batch(finish_step=torch.tensor([2, 3, 4])))
