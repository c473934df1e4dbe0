"""The best policy of a run: evaluated apart, under its limits, and the same after a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from safe_rl.algos.jax import (
    BestPolicies,
    Checkpoints,
    PPOLagrangian,
    best_checkpoint,
    latest_checkpoint,
    load_policy,
)
from safe_rl.algos.jax.selection import BestPolicyKeeper
from safe_rl.errors import CheckpointError, ConfigurationError
from tests.algos.jax.analytic_products import ChoiceProduct, ScriptedProduct
from tests.algos.jax.run_to_kill import ARGUMENTS, arrays, make_product, new_model

STEPS = 32  # of an iteration


def plan(folder: Path, **arguments: Any) -> BestPolicies:
    return BestPolicies(folder, **{"every": 2, "after": 2, "episodes": 10, **arguments})


def choosing(seed: Any = 0, **arguments: Any) -> PPOLagrangian:
    return PPOLagrangian(ChoiceProduct(), seed=seed, **{**ARGUMENTS, **arguments})


def listed(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "evaluations.json").read_text())
    return rows


def test_complete_episodes_are_counted_by_hand(tmp_path: Path) -> None:
    """Every episode has rewards 1, 2, .. 11 and costs 10 + t and 100 t for t = 0 .. 10.

    Or those of another environment, where one is given: 1, .. 5 and t = 0 .. 4.
    """
    (found,) = BestPolicyKeeper(new_model(), plan(tmp_path)).evaluate()
    assert (found.timesteps, found.returns) == (0, 66.0)
    assert (found.costs, found.errors) == ((165.0, 5500.0), (0.0, 0.0))
    constraints = new_model().constraints
    excess = (np.array(found.costs) - constraints.limits) / constraints.scales
    assert found.excess == pytest.approx(excess.max())
    keeper = BestPolicyKeeper(new_model(), plan(tmp_path), ScriptedProduct(length=5))
    assert (keeper.evaluate()[0].returns, keeper.evaluate()[0].costs) == (15.0, (60.0, 1000.0))


def test_every_environment_runs_an_equal_share() -> None:
    assert BestPolicies("unused", episodes=10).shares(4).tolist() == [3, 3, 2, 2]
    assert BestPolicies("unused", episodes=2).shares(3).tolist() == [1, 1, 0]


def test_what_is_measured_is_what_the_kept_policy_does(tmp_path: Path) -> None:
    model = choosing()
    model.learn(8 * STEPS, best=plan(tmp_path, episodes=4000))
    rows = listed(tmp_path)
    assert [row["timesteps"] for row in rows] == [2 * STEPS, 4 * STEPS, 6 * STEPS, 8 * STEPS]
    within = [row for row in rows if row["excess"] == 0.0]
    best = (
        max(within, key=lambda row: row["returns"])
        if within
        else min(rows, key=lambda row: row["excess"])
    )
    path = best_checkpoint(tmp_path)
    assert path is not None
    assert [entry.name for entry in tmp_path.glob("best_*")] == [path.name]
    assert path.name == f"best_{best['timesteps']:012d}"
    # Action 1 earns 1 and costs 1, so return and cost are its probability.
    chance = load_policy(path).action_probabilities(np.ones((1, 1)))[0, 1]
    assert best["returns"] == pytest.approx(best["costs"][0])
    assert best["errors"][0] == pytest.approx(np.sqrt(chance * (1 - chance) / 4000), rel=0.2)
    assert abs(best["returns"] - chance) < 5 * best["errors"][0]


def test_the_training_is_not_disturbed(tmp_path: Path) -> None:
    plain, watched = choosing(), choosing()
    plain.learn(4 * STEPS)
    watched.learn(4 * STEPS, best=plan(tmp_path, every=1, after=0))
    own = arrays(watched)
    for name, value in arrays(plain).items():
        np.testing.assert_array_equal(value, own[name], err_msg=name)


def test_a_resumed_run_keeps_the_same_policy(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"

    class Killed(Exception):
        pass

    def kill(run: int, step: int, row: Any) -> None:
        if step == 6 * STEPS:
            raise Killed

    choosing().learn(8 * STEPS, best=plan(whole))
    with pytest.raises(Killed):
        choosing().learn(
            8 * STEPS, best=plan(cut), checkpoints=Checkpoints(cut, every=4), on_row=kill
        )
    # killed after the evaluation of iteration 6; the newest checkpoint is of 4
    assert [row["timesteps"] for row in listed(cut)] == [2 * STEPS, 4 * STEPS, 6 * STEPS]
    (cut / f"best_{6 * STEPS:012d}.orbax-checkpoint-tmp").mkdir(exist_ok=True)
    newest = latest_checkpoint(cut)
    assert newest is not None and newest.name == f"checkpoint_{4 * STEPS:012d}"
    resumed = PPOLagrangian.load(newest, ChoiceProduct())
    resumed.resume(best=plan(cut))
    assert listed(cut) == listed(whole)
    one, other = best_checkpoint(whole), best_checkpoint(cut)
    assert one is not None and other is not None and one.name == other.name
    assert len(list(cut.glob("best_*"))) == 1
    ones = np.ones((1, 1))
    np.testing.assert_array_equal(
        load_policy(one).action_probabilities(ones), load_policy(other).action_probabilities(ones)
    )


@pytest.mark.slow
def test_each_of_several_runs_keeps_its_own(tmp_path: Path) -> None:
    """As the run of that seed alone does, up to the rounding of batched products."""
    choosing(seed=[3, 4]).learn(4 * STEPS, best=plan(tmp_path, episodes=4000))
    found = []
    for seed in (3, 4):
        folder = tmp_path / f"alone_{seed}"
        choosing(seed=seed).learn(4 * STEPS, best=plan(folder, episodes=4000))
        own, alone = tmp_path / f"seed_{seed}", folder
        assert [row["returns"] for row in listed(own)] == pytest.approx(
            [row["returns"] for row in listed(alone)], abs=2e-3
        )
        one, other = best_checkpoint(own), best_checkpoint(alone)
        assert one is not None and other is not None and one.name == other.name
        found.append(load_policy(one).action_probabilities(np.ones((1, 1)))[0, 1])
        expected = load_policy(other).action_probabilities(np.ones((1, 1)))[0, 1]
        assert found[-1] == pytest.approx(expected, abs=1e-4)
    assert found[0] != pytest.approx(found[1], abs=1e-3)


def test_wrong_input_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="every must be at least 1"):
        plan(tmp_path, every=0)
    assert best_checkpoint(tmp_path / "missing") is None
    choosing().learn(2 * STEPS, best=plan(tmp_path), checkpoints=Checkpoints(tmp_path))
    best = best_checkpoint(tmp_path)
    assert best is not None
    with pytest.raises(CheckpointError, match="a policy to act with.*checkpoint_0000000000"):
        PPOLagrangian.load(best, make_product())
    (tmp_path / "evaluations.json").write_text("[{]")
    with pytest.raises(CheckpointError, match="damaged"):
        choosing().learn(2 * STEPS, best=plan(tmp_path))
