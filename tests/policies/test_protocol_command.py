"""``eval.py`` with ManiGuard's protocol: here, behind a server, and what it refuses."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest

pytest.importorskip("hydra")
torch = pytest.importorskip("torch")
pytest.importorskip("websockets")

from hydra import compose, initialize_config_module
from typer.testing import CliRunner

from safe_rl.cli import app
from safe_rl.cli.building import check_importable
from safe_rl.cli.protocol import under_protocol
from safe_rl.cli.scoring import evaluate
from safe_rl.cli.settings import EvalSettings, checked, register_resolvers
from safe_rl.data import Episode, save_episodes
from safe_rl.errors import ConfigurationError, SpecificationError
from safe_rl.policies.openpi import PolicyServer, vla_served
from safe_rl.policies.vla import VLA, VLAConfig, VLAPolicy, load_vla, save_vla
from tests.evaluation.reach import Reach

gymnasium.register("tests/Reach-v0", Reach)
RULES = """
- id: no_hit
  formula: G !hit
  trigger: touch
  recovery: F !hit
  says: Do not hit it.
"""


def _settings(*overrides: str) -> EvalSettings:
    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return checked(compose("eval", list(overrides)), EvalSettings)


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> tuple[str, ...]:
    """The settings of an evaluation of the walk."""
    rules = tmp_path_factory.mktemp("specs") / "rules.yaml"
    rules.write_text(RULES)
    return (
        "env=gym", "env.id=tests/Reach-v0", "env.num_envs=2", "+env.protocol_kwargs={}",
        "specs=file", f"specs.source={rules}", "eval=maniguard", "eval.episodes=3",
        "eval.policy_seeds=[4,5]", "eval.resamples=0",
    )  # fmt: skip


def _report(folder: Path, *overrides: str) -> dict:
    settings = _settings(f"output={folder}", *overrides)
    evaluate(settings, lambda env: check_importable(env, []))
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> Path:
    torch.manual_seed(0)
    config = VLAConfig(1, 1, 8, width=16, layers=2, log_std=0.0)
    return save_vla(VLA(config), tmp_path_factory.mktemp("policy"), {"prompt": "words"})


def test_here_and_behind_a_server_the_numbers_are_the_same(walk, policy, tmp_path) -> None:
    here = _report(tmp_path / "here", *walk, f"checkpoint={policy}")
    model, info = load_vla(policy)
    server = PolicyServer(vla_served(VLAPolicy(model), info))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    there = _report(tmp_path / "there", *walk, "policy=served", f"served.address={server.address}")
    server.close()
    assert here["protocol"] == there["protocol"]
    assert here["policies"][0]["return"] == there["policies"][0]["return"]
    settings = here["policies"][0]["settings"]
    assert settings["prompt"] == "words" and settings["play"] == 8
    assert here["protocol"]["policy_seeds"] == [4, 5]
    assert here["policies"][0]["episodes"] == 6
    other = _report(tmp_path / "other", *walk, f"checkpoint={policy}", "eval.prompt=none")
    assert other["policies"][0]["return"] != here["policies"][0]["return"]
    table = CliRunner().invoke(
        app, ["compare", *(str(tmp_path / name / "report.json") for name in ("here", "other"))]
    )
    assert table.exit_code == 0 and "SSR" in table.output


def test_horizons_of_demonstrations(tmp_path) -> None:
    def demonstration(steps: int, success: bool) -> Episode:
        return Episode(
            propositions=("a",), letters=np.zeros((steps + 1, 1), bool), rewards=np.zeros(steps),
            terminated=success, truncated=not success, success=success,
        )  # fmt: skip

    file = tmp_path / "own.episodes.npz"
    save_episodes(
        file, [demonstration(40, True), demonstration(31, True), demonstration(99, False)]
    )
    for env, where in (("robosuite/stack", "horizon"), ("tabletop/lift", None)):
        settings = _settings(
            f"env={env}", "eval=maniguard", "policy=random", f"eval.demonstrations={file}"
        )
        found = under_protocol(settings.env, settings.eval)
        assert (found.kwargs[where] if where else found.max_episode_steps) == 60
    assert under_protocol(settings.env, _settings("eval=maniguard").eval).max_episode_steps is None


@pytest.mark.parametrize(
    "env",
    [
        *(f"robosuite/{task}" for task in ("lift", "stack", "pick_place", "door")),
        *(f"libero/libero_{suite}" for suite in ("goal", "10")),
    ],
)
def test_presets_hold_the_goal_for_ten_steps(env: str) -> None:
    settings = _settings(f"env={env}", "eval=maniguard")
    kwargs = under_protocol(settings.env, settings.eval).kwargs
    assert kwargs["terminate_on_success"] is True and kwargs["success_steps"] == 10
    assert kwargs["horizon"] > 100


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("env=kitchen_grid", "specs=kitchen", "policy=random", "eval=maniguard"), "10 steps"),
        (("walk", "eval.play=9"), "eval.play=8 or less"),
        (("walk", "eval.prompt=formula"), "eval.prompt is 'formula'"),
        (("walk", "eval.policy_seeds=[]"), "at least one seed"),
        (("alone", "eval=maniguard"), "belongs to no run"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(
    walk, policy, tmp_path, overrides, words: str
) -> None:
    own = {"walk": (*walk, f"checkpoint={policy}"), "alone": (f"checkpoint={policy}",)}
    first, *more = overrides
    overrides = (*own.get(first, (first,)), *more)
    with pytest.raises((ConfigurationError, SpecificationError), match=words):
        settings = _settings(*overrides, f"output={tmp_path}")
        evaluate(settings, lambda env: check_importable(env, []))


def test_studies_are_configuration_files(tmp_path) -> None:
    from safe_rl.cli.imitate import ImitateSettings, typed

    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        for study, key in (("scaling", "limit_episodes"), ("prompts", "prompt")):
            composed = compose(
                "imitate", [f"+study={study}", "dataset=x"], return_hydra_config=True
            )
            assert str(composed.hydra.mode) == "RunMode.MULTIRUN"
            swept = composed.hydra.sweeper.params[key].split(",")
            evaluated = compose("eval", [f"+study={study}_eval"], return_hydra_config=True)
            folders = evaluated.hydra.sweeper.params.checkpoint.split(",")
            outputs = []
            for value in swept:
                own = compose("imitate", [f"+study={study}", "dataset=x", f"{key}={value.strip()}"])
                outputs.append(typed(own, ImitateSettings).output)
            assert outputs == [folder.strip() for folder in folders]
            assert evaluated.eval.protocol == "maniguard"


def test_only_reports_of_the_protocol_are_compared(tmp_path) -> None:
    (tmp_path / "report.json").write_text("{}")
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "report.json")])
    assert result.exit_code == 2
    assert "eval=maniguard" in result.output
