"""``safe-rl serve``: a policy in a second process is evaluated with the same numbers as here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("websockets")
torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import safe_rl.envs  # noqa: F401
from safe_rl.cli.serving import ServeSettings
from safe_rl.errors import ConfigurationError, PolicyError
from safe_rl.evaluation import roll_out
from safe_rl.policies import ChunkRunner
from safe_rl.policies.openpi import RemotePolicy
from safe_rl.policies.vla import VLA, VLAConfig, VLAPolicy, save_vla
from safe_rl.wrappers import VectorProductMDP


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "safe_rl.cli", "serve", f"policy={folder}", "port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        try:
            yield line.split(" on ")[1].split(";")[0], process
        finally:
            process.kill()


def _products() -> VectorProductMDP:
    envs = gym.make_vec(
        "safe_rl/TabletopLift-v0", 3, vectorization_mode="vector_entry_point", propositions="task",
        max_episode_steps=30,
    )  # fmt: skip
    return VectorProductMDP(envs, "tabletop_lift", features=None)


@pytest.mark.slow
def test_a_served_policy_has_the_same_numbers_as_in_process(tmp_path) -> None:
    torch.manual_seed(0)
    envs = _products()
    size = envs.single_observation_space.shape[0]
    model = VLA(VLAConfig(size, 4, 8, width=16, layers=2, log_std=0.0))
    save_vla(model, tmp_path)
    here = roll_out(envs, ChunkRunner(VLAPolicy(model), envs, play=5), 5, seed=3).records
    other = roll_out(envs, ChunkRunner(VLAPolicy(model), envs, play=5, seed=1), 5, seed=3).records
    with _served(tmp_path) as (address, process), RemotePolicy(address) as remote:
        there = roll_out(envs, ChunkRunner(remote, envs, play=5), 5, seed=3).records
        process.kill()
        process.wait()
        with pytest.raises(PolicyError, match="closed the connection"):
            roll_out(envs, ChunkRunner(remote, envs, play=5), 1, seed=3)
    for name in ("returns", "lengths", "success", "engaged", "violations", "triggered", "exposure"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    assert not np.array_equal(here.returns, other.returns)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["port=1"], "give policy=FOLDER"),
        (["policy=x", "prot=1"], "did you mean 'port'"),
        (["policy=x", "port=many"], "port must be int"),
        (["policy=x", "deterministic=maybe"], "deterministic must be bool"),
        (["folder"], "there is no setting 'folder'"),
    ],
)
def test_settings_that_do_not_fit(words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ServeSettings.of(words)


def test_a_folder_without_a_policy_is_one_line_of_error(tmp_path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "safe_rl.cli", "serve", f"policy={tmp_path}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 2
    assert "no such file" in run.stderr and "Traceback" not in run.stderr
