"""The best policy of a run: evaluated apart, under its limits, and the same after a resume."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import gymnasium as gym
import torch

import safe_rl.envs  # noqa: F401
from safe_rl.algos import (
    BestPolicyCallback,
    CheckpointCallback,
    PPOLagrangian,
    VectorEnvAdapter,
    best_checkpoint,
    latest_checkpoint,
)
from safe_rl.algos.selection import Evaluated, Selection, best_in
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.wrappers import VectorProductMDP


def kitchen() -> VectorEnvAdapter:
    return VectorEnvAdapter(
        VectorProductMDP(
            gym.make_vec(
                "safe_rl/KitchenGrid-v0",
                8,
                vectorization_mode="vector_entry_point",
                observation="features",
            ),
            "kitchen",
        )
    )


def learner(**arguments) -> PPOLagrangian:
    return PPOLagrangian(
        "MlpPolicy", kitchen(), n_steps=16, batch_size=64, n_epochs=1, seed=0, device="cpu",
        policy_average=0.9, **arguments,
    )  # fmt: skip


def selector(folder, **arguments) -> BestPolicyCallback:
    return BestPolicyCallback(kitchen(), folder, every=2, after=2, episodes=40, **arguments)


def found(returns: float, excess: float) -> Evaluated:
    return Evaluated(0, returns, (), (), excess)


@pytest.mark.parametrize(
    ("one", "other", "better"),
    [
        (found(1.0, 0.0), None, True),
        (found(1.0, 0.0), found(9.0, 0.1), True),
        (found(9.0, 0.1), found(1.0, 0.0), False),
        (found(2.0, 0.0), found(1.0, 0.0), True),
        (found(1.0, 0.2), found(9.0, 0.3), True),
        (found(1.0, 0.0), found(1.0, 0.0), False),
    ],
)
def test_limits_come_before_returns(one, other, better):
    assert one.better_than(other) is better


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_files_without_an_evaluation_are_removed_and_no_others(tmp_path, suffix):
    selection = Selection(tmp_path, suffix, 0)
    for steps, returns in ((10, 1.0), (20, 2.0), (30, 3.0)):
        selection.add(Evaluated(steps, returns, (), (), 0.0), Path.touch)
    (tmp_path / "best_of_all.txt").touch()
    (tmp_path / f"best_{40:012d}.half-written").mkdir()
    resumed = Selection(tmp_path, suffix, 20)
    assert [found.timesteps for found in resumed.evaluations] == [10, 20]
    assert sorted(path.name for path in tmp_path.glob("best*")) == [
        f"best_{10:012d}{suffix}",
        f"best_{20:012d}{suffix}",
        "best_of_all.txt",
    ]
    assert best_in(tmp_path, suffix) == tmp_path / f"best_{20:012d}{suffix}"
    resumed.prune()
    assert sorted(path.name for path in tmp_path.glob("best*")) == [
        f"best_{20:012d}{suffix}",
        "best_of_all.txt",
    ]


def test_the_training_is_not_disturbed(tmp_path):
    plain = learner().learn(8 * 16 * 6)
    watched = learner().learn(8 * 16 * 6, callback=selector(tmp_path))
    for one, other in zip(plain.policy.parameters(), watched.policy.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_is_measured_is_what_the_kept_policy_does(tmp_path):
    model = learner()
    callback = selector(tmp_path)
    model.learn(8 * 16 * 6, callback=callback)
    rows = json.loads((tmp_path / "evaluations.json").read_text())
    assert [row["timesteps"] for row in rows] == [256, 512, 768]
    best = best_checkpoint(tmp_path)
    assert [path.name for path in tmp_path.glob("*.zip")] == [best.name]
    kept = PPOLagrangian.load(best, device="cpu")
    callback.init_callback(kept)
    callback.num_timesteps = callback.selection.best.timesteps
    again = callback.evaluate()
    assert again == callback.selection.best
    means, errors = np.array(again.costs), np.array(again.errors)
    limits, scales = np.array(kept.constraints.limits), np.array(kept.constraints.scales)
    assert again.excess == pytest.approx(max(0.0, ((means + errors - limits) / scales).max()))


def test_a_resumed_run_keeps_the_same_policy(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder, steps in ((whole, 8 * 16 * 8), (cut, 8 * 16 * 6)):
        learner().learn(
            steps, callback=[selector(folder), CheckpointCallback(folder, every=4, keep=None)]
        )
    # as if killed after iteration 6: its evaluations of 6 stand, the newest checkpoint is of 4
    (cut / f"checkpoint_{8 * 16 * 6:012d}.zip").unlink()
    model = PPOLagrangian.load(latest_checkpoint(cut), kitchen(), device="cpu")
    assert model.num_timesteps == 8 * 16 * 4
    model.learn(8 * 16 * 4, callback=selector(cut), reset_num_timesteps=False)
    assert (whole / "evaluations.json").read_text() == (cut / "evaluations.json").read_text()
    assert best_checkpoint(whole).name == best_checkpoint(cut).name


def test_wrong_input_is_one_clear_error(tmp_path):
    with pytest.raises(ConfigurationError, match="every must be at least 1"):
        BestPolicyCallback(kitchen(), tmp_path, every=0)
    assert best_checkpoint(tmp_path / "missing") is None
    (tmp_path / "evaluations.json").write_text("[{]")
    with pytest.raises(CheckpointError, match="damaged"):
        learner().learn(256, callback=selector(tmp_path))
