"""`safe-rl audit` and `safe-rl sensitivity` as a user meets them, end to end."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from safe_rl.cli import app
from safe_rl.data import SUFFIX, find_recordings, load_recording, save_episodes
from tests.data.recorded import episode

RULES = """
- id: lid_first
  formula: "G(lifted -> lid_on)"
  recovery: "F lid_on"
- id: answered
  formula: "G(asked -> F lid_on)"
"""


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def recordings(folder, count=3):
    for i in range(count):
        save_episodes(
            folder / f"{i}{SUFFIX}",
            [episode({"lifted"}, {"lid_on"}, success=False, seed=i), episode(set(), success=True)],
        )
    return folder


def counts(report) -> list[tuple]:
    document = json.loads(report.read_text())
    rows = document["policies"][0]["specifications"]
    return [(row["name"], row["N"], row["V"], row["U"], row["pending"]) for row in rows]


def test_an_audit_and_its_exit_status(tmp_path, rules):
    folder, out = recordings(tmp_path / "episodes"), tmp_path / "out"
    result = run("audit", folder, "--specs", rules, "--out", out)
    assert result.exit_code == 0, result.output
    assert "times real time" in result.output
    assert counts(out / "report.json") == [("lid_first", 3, 3, 3, 0), ("answered", 0, 0, 0, 0)]
    # a broken file is named, the rest is finished, and nothing is done twice
    (folder / f"broken{SUFFIX}").write_bytes(b"?")
    again = run("audit", folder, "--specs", rules, "--out", out)
    assert again.exit_code == 3
    assert f"broken{SUFFIX}" in again.output
    assert "3 of them audited before" in again.output
    assert json.loads((out / "report.json").read_text())["skipped"][0]["reason"]
    assert counts(out / "report.json")[0] == ("lid_first", 3, 3, 3, 0)


def test_input_that_cannot_be_audited(tmp_path, rules):
    (tmp_path / f"x{SUFFIX}").write_bytes(b"?")
    for arguments, words in (
        (["absent"], "no such file"),
        ([tmp_path / f"x{SUFFIX}"], "none of 1 files could be audited"),
    ):
        result = run("audit", *arguments, "--specs", rules, "--out", tmp_path / "out")
        assert result.exit_code == 2
        assert words in result.stderr
        assert "Traceback" not in result.output
    wrong = run("audit", tmp_path, "--specs", "no_such_set", "--out", tmp_path / "out")
    assert wrong.exit_code == 2


def test_an_audit_needs_no_optional_package(tmp_path, rules):
    folder, out = recordings(tmp_path / "episodes", count=1), tmp_path / "out"
    absent = ["h5py", "hydra", "jax", "matplotlib", "omegaconf", "pyarrow", "torch"]
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
        "from safe_rl.cli import app; app()"
    )
    command = [sys.executable, "-c", program, "audit", folder, "--specs", rules, "--out", out]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "note: reading and writing Parquet needs pyarrow" in result.stdout
    assert "note: drawing figures needs matplotlib" in result.stdout
    assert counts(out / "report.json")[0] == ("lid_first", 1, 1, 1, 0)


def test_select_objects_and_reference(tmp_path):
    heads = ("object_grasped", "object_sync", "object_dropped", "object_grasped_raw")
    names = tuple(f"{head}(mug)" for head in heads)
    own = episode(set(), {names[0], names[1]}, {names[0], names[3]}, names=names)
    save_episodes(tmp_path / f"x{SUFFIX}", [own])
    spec = ["--specs", "safemanip", "--select", "grasp_remains_synced_until_dropped"]
    for options in (["--infer-objects"], ["--objects", "graspable=mug"]):
        result = run("audit", tmp_path, *spec, *options, "--out", tmp_path / "out")
        assert result.exit_code == 0, result.output
        assert counts(tmp_path / "out" / "report.json")[0][1:3] == (1, 1)
    none = run("audit", tmp_path, *spec, "--out", tmp_path / "other")
    assert none.exit_code == 2
    assert "no objects are given for the property 'graspable'" in none.stderr
    demos = tmp_path / "out"
    compared = run(
        "audit", tmp_path, *spec, "--infer-objects", "--reference", demos, "--out", tmp_path / "new"
    )
    assert compared.exit_code == 0, compared.output


@pytest.mark.parametrize("record", ["true", "lerobot"])
def test_the_audit_of_an_evaluation_gives_its_counts(tmp_path, record):
    pytest.importorskip("hydra")
    pytest.importorskip("matplotlib")
    from hydra import compose, initialize_config_module

    from safe_rl.cli.scoring import evaluate
    from safe_rl.cli.settings import EvalSettings, checked, register_resolvers

    register_resolvers()
    overrides = ["env=kitchen_grid", "specs=kitchen", "policy=random", "eval=quick"]
    overrides += ["eval.episodes=70", f"eval.record={record}", f"output={tmp_path / 'eval'}"]
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        settings = checked(compose("eval", overrides), EvalSettings)
    evaluate(settings, lambda env: None)
    folder = tmp_path / "eval" / ("lerobot" if record == "lerobot" else "episodes")
    files = find_recordings([folder])
    assert [len(load_recording(own)) for own in files] == [50, 20]
    assert all(own.observations["state"].size for own in load_recording(files[1]))
    out = tmp_path / "audit"
    result = run(
        "audit", folder, "--specs", "kitchen", "--out", out,
        "--resamples", 500,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    one = json.loads((tmp_path / "eval" / "report.json").read_text())["policies"][0]
    other = json.loads((out / "report.json").read_text())["policies"][0]
    for key in ("specifications", "categories", "pooled", "constraints", "outcomes", "return"):
        assert one[key] == other[key], key
    with (out / "episodes.csv").open(newline="") as file:
        assert sum(int(row["V"]) for row in csv.DictReader(file)) == one["pooled"]["V"]


@pytest.mark.slow
def test_a_lerobot_dataset(tmp_path, rules):
    pytest.importorskip("pyarrow")
    from tests.data.lerobot_dataset import write_dataset

    engaged = np.array([False, True])
    own = episode({"lifted"}, {"lid_on"}, success=False, engaged=engaged, instruction="lift it")
    write_dataset(tmp_path / "dataset", [own, own])
    result = run("audit", tmp_path / "dataset", "--specs", rules, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert counts(tmp_path / "out" / "report.json")[0] == ("lid_first", 2, 2, 2, 0)


@pytest.mark.slow
def test_a_killed_audit_goes_on(tmp_path, rules):
    folder, out = recordings(tmp_path / "episodes", count=120), tmp_path / "out"
    command = [sys.executable, "-m", "safe_rl.cli", "audit", str(folder), "--specs", str(rules)]
    command += ["--out", str(out), "--resamples", "0", "--workers", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    store = out / "files"
    while process.poll() is None and len(list(store.glob("*.npz"))) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list(store.glob("*.npz")))
    assert done >= 5
    assert not (out / "report.json").exists()
    rest = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{done} of them audited before" in rest.stdout
    assert counts(out / "report.json")[0] == ("lid_first", 120, 120, 120, 0)


@pytest.mark.slow
def test_sensitivity(tmp_path):
    for package in ("hydra", "jax", "matplotlib"):
        pytest.importorskip(package)
    result = run(
        "sensitivity", "--env", "env=tabletop/lift", "--episodes", 2, "--constant", "grasp_window",
        "--factor", 2, "--out", tmp_path,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with (tmp_path / "sensitivity.csv").open(newline="") as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["5", "10"]
    assert (tmp_path / "grasp_window.png").is_file()
    for env, words in (
        ("env=tabletop/lfit", "tabletop/lfit"),
        ("env=kitchen_grid", "scene frames"),
    ):
        refused = run("sensitivity", "--env", env, "--specs", "kitchen", "--out", tmp_path)
        assert refused.exit_code == 2
        assert words in refused.stderr
