"""The demo, and the exact scores that it sets beside the sampled ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("hydra")
pytest.importorskip("jax")
pytest.importorskip("scipy")
pytest.importorskip("stable_baselines3")

import torch
from PIL import Image
from typer.testing import CliRunner

from safe_rl.algos import VectorEnvAdapter
from safe_rl.algos.exact import evaluate_policy, product_cmdp, solve_lp
from safe_rl.cli import app
from safe_rl.cli.backends.torch_backend import TorchPolicy, build_model
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.demo import compose
from safe_rl.cli.exact_scores import ExactLimit, TablePolicy, exact_limits, policy_table
from safe_rl.evaluation import RandomPolicy, roll_out, score


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    settings = compose("ppo_lagrangian", 0, tmp_path_factory.mktemp("demo"), None)
    product = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=64)
    cmdp = product_cmdp(product.unwrapped.model, product.specs)
    yield settings, product, cmdp
    product.close()


def test_the_table_of_a_network_is_what_the_network_does(kitchen):
    """Exact scores are of the policy that was trained: same observation, same probabilities."""
    settings, product, cmdp = kitchen
    settings.algo.n_steps, settings.algo.batch_size = 8, 64
    model = build_model(settings.algo, VectorEnvAdapter(product), seed=3)
    with torch.no_grad():  # far from uniform, so that a wrong observation would show
        model.policy.action_net.weight.mul_(1000.0)
    table = policy_table(TorchPolicy(model, product, False), product, cmdp)
    random = RandomPolicy(product, 1)
    observations, _ = product.reset(seed=5)
    memory = cmdp.memory.shape[1]
    for _ in range(60):
        states = cmdp.indices(
            product.unwrapped.state_indices,
            product.episodes.state.automaton,
            observations[:, observations.shape[1] - memory :],
        )
        with torch.no_grad():
            tensor, _ = model.policy.obs_to_tensor(observations)
            shown = model.policy.get_distribution(tensor).distribution.probs.numpy()
        np.testing.assert_allclose(table[states], shown, atol=1e-5)
        observations = product.step(random.act(observations, np.zeros(64, bool)))[0]
    assert table.max(axis=1).mean() > 0.5


def test_the_sampled_optimum_agrees_with_the_exact_one(kitchen):
    """Linear programme, transition model, wrapper, monitors and metrics tell one story."""
    _, product, cmdp = kitchen
    solution = solve_lp(cmdp)
    policy = TablePolicy(solution.policy, product, cmdp, seed=0)
    records = roll_out(product, policy, 6000, seed=2).records
    scores = score(records, product.constraints, confidence=0.999)
    assert scores.returns.low < solution.value < scores.returns.high
    for row, limit in zip(
        scores.constraints, exact_limits(cmdp, evaluate_policy(cmdp, solution.policy)), strict=True
    ):
        assert limit.met
        assert row.measured.low < limit.value < row.measured.high
    np.testing.assert_allclose(
        records.costs.mean(axis=0),
        solution.constraint_values,
        atol=4 * (records.costs.std(axis=0) / np.sqrt(len(records))).max(),
    )


@pytest.mark.parametrize(
    ("value", "met", "near"),
    [(0.1, True, True), (0.104, False, True), (0.106, False, False), (None, None, None)],
)
def test_a_limit_is_met_exactly_or_within_five_percent(value, met, near):
    limit = ExactLimit("x", "episode", 0.1, value)
    assert (limit.met, limit.within_tolerance) == (met, near)


@pytest.mark.slow
def test_the_demo_from_end_to_end(tmp_path):
    """Every part of the report is there."""
    arguments = ["demo", "--timesteps", "10000", "--episodes", "200", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for words in ("unconstrained PPO", "PPO-Lagrangian", "LP optimum", "V/N", "return per episode"):
        assert words in result.output
    kitchen, table = tmp_path / "kitchen_grid", tmp_path / "tabletop" / "place"
    for name in ("report.json", "learning_curves.png", "per_trigger.png", "timeline.png"):
        assert (kitchen / name).stat().st_size > 1000
    document = json.loads((kitchen / "report.json").read_text())
    names = [policy["policy"] for policy in document["policies"]]
    assert names == ["unconstrained PPO", "PPO-Lagrangian", "LP optimum"]
    optimum = document["exact"]["LP optimum"]
    assert all(limit["met"] for limit in optimum["limits"])
    assert optimum["return"] >= document["exact"]["PPO-Lagrangian"]["return"] - 0.2
    assert len(json.loads((table / "report.json").read_text())["policies"]) == 2
    with Image.open(table / "film.gif") as film:
        assert film.n_frames > 10
        assert film.width == 640  # two episodes side by side
    assert len(list(tmp_path.rglob("metrics.jsonl"))) == 4
