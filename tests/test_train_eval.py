"""`train.py` and `eval.py`: settings, errors, resuming, and the report, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hydra")
pytest.importorskip("stable_baselines3")

from hydra import compose, initialize_config_module

from safe_rl.algos.torch.progress import read_progress
from safe_rl.cli.building import build_specs, check_importable
from safe_rl.cli.curves import draw_curves, group_labels
from safe_rl.cli.scoring import evaluate
from safe_rl.cli.settings import (
    EvalSettings,
    TrainSettings,
    checked,
    load_settings,
    register_resolvers,
)
from safe_rl.cli.training import train
from safe_rl.errors import CheckpointError, ConfigurationError, SafeRLError
from safe_rl.evaluation.records import load_records
from safe_rl.specs import Limit

ROOT = Path(__file__).resolve().parent.parent
TINY = (
    "env.num_envs=4",
    "algo.n_steps=32",
    "algo.batch_size=64",
    "algo.n_epochs=2",
    "algo.net_arch=[16]",
    "algo.multiplier_min_episodes=1",
    "checkpoint_every=256",
    "tensorboard=false",
    "progress=false",
)


def settings_of(name: str, *overrides: str):
    register_resolvers()
    kind = TrainSettings if name == "train" else EvalSettings
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return checked(compose(name, list(overrides)), kind)


def tiny(folder: Path, *overrides: str, steps: int = 512) -> TrainSettings:
    return settings_of(
        "train", *TINY, f"run_dir={folder}", f"algo.total_timesteps={steps}", *overrides
    )


def numbers(folder: Path) -> list[dict[str, object]]:
    """The log without the clock."""
    rows = read_progress(folder / "metrics.jsonl")
    return [
        {k: v for k, v in row.items() if k not in ("time/fps", "time/time_elapsed")} for row in rows
    ]


def program(name: str, *arguments: str, cwd: Path, check: bool = True):
    result = subprocess.run(
        [sys.executable, str(ROOT / name), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


# --- settings -------------------------------------------------------------------------------------


ENVS = [
    "kitchen_grid",
    "robosuite/lift",
    "robosuite/stack",
    "robosuite/door",
    "robosuite/pick_place",
    "gym",
    "libero/libero_goal",
    *(f"tabletop/{task}" for task in ("lift", "place", "stack", "drawer", "cook")),
]


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ["ppo_lagrangian", "ppo", "ppo_lagrangian_jax", "ppo_jax"])
def test_every_preset_composes(env, algo):
    extra = ["env.id=CartPole-v1"] if env == "gym" else []
    settings = settings_of("train", f"env={env}", f"algo={algo}", *extra)
    assert settings.algo.name == algo
    assert settings.algo.controller == ("pid" if "lagrangian" in algo else "unconstrained")
    assert build_specs(settings.specs).constraints


@pytest.mark.parametrize("rollout", ["default", "quick", "thorough"])
def test_every_evaluation_preset_composes(rollout):
    assert settings_of("eval", f"eval={rollout}").eval.episodes > 0


def test_robosuite_brings_its_specifications_and_the_command_line_wins():
    assert settings_of("train", "env=robosuite/stack").specs.name == "robosuite"
    assert settings_of("train", "env=robosuite/door").specs.name == "safemanip"
    assert settings_of("train", "env=robosuite/stack", "specs=kitchen").specs.name == "kitchen"


def test_limits_are_overridden_on_the_command_line():
    settings = settings_of(
        "train",
        "specs.limits.glass_held_firmly.value=0.05",
        "specs.limits.plate_before_serving=null",
        "specs.limits.reach_in_through_open_door={kind: probability, value: 0.5}",
    )
    specs = build_specs(settings.specs)
    assert specs["glass_held_firmly"].limit == Limit("per_trigger", 0.05)
    assert specs["plate_before_serving"].limit is None
    assert specs["reach_in_through_open_door"].limit == Limit("probability", 0.5)
    assert specs["wash_between_raw_and_ready"].limit == Limit("probability", 0.2)


def test_formulas_are_not_repeated_in_presets():
    for path in (ROOT / "safe_rl" / "configs").rglob("*.yaml"):
        assert "formula:" not in path.read_text()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["seed=abc"], "seed"),
        (["seed=-1"], "seed is -1"),
        (["algo.gamma=much"], "algo.gamma"),
        (["env.vectorization=synk"], "did you mean 'sync'?"),
        (["env.autoreset=never"], "env.autoreset"),
        (["env.num_envs=0"], "env.num_envs is 0"),
        (["algo.total_timesteps=0"], "algo.total_timesteps"),
        (["+algo.learning_rat=1"], "did you mean 'learning_rate'?"),
        (["+algo._target_=os.system"], "_target_"),
        (["env=gym"], "env.id has to be given"),
        (["specs=file"], "specs.source has to be given"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_settings_are_one_clear_error(overrides, words):
    with pytest.raises(ConfigurationError) as caught:
        settings_of("train", *overrides)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["specs.limits.glass_held_firmly.value=-1"], "limit value -1"),
        (["specs.limits.glass_held_firmly.kind=often"], "limit kind 'often'"),
        (["+specs.limits.glas={kind: episode, value: 1}"], "'glas'"),
        (["specs.select=[glass]"], "'glass'"),
        (["specs.source=nowhere"], "nowhere"),
        (["algo.controller=pit"], "'pit'"),
        (["algo.batch_size=1000000"], "batch_size"),
        (["algo.gamma=2"], "gamma"),
        (["env.id=NoSuch-v0", "env.vectorization=sync"], "NoSuch"),
        (["+env.kwargs.termination=7"], "termination"),
        (["resume=/nowhere"], "/nowhere"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_values_are_the_packages_own_errors(tmp_path, overrides, words):
    with pytest.raises(SafeRLError) as caught:
        train(tiny(tmp_path / "run", *overrides))
    assert words in str(caught.value)


def test_nothing_to_constrain_is_said(tmp_path):
    none = [f"specs.limits.{name}=null" for name in settings_of("train").specs.limits]
    with pytest.raises(ConfigurationError, match="nothing to constrain"):
        train(tiny(tmp_path / "run", *none))
    assert train(tiny(tmp_path / "run", *none, "algo=ppo", steps=128)).checkpoint.is_file()


def test_a_configuration_file_imports_no_code():
    """A module to import must be typed; a file that names one is refused."""
    given = ["env=gym", "env.id=CartPole-v1", "env.grounding=os:system"]
    settings = settings_of("train", *given)
    check_importable(settings.env, given)
    with pytest.raises(ConfigurationError, match="repeat it on the command line"):
        check_importable(settings.env, given[:2])
    settings = settings_of("train", "env=gym", "env.id='evil:Env-v0'")
    check_importable(settings.env, ["env=gym", "env.id='evil:Env-v0'"])
    with pytest.raises(ConfigurationError, match="imports and runs code"):
        check_importable(settings.env, [])


# --- training -------------------------------------------------------------------------------------


def test_a_run_keeps_its_settings_and_is_not_trained_twice(tmp_path, capsys):
    folder = tmp_path / "run"
    finished = train(tiny(folder))
    assert finished.resumed_at == 0
    assert finished.model.num_timesteps == 512
    assert load_settings(folder / "settings.yaml") == tiny(folder)
    assert [row["step"] for row in numbers(folder)] == [128, 256, 384, 512]
    assert {"lambda/glass_held_firmly", "cost/glass_held_firmly"} <= set(numbers(folder)[-1])
    before = numbers(folder)
    again = train(tiny(folder))
    assert "finished already" in capsys.readouterr().out
    assert again.checkpoint == finished.checkpoint
    assert numbers(folder) == before


def test_limits_reach_the_learner(tmp_path):
    finished = train(
        tiny(tmp_path / "run", "specs.limits.plate_before_serving.value=0.7", steps=128)
    )
    limits = dict(
        zip(finished.model.constraints.ids, finished.model.constraints.limits, strict=True)
    )
    assert limits["plate_before_serving"] == 0.7
    assert limits["glass_held_firmly"] == 0.0  # V - d N is bounded by zero


def test_a_longer_run_goes_on_where_a_shorter_one_ended(tmp_path):
    train(tiny(tmp_path / "run", steps=256))
    finished = train(tiny(tmp_path / "run", steps=512))
    assert finished.resumed_at == 256
    assert [row["step"] for row in numbers(tmp_path / "run")] == [128, 256, 384, 512]


def test_other_settings_need_another_folder(tmp_path):
    train(tiny(tmp_path / "run", steps=128))
    with pytest.raises(ConfigurationError, match=r"algo.gamma \(1.0, now 0.9\)"):
        train(tiny(tmp_path / "run", "algo.gamma=0.9"))
    with pytest.raises(ConfigurationError, match=r"seed \(0, now 1\)"):
        train(tiny(tmp_path / "run", "seed=1"))


def test_resume_never_sets_the_earlier_run_aside(tmp_path):
    folder = tmp_path / "run"
    train(tiny(folder, steps=128))
    train(tiny(folder, "resume=never", "seed=1", steps=128))
    assert load_settings(folder / "settings.yaml").seed == 1
    assert load_settings(folder / "earlier_1" / "settings.yaml").seed == 0
    assert len(numbers(folder)) == 1


def test_resume_from_another_run(tmp_path):
    first = train(tiny(tmp_path / "first", steps=256))
    second = train(tiny(tmp_path / "second", f"resume={tmp_path / 'first'}", steps=384))
    assert second.resumed_at == 256
    third = train(tiny(tmp_path / "third", f"resume={first.checkpoint}", steps=384))
    assert third.resumed_at == 256
    assert numbers(tmp_path / "second") == numbers(tmp_path / "third")


def test_damaged_settings_are_named(tmp_path):
    train(tiny(tmp_path / "run", steps=128))
    (tmp_path / "run" / "settings.yaml").write_text("a: [")
    with pytest.raises(ConfigurationError, match="settings.yaml"):
        train(tiny(tmp_path / "run", steps=256))


@pytest.mark.slow
def test_a_killed_run_given_again_reaches_the_same_numbers(tmp_path):
    """omnisafe 346, SafeVLA: multipliers, optimisers, counters and random states come back."""
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    common = [*TINY, "algo.total_timesteps=3840"]
    program("train.py", *common, f"run_dir={alone}", cwd=tmp_path)
    command = [sys.executable, str(ROOT / "train.py"), *common, f"run_dir={killed}"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        saved = list((killed / "checkpoints").glob("checkpoint_*.zip"))
        if saved and len(read_progress(killed / "metrics.jsonl")) >= 5:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(numbers(killed))
    assert 5 <= before < 30, "it was not killed in the middle"
    output = program("train.py", *common, f"run_dir={killed}", cwd=tmp_path).stdout
    assert "continuing from" in output
    assert numbers(killed) == numbers(alone)
    assert len(numbers(alone)) == 30


@pytest.mark.parametrize("mode", ["sync", pytest.param("async", marks=pytest.mark.slow)])
def test_single_environments_side_by_side_resume_in_the_middle_of_their_episodes(tmp_path, mode):
    """Gymnasium's own wrappers come back too, those in other processes included."""
    folder = tmp_path / "run"
    side_by_side = (f"env.vectorization={mode}", "env.autoreset=disabled", "env.num_envs=2")
    settings = tiny(folder, *side_by_side, "checkpoint_every=128")
    train(settings)
    alone = numbers(folder)
    newest = max((folder / "checkpoints").glob("checkpoint_*.zip"))
    assert b"has no get_state" not in zipfile.ZipFile(newest).read("tree.json")
    newest.unlink()
    assert 0 < train(settings).resumed_at < settings.algo.total_timesteps
    assert numbers(folder) == alone


