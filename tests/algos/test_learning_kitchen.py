"""Constrained PPO against the linear programme on KitchenGrid, over several seeds, by each learner.

All four limits of the shipped specifications hold at once: one per trigger, one on a probability,
two per episode. The best policies that the runs kept are solved for, not sampled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hydra")
pytest.importorskip("scipy")
from tests.algos import kitchen_run

SEEDS = {"ppo_lagrangian": range(2), "ppo_lagrangian_jax": range(2)}
"""Of each preset; five of each have been run by hand (docs/benchmarks.md)."""
PACKAGES = {"ppo_lagrangian": "stable_baselines3", "ppo_lagrangian_jax": "jax"}

Results = dict[int, dict[str, Any]]
"""By seed; see :mod:`tests.algos.kitchen_run`."""


@pytest.fixture(scope="module", params=list(SEEDS))
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Train with the preset, two runs at a time, each on one thread."""
    algo: str = request.param
    pytest.importorskip(PACKAGES[algo])
    folder = tmp_path_factory.mktemp(algo)
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}

    def run(seed: int) -> dict[str, Any]:
        command = [sys.executable, "-m", kitchen_run.__name__, str(seed), str(folder), algo]
        subprocess.run(command, env=environment, cwd=root, check=True)
        result: dict[str, Any] = json.loads((folder / f"exact_{seed}.json").read_text())
        share = result["return"] / result["optimum"]
        print(f"{algo}, seed {seed}: {share:.3f} of the optimum", result)
        return result

    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(SEEDS[algo], pool.map(run, SEEDS[algo]), strict=True))


@pytest.mark.slow
def test_mean_return_is_close_to_the_constrained_optimum(results: Results) -> None:
    ratios = [result["return"] / result["optimum"] for result in results.values()]
    assert sum(ratios) / len(ratios) >= 0.95, ratios


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["episode", "probability", "per_trigger"])
def test_each_limit_is_met_within_five_percent(results: Results, kind: str) -> None:
    found = [
        (seed, row["id"], row["value"] / row["limit"])
        for seed, result in results.items()
        for row in result["limits"]
        if row["kind"] == kind
    ]
    assert len(found) == len(results) * (2 if kind == "episode" else 1)
    assert all(ratio <= 1.05 for _, _, ratio in found), found


@pytest.mark.slow
def test_what_is_scored_is_the_policy_that_the_run_kept(results: Results) -> None:
    assert all(result["policy"].startswith("best_") for result in results.values()), results
