"""Constrained PPO on the device: sums, limits, logs, normalisers, optimum, refused arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
from safe_rl.algos import PID, ProjectedGradient
from safe_rl.algos.jax import PPOLagrangian
from safe_rl.algos.jax.record import ProgressWriter, TensorBoardWriter
from safe_rl.algos.progress import read_progress
from safe_rl.errors import ConfigurationError
from tests.algos.jax.analytic_products import ChoiceProduct, ScriptedProduct

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "n_steps": 8,
    "batch_size": 16,
    "n_epochs": 1,
    "net_arch": [8],
    "policy_average": 0.9,
}


def rows_of(model: PPOLagrangian, iterations: int, **options: Any) -> list[dict[str, float]]:
    rows: list[dict[str, float]] = []
    size = model.arguments.rollout_size
    model.learn(iterations * size, on_row=lambda run, step, row: rows.append(row), **options)
    return rows


def test_rows_hold_what_the_episodes_did(tmp_path: Path) -> None:
    """omnisafe 365, FSRL: one multiplier and one head per constraint. Sums are exact.

    omnisafe 384, 285: an iteration in which no episode ends moves nothing, and is no nan.
    """
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    product = ScriptedProduct(length=20, kind="per_trigger")
    product.constraints[0].threshold = 200.0
    model = PPOLagrangian(
        product, controller=ProjectedGradient(lr=0.01), multiplier_min_episodes=5, **SMALL
    )
    writers = [ProgressWriter(tmp_path / "progress.jsonl"), TensorBoardWriter(tmp_path)]
    rows = rows_of(model, 5, writers=writers, progress_bar=True)
    for writer in writers:
        writer.close()
    costs = [sum(10.0 + t for t in range(20)), sum(100.0 * t for t in range(20))]
    assert [row["rollout/episodes"] for row in rows] == [0, 0, 4, 4, 8]
    for row in rows[:2]:
        assert not any(name.startswith(("cost/", "violation/", "ratio/")) for name in row)
        assert row["lambda/second"] == 0.0
    assert "violation/first" not in rows[3]  # 4 episodes wait for a fifth
    assert rows[3]["cost/first"] == costs[0]
    last = rows[4]
    assert [last["cost/first"], last["cost/second"]] == costs
    assert last["violation/first"] == costs[0] - 200.0
    assert last["limit/second"] == 1200.0
    np.testing.assert_allclose(model.multipliers, 0.01 * (np.array(costs) - [200.0, 1200.0]))
    assert last["lambda/first"] == model.multipliers[0]
    assert last["rollout/ep_rew_mean"] == sum(range(1, 21))
    assert last["rollout/ep_len_mean"] == 20.0
    assert last["rollout/success_rate"] == 1.0
    assert last["ratio/first"] == 0.5
    assert "ratio/second" not in last
    assert last["time/total_timesteps"] == 5 * 32 == model.num_timesteps
    assert np.isfinite(list(last.values())).all()
    written = read_progress(tmp_path / "progress.jsonl")
    assert written[-1] == {"step": 160, **json.loads(json.dumps(last))}
    found = events.EventAccumulator(str(tmp_path))
    found.Reload()
    assert {"lambda/first", "cost/second", "train/value_loss"} <= set(found.Tags()["scalars"])


@pytest.mark.parametrize("relative", [False, True])
def test_margin_and_relative_violations(relative: bool) -> None:
    model = PPOLagrangian(
        ScriptedProduct(length=4, staggered=True),
        controller=ProjectedGradient(lr=0.5, initial=1000.0),
        limit_margin=0.1,
        relative_violations=relative,
        **SMALL,
    )
    assert len(model.runs) == 1
    ended = _ended(count=2, costs=[2 * 46.0, 2 * 600.0])
    model.runs[0].take(ended, 0.0, {})
    violations = np.array([46 - 0.9 * 23, 600 - 0.9 * 1200])
    if relative:
        violations = violations / [23, 1200]
    np.testing.assert_allclose(model.multipliers, 1000.0 + 0.5 * violations)


def _ended(count: int, costs: list[float]) -> Any:
    from safe_rl.algos.jax.state import EndedEpisodes

    none = np.zeros(2, np.int32)
    return EndedEpisodes(count, 0.0, 0, 0, np.asarray(costs), none, none)


def test_box_actions_under_normalisers() -> None:
    """Rewards and observations are normalised, costs are not; actions stay within the bounds."""
    model = PPOLagrangian(
        ScriptedProduct(length=4, truncates=True, action="box", staggered=True),
        normalize_observations=True,
        normalize_rewards=True,
        share_cost_trunk=True,
        stats_window_size=8,
        **{**SMALL, "gamma": 0.5, "batch_size": 32},
    )
    row = rows_of(model, 3)[-1]
    assert row["cost/first"] == 46.0
    assert row["rollout/ep_rew_mean"] == 10.0
    assert row["train/std"] == pytest.approx(1.0, abs=0.01)
    shared = model.state.shared
    # Environments start at different steps, so all steps are seen equally often.
    np.testing.assert_allclose(shared.observations.mean[0], 1.5, atol=1e-3)
    np.testing.assert_allclose(shared.observations.variance[0], 1.25, rtol=1e-3)
    # The discounted return goes 1, 2.5, 4.25, 6.125 but for the first, cut episodes.
    assert float(shared.returns.number) == pytest.approx(96.0, abs=0.01)
    assert 2.5 < float(shared.returns.mean) < 3.6
    policy = model.policy(averaged=False)
    observations = np.array([[1.0, 0.5], [100.0, -3.0]])
    actions = policy.act(observations)
    assert actions.dtype == np.float32 and actions.shape == (2, 2)
    assert all(model.product.action_space.contains(action) for action in actions)
    mode = policy.act(observations, deterministic=True)
    np.testing.assert_array_equal(mode, policy.act(observations, deterministic=True))
    with pytest.raises(ConfigurationError, match="for Discrete actions"):
        policy.action_probabilities(observations)
    with pytest.raises(ConfigurationError, match=r"observations \[n, 2\], got the shape \(2,\)"):
        policy.act(observations[0])


def test_without_constraints_it_is_ppo() -> None:
    tiny = {**SMALL, "net_arch": [], "policy_average": 0.0, "batch_size": 32}
    model = PPOLagrangian(ChoiceProduct(), cost_limits=[], **tiny)
    row = rows_of(model, 1)[0]
    assert model.multipliers.shape == (0,)
    assert model.state.shared.params.keys() == {"actor", "critic"}
    assert not any(name.startswith(("cost/", "lambda/", "train/cost")) for name in row)


@pytest.mark.slow
def test_finds_the_constrained_optimum_and_its_multiplier() -> None:
    """Take the costly action with probability d; the price of cost is 1 (see ChoiceProduct).

    With the entropy bonus ``a``, in units of reward, the optimum at the multiplier ``l`` has
    ``1 - l = a log(p / (1 - p))``, so that ``p = d`` holds at ``l = 1 - a log(d / (1 - d))``.
    """
    limit, bonus = 0.3, 0.1
    model = PPOLagrangian(
        ChoiceProduct(limit),
        num_envs=128,
        n_steps=4,
        batch_size=256,
        n_epochs=4,
        gamma=1.0,
        learning_rate=(5e-3, 5e-4),
        ent_coef=bonus,
        controller=PID(kp=0.2, ki=0.05, smoothing=0.5, final_fraction=0.2),
        policy_average=0.95,
        net_arch=[16],
        seed=[0, 1],
    )
    rows: list[dict[str, float]] = []
    model.learn(512 * 120, on_row=lambda run, step, row: rows.append(row))
    price = 1.0 - bonus * np.log(limit / (1.0 - limit))
    for run in range(2):
        for averaged in (False, True):
            policy = model.policy(averaged=averaged, run=run)
            probability = policy.action_probabilities(np.ones((1, 1)))[0, 1]
            assert probability == pytest.approx(limit, abs=0.05)
        assert model.multipliers[run, 0] == pytest.approx(price, abs=0.1)
    drawn = policy.act(np.ones((4000, 1)), rng=np.random.default_rng(0))
    assert drawn.dtype == np.int64
    assert drawn.mean() == pytest.approx(probability, abs=0.04)
    assert rows[-1]["cost/choice"] == pytest.approx(limit, abs=0.06)


def test_limits_come_from_the_product() -> None:
    model = PPOLagrangian(ScriptedProduct(), **SMALL)
    assert model.constraints.ids == ("first", "second")
    assert model.constraints.limits == (23.0, 1200.0)
    partly = PPOLagrangian(ScriptedProduct(), cost_limits={"second": 5.0}, **SMALL)
    assert partly.constraints.limits == (23.0, 5.0)
    with pytest.raises(ConfigurationError, match="did you mean 'first'"):
        PPOLagrangian(ScriptedProduct(), cost_limits={"fist": 1.0}, **SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"batch_size": 15},
            "batch_size=15 does not divide a rollout.*the nearest that does is 16",
        ),
        ({"batch_size": 64}, "batch_size=64 does not divide .* = 8 . 4 = 32"),
        ({"n_epochs": 0}, "n_epochs must be at least 1; got 0"),
        ({"cost_gamma": 1.5}, "cost_gamma must be between 0 and 1; got 1.5"),
        ({"policy_average": 1.0}, "policy_average must be at least 0 and below 1"),
        ({"target_kl": 0.01}, "target_kl must be null here"),
        ({"learning_rate": "fast"}, "learning_rate must be a number"),
        ({"learning_rate": lambda remaining: remaining}, "cannot hold a function"),
        ({"net_arc": [4]}, "no argument 'net_arc'; did you mean 'net_arch'"),
        ({"controller": "pidd"}, "no controller 'pidd'; did you mean 'pid'"),
        ({"controller": PID(), "controller_kwargs": {"kp": 1.0}}, "would be ignored"),
        ({"shards": 3}, "num_envs=4 cannot be split evenly over 3"),
        ({"seed": [1, 1]}, "seeds must differ"),
        ({"cost_limits": [1.0]}, "gives 1 limits"),
    ],
)
def test_bad_arguments_are_clear_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        PPOLagrangian(ScriptedProduct(), **{**SMALL, **arguments})


def test_other_refusals() -> None:
    model = PPOLagrangian(ScriptedProduct(), **{**SMALL, "policy_average": 0.0})
    with pytest.raises(ConfigurationError, match="keeps no averaged policy"):
        model.policy(averaged=True)
    with pytest.raises(ConfigurationError, match="total_timesteps must be at least 1"):
        model.learn(0)
    several = PPOLagrangian(ScriptedProduct(), seed=[0, 1], **SMALL)
    with pytest.raises(ConfigurationError, match="2 seeds need 2 lists of writers"):
        several.learn(32, writers=[[]])