def test_curves_of_many_runs(tmp_path):
    """Runs that differ in nothing but the seed become one curve."""
    for seed in (0, 1, 2):
        train(tiny(tmp_path / f"a{seed}", f"seed={seed}", steps=256))
    train(tiny(tmp_path / "b", "algo=ppo", steps=256))
    train(tiny(tmp_path / "c", "algo.gamma=0.5", steps=256))
    runs = [tmp_path / name for name in ("a0", "a1", "a2", "b", "c")]
    labels = group_labels([load_settings(run / "settings.yaml") for run in runs])
    assert labels == ["ppo_lagrangian"] * 3 + ["ppo", "ppo_lagrangian (algo.gamma=0.5)"]
    assert draw_curves(runs, tmp_path / "curves.png").stat().st_size > 10_000
    with pytest.raises(ConfigurationError, match="none"):
        draw_curves([tmp_path / "none"], tmp_path / "curves.png")


# --- evaluation -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(tiny(folder, "algo.policy_average=0.5"))
    return folder


def scored(*overrides: str):
    return evaluate(settings_of("eval", "eval=quick", *overrides), lambda env: None)


def test_a_checkpoint_is_scored_by_the_monitors_that_trained_it(trained, tmp_path, capsys):
    report = scored(f"checkpoint={trained}", f"output={tmp_path}")
    assert report.scores.episodes == 20
    assert [row.id for row in report.scores.constraints] == list(
        load_settings(trained / "settings.yaml").specs.limits
    )
    written = {path.name for path in tmp_path.iterdir()}
    assert {
        "report.json",
        "specifications.csv",
        "episodes.npz",
        "per_trigger.png",
        "timeline_1.png",
        "learning_curves.png",
    } <= written
    document = json.loads((tmp_path / "report.json").read_text())["policies"][0]
    assert document["settings"]["env"] == "kitchen_grid"
    records = load_records(tmp_path / "episodes.npz")
    for row, own in zip(
        document["specifications"],
        records.columns.per_specification(records.triggered).sum(axis=0),
        strict=True,
    ):
        assert row["N"] == own
        if own == 0:
            assert row["V/N"]["value"] is None
    output = capsys.readouterr().out
    assert "glass_held_firmly" in output
    assert str(tmp_path / "report.json") in output.replace("\n", "")


