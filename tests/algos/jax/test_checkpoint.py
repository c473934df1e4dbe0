"""A run that is stopped, killed or damaged comes back with the numbers of one left alone."""

from __future__ import annotations

import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from safe_rl.algos.jax import (
    Checkpoints,
    PPOLagrangian,
    latest_checkpoint,
    load_policy,
)
from safe_rl.algos.progress import read_progress
from safe_rl.errors import CheckpointError, ConfigurationError
from tests.algos.jax import run_to_kill
from tests.algos.jax.analytic_products import ScriptedProduct
from tests.algos.jax.run_to_kill import arrays, environment, make_product, new_model

STEPS = 32  # of an iteration


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "time/fps"} for row in rows]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six iterations that was stopped after three, when it had saved itself."""
    folder = tmp_path_factory.mktemp("stopped")
    model = new_model()

    class Stop(Exception):
        pass

    rows: list[Any] = []

    def stop(run: int, step: int, row: Any) -> None:
        rows.append({"step": step, **row})
        if step == 4 * STEPS:
            raise Stop

    with pytest.raises(Stop):
        model.learn(6 * STEPS, checkpoints=Checkpoints(folder, every=3), on_row=stop)
    return folder


def test_resume_is_exact(stopped: Path) -> None:
    """omnisafe 346, SafeVLA: multipliers, optimisers, normalisers, counters, random states."""
    alone_rows: list[Any] = []
    alone = new_model()
    alone.learn(6 * STEPS, on_row=lambda run, step, row: alone_rows.append(row))
    path = latest_checkpoint(stopped)
    assert path is not None and path.name == f"checkpoint_{3 * STEPS:012d}"
    resumed = PPOLagrangian.load(path, make_product())
    assert (resumed.iteration, resumed.num_timesteps) == (3, 3 * STEPS)
    rows: list[Any] = []
    resumed.resume(on_row=lambda run, step, row: rows.append(row))
    same(arrays(alone), arrays(resumed))
    assert without_clock(rows) == without_clock(alone_rows[3:])
    assert alone.runs[0].state_dict() == resumed.runs[0].state_dict()
    assert resumed.runs[0].updates >= 2


def test_policies_are_read_without_an_environment(stopped: Path) -> None:
    path = latest_checkpoint(stopped)
    assert path is not None
    model = PPOLagrangian.load(path, make_product())
    observations = np.random.default_rng(0).uniform(0, 11, size=(6, 2))
    for averaged in (True, False):
        policy = load_policy(path, averaged=averaged)
        own = model.policy(averaged=averaged)
        expected = own.action_probabilities(observations)
        np.testing.assert_array_equal(policy.action_probabilities(observations), expected)
        np.testing.assert_allclose(expected.sum(1), 1.0)
        assert policy.averaged == averaged
        assert policy.action_space == model.product.action_space
        assert policy.observation_space == model.product.observation_space
    assert load_policy(path).averaged
    with pytest.raises(ConfigurationError, match="holds 1 runs, so there is no run 1"):
        load_policy(path, run=1)


def test_reading_unpickles_nothing(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = latest_checkpoint(stopped)
    assert path is not None

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a checkpoint was unpickled")

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    PPOLagrangian.load(path, make_product())


def test_damaged_checkpoints_are_passed_over(stopped: Path, tmp_path: Path) -> None:
    path = latest_checkpoint(stopped)
    assert path is not None
    good = tmp_path / path.name
    shutil.copytree(path, good)
    bad = tmp_path / f"checkpoint_{4 * STEPS:012d}"
    shutil.copytree(path, bad)
    for file in (bad / "training").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    (tmp_path / f"checkpoint_{5 * STEPS:012d}.orbax-checkpoint-tmp").mkdir()
    with pytest.warns(UserWarning, match="passing over a damaged checkpoint"):
        assert latest_checkpoint(tmp_path) == good
    shutil.rmtree(good)
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(CheckpointError, match="all 1 checkpoints"),
    ):
        latest_checkpoint(tmp_path)
    assert latest_checkpoint(tmp_path / "none") is None
    with pytest.raises(CheckpointError, match="there is no checkpoint .*missing"):
        load_policy(tmp_path / "missing")


def test_another_run_is_refused(stopped: Path) -> None:
    path = latest_checkpoint(stopped)
    assert path is not None
    other = make_product()
    other.constraints = other.constraints[:1]
    with pytest.raises(CheckpointError, match="under the constraints first, second, but"):
        PPOLagrangian.load(path, other)
    with pytest.raises(CheckpointError, match=r"does not fit the run: it holds .* is expected"):
        PPOLagrangian.load(path, ScriptedProduct(action="box"))


def test_no_more_checkpoints_than_asked_for(tmp_path: Path) -> None:
    model = new_model()
    (tmp_path / "checkpoint_000000000001.orbax-checkpoint-tmp").mkdir()
    model.learn(3 * STEPS, checkpoints=Checkpoints(tmp_path, every=1, keep=2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"checkpoint_{n * STEPS:012d}" for n in (2, 3)]


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path: Path) -> None:
    """kill -9 three times; the run that is started again ends with the same numbers and rows."""
    alone = run_to_kill.train(tmp_path / "alone", run_to_kill.ITERATIONS, every=2)
    folder = tmp_path / "killed"
    folder.mkdir()
    moments = random.Random(time.time_ns())
    command = [sys.executable, "-m", "tests.algos.jax.run_to_kill", str(folder)]
    root = Path(run_to_kill.__file__).parents[3]
    kills = 0
    for attempt in range(12):
        process = subprocess.Popen(command, cwd=root, env=environment())
        if kills < 3 and attempt < 8:
            start = len(read_progress(folder / "progress.jsonl"))
            while process.poll() is None:  # wait until it trains, then a little longer
                if len(read_progress(folder / "progress.jsonl")) > start:
                    break
                time.sleep(0.02)
            time.sleep(moments.uniform(0.0, 0.6))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        else:
            assert process.wait() == 0
        if (folder / "result.npz").exists():
            break
    assert kills >= 1
    with np.load(folder / "result.npz") as result:
        same(arrays(alone), dict(result))
    rows = [read_progress(tmp_path / name / "progress.jsonl") for name in ("alone", "killed")]
    assert without_clock(rows[0]) == without_clock(rows[1])
    found = [(tmp_path / name / "evaluations.json").read_text() for name in ("alone", "killed")]
    assert found[0] == found[1]
    kept = [
        [path.name for path in (tmp_path / name).glob("best_*")] for name in ("alone", "killed")
    ]
    assert kept[0] == kept[1] and len(kept[0]) == 1


def test_a_relative_path_is_a_path(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stopped)
    newest = latest_checkpoint(".")
    assert newest is not None
    assert load_policy(newest.name).observation_space.shape is not None
