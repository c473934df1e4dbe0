"""A policy trained under the limits: its evaluation and an audit of its episodes count the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from safe_rl.cli import app

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]

# numpy: compiling takes longer than the few hundred steps of these tests.
NUMPY = "+env.kwargs.backend=numpy"
DOOR = ["env=robosuite/door", "specs=safemanip", NUMPY, "+env.kwargs.horizon=60"]
BOWL = ["env=libero/libero_goal", NUMPY, "+env.kwargs.horizon=150"]


def composed(name: str, overrides: list[str], kind: type[Any]) -> Any:
    from hydra import compose, initialize_config_module

    from safe_rl.cli.settings import checked, register_resolvers

    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return checked(compose(name, overrides), kind)


def rows(report: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report.read_text())["policies"][0]
    return found


@pytest.mark.libero
def test_libero_trains_and_its_evaluation_is_audited_to_the_same_counts(tmp_path: Path) -> None:
    pytest.importorskip("hydra")
    pytest.importorskip("stable_baselines3")
    from safe_rl.cli.scoring import evaluate
    from safe_rl.cli.settings import EvalSettings, TrainSettings
    from safe_rl.cli.training import train

    run = tmp_path / "run"
    learning = ["algo.total_timesteps=192", "algo.n_steps=48", "algo.batch_size=48", "seed=1"]
    overrides = [*BOWL, *learning, f"run_dir={run}", "tensorboard=false"]
    settings = composed("train", overrides, TrainSettings)
    finished = train(settings, say=lambda line: None)
    metrics = (run / "metrics.jsonl").read_text().splitlines()
    limited = {spec for spec, limit in settings.specs.limits.items() if limit is not None}
    told = json.loads(metrics[-1])
    assert all(any(spec in key for key in told) for spec in limited), sorted(told)

    overrides = [f"checkpoint={finished.folder}", "eval=quick", "eval.episodes=3"]
    overrides += ["eval.record=true", f"output={tmp_path / 'eval'}"]
    evaluate(composed("eval", overrides, EvalSettings), lambda env: None)
    words = ["audit", tmp_path / "eval" / "episodes", "--specs", "safemanip"]
    words += ["--out", tmp_path / "audit", "--resamples", "500"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    live, audited = (
        rows(tmp_path / "eval" / "report.json"),
        rows(tmp_path / "audit" / "report.json"),
    )
    assert live["pooled"]["N"] > 0
    for key in ("specifications", "categories", "pooled", "outcomes", "return"):
        assert live[key] == audited[key], key


def test_the_cost_of_a_limit_per_trigger_reaches_the_learner() -> None:
    from safe_rl.cli.building import build_product, build_specs
    from safe_rl.cli.policies import ScriptedPolicyAdapter
    from safe_rl.cli.settings import TrainSettings

    settings = composed("train", DOOR, TrainSettings)
    product = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=1)
    policy = ScriptedPolicyAdapter(product, "careful")
    names = [constraint.id for constraint in product.constraints]
    place = names.index("open_close_preconditions_safe")
    assert product.constraints[place].kind == "per_trigger"
    observations, _ = product.reset(seed=0)
    paid, start = np.zeros(len(names)), np.array([True])
    for _ in range(60):
        observations, _, terminated, truncated, infos = product.step(
            policy.act(observations, start)
        )
        start = np.array([False])
        paid += infos["constraint_costs"][0]
        if terminated[0] or truncated[0]:
            break
    counts = infos["safety"]["counts"]
    own = [i.specification.id == names[place] for i in product.specs.instances]
    triggered, violated = counts["N"][0][own].sum(), counts["V"][0][own].sum()
    assert triggered >= 1
    limit = settings.specs.limits["open_close_preconditions_safe"].value
    assert paid[place] == pytest.approx(violated - limit * triggered)
    product.close()