def test_an_evaluation_is_reproducible(trained, tmp_path):
    first = scored(f"checkpoint={trained}", f"output={tmp_path / 'a'}", "seed=3")
    again = scored(f"checkpoint={trained}", f"output={tmp_path / 'b'}", "seed=3")
    other = scored(f"checkpoint={trained}", f"output={tmp_path / 'c'}", "seed=4")
    assert first.scores == again.scores
    assert first.scores.lengths != other.scores.lengths


def test_a_checkpoint_file_and_the_last_actor_can_be_chosen(trained, tmp_path):
    (file, *_) = sorted((trained / "checkpoints").glob("*.zip"))
    report = scored(f"checkpoint={file}", f"output={tmp_path}", "eval.averaged='false'")
    assert report.settings["checkpoint"] == str(file)


def test_random_policy_without_a_checkpoint(tmp_path):
    report = scored("env=kitchen_grid", "specs=kitchen", "policy=random", f"output={tmp_path}")
    assert report.name == "random"
    assert report.scores.outcomes["engaged"] is not None


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([], "nothing to evaluate"),
        (["checkpoint=/nowhere"], "/nowhere: no such file"),
        (["policy=random"], "env= has to be given"),
        (["policy=random", "env=kitchen_grid"], "specs= has to be given"),
        (["policy=checkpoint"], "needs checkpoint="),
        (["policy=scipted"], "did you mean 'scripted'?"),
        (["policy=scripted", "env=kitchen_grid", "specs=kitchen"], "no scripted policy"),
        (["eval.episodes=0", "policy=random"], "eval.episodes is 0"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_evaluations_are_one_clear_error(tmp_path, overrides, words):
    with pytest.raises(SafeRLError) as caught:
        scored(f"output={tmp_path}", *overrides)
    assert words in str(caught.value)


def test_a_checkpoint_under_other_specifications_is_refused(trained, tmp_path):
    with pytest.raises(SafeRLError, match="observation space|constraints"):
        scored(
            f"checkpoint={trained}",
            "specs=kitchen",
            "specs.select=[glass_held_firmly]",
            f"output={tmp_path}",
        )


def test_a_folder_without_checkpoints_is_named(trained, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "settings.yaml").write_text((trained / "settings.yaml").read_text())
    with pytest.raises(CheckpointError, match="no checkpoint there"):
        scored(f"checkpoint={empty}", f"output={tmp_path / 'out'}")


def test_evaluation_uses_the_trained_normaliser(tmp_path):
    """omnisafe 344, 386: fresh statistics would show the policy another observation."""
    from safe_rl.cli.building import build_product
    from safe_rl.cli.policies import trained_policy

    settings = tiny(tmp_path / "run", "algo.normalize_observations=true", steps=256)
    finished = train(settings)
    product = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=4)
    policy = trained_policy(finished.checkpoint, product, 0, averaged="false", deterministic=True)
    trained_statistics = finished.model.get_vec_normalize_env().obs_rms
    used = policy.normaliser.obs_rms
    np.testing.assert_array_equal(used.mean, trained_statistics.mean)
    observations, _ = product.reset(seed=0)
    policy.act(observations, np.ones(4, bool))
    assert used.count == trained_statistics.count  # acting does not move them
    shown = (observations - used.mean) / np.sqrt(used.var + policy.normaliser.epsilon)
    expected, _ = policy.model.predict(
        np.clip(shown, -10, 10).astype(np.float32), deterministic=True
    )
    np.testing.assert_array_equal(policy.act(observations, np.zeros(4, bool)), expected)
    product.close()


# --- as programs ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_commands_of_the_readme(tmp_path):
    """A sweep of two seeds, an evaluation, and errors without tracebacks."""
    command = ["env=kitchen_grid", "algo=ppo_lagrangian", "specs=kitchen", *TINY]
    swept = program(
        "train.py", "-m", *command, "algo.total_timesteps=256", "seed=0,1", cwd=tmp_path
    )
    runs = sorted(tmp_path.glob("runs/kitchen_grid-ppo_lagrangian-kitchen-*/seed_*"))
    assert [run.name for run in runs] == ["seed_0", "seed_1"], swept.stdout
    assert numbers(runs[0]) != numbers(runs[1])
    scored = program("eval.py", f"checkpoint={runs[0]}", "eval=quick", cwd=tmp_path)
    assert "V/N" in scored.stdout
    assert (runs[0] / "evaluation" / "checkpoint" / "report.json").is_file()

    for arguments, words in (
        (["algo=ppoo"], "ppoo"),
        (["algo.gama=1"], "gama"),
        (["seed=x"], "seed"),
        (["algo.gamma=3"], "gamma"),
    ):
        failed = program("train.py", *command, *arguments, cwd=tmp_path, check=False)
        assert failed.returncode != 0
        assert words in failed.stderr
        assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_an_environment_of_ones_own(tmp_path):
    """Any Gymnasium id, a grounding of one's own, a file of one's own rules."""
    (tmp_path / "my_labels.py").write_text(
        "def tilted(env):\n    return {'tilted': bool(abs(env.unwrapped.state[2]) > 0.05)}\n"
    )
    (tmp_path / "rules.yaml").write_text(
        "- id: upright\n  formula: 'G !tilted'\n  trigger: tilted\n  recovery: 'F !tilted'\n"
        "  limit: {kind: episode, value: 2.0}\n"
    )
    command = [
        "env=gym",
        "env.id=CartPole-v1",
        "env.grounding=my_labels:tilted",
        "specs=file",
        "specs.source=rules.yaml",
        *TINY,
        "algo.total_timesteps=256",
        "run_dir=run",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "safe_rl.cli", "train", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    # the settings that were saved name code to import, so an evaluation must be told again
    evaluation = [sys.executable, "-m", "safe_rl.cli", "eval", "checkpoint=run", "eval=quick"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True}
    options["env"] = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    refused = subprocess.run(evaluation, **options)
    assert refused.returncode == 2
    assert "env.grounding" in refused.stderr
    allowed = subprocess.run(
        [*evaluation, "env=gym", "env.id=CartPole-v1", "env.grounding=my_labels:tilted"], **options
    )
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    assert "upright" in allowed.stdout
