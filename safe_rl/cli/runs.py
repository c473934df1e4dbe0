"""The folder of a run: its files, its newest checkpoint, and what is set aside."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from safe_rl.algos.selection import BestPolicies
from safe_rl.cli.settings import CHECKPOINT_FOLDER, TrainSettings
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.evaluation.curves import METRICS_FILE
from safe_rl.wrappers import VectorProductMDP

SETTINGS_FILE = "settings.yaml"
TENSORBOARD_FOLDER = "tensorboard"
EVALUATION_FOLDER = "evaluation"


def find_checkpoint(path: str | Path, which: str = "last") -> Path:
    """Return a checkpoint: the path itself, or one of a run's folder.

    Args:
        path: a checkpoint, a run's folder, or a folder of checkpoints.
        which: ``"last"`` for the newest, ``"best"`` for the best policy where the run kept one.

    Raises:
        CheckpointError: there is none.
    """
    from safe_rl.cli.backends import backend_of

    path = Path(path)
    if path.is_file() or (path / "_CHECKPOINT_METADATA").is_file():
        return path
    for folder in (path / CHECKPOINT_FOLDER, path):
        kinds = []
        if folder.is_dir():
            kinds = ["torch"] if any(folder.glob("*.zip")) else []
            kinds += ["jax"] if any(folder.glob("*/_CHECKPOINT_METADATA")) else []
        for name in kinds:
            backend = backend_of(name)
            found = backend.best_checkpoint(folder) if which == "best" else None
            found = found or backend.latest_checkpoint(folder)
            if found is not None:
                return found
    raise CheckpointError(
        f"{path}: no checkpoint there; give a run's folder, or one of the checkpoints in its "
        f"{CHECKPOINT_FOLDER}/"
    )


def set_aside(folder: Path) -> Path:
    """Move what an earlier run left in ``folder`` into a folder of its own; return that."""
    number = 1
    while (kept := folder / f"earlier_{number}").exists():
        number += 1
    kept.mkdir(parents=True)
    for name in (
        CHECKPOINT_FOLDER,
        METRICS_FILE,
        SETTINGS_FILE,
        TENSORBOARD_FOLDER,
        EVALUATION_FOLDER,
    ):
        if (folder / name).exists():
            shutil.move(folder / name, kept / name)
    return kept


def check_spaces(
    observation_space: gym.Space[Any], action_space: gym.Space[Any], envs: VectorProductMDP
) -> None:
    """Check that a policy fits the environments.

    Raises:
        ConfigurationError: the spaces differ, for example because other specifications give other
            monitor features.
    """
    for what, own, given in (
        ("observation", observation_space, envs.single_observation_space),
        ("action", action_space, envs.single_action_space),
    ):
        if own.shape != given.shape or type(own) is not type(given):
            raise ConfigurationError(
                f"the checkpoint was trained on the {what} space {own}, but the environment "
                f"has {given}; evaluate it in the environment and under the specifications "
                "of its run (leave env= and specs= out)"
            )


def best_policies(settings: TrainSettings, folder: Path, steps: int) -> BestPolicies | None:
    """Return when a run in ``folder`` evaluates its policy; None if it keeps no best one.

    The best policy is the one that keeps the limits, so a run that ignores them keeps none.
    ``steps`` are the environment steps of an iteration.
    """
    algo = settings.algo
    if algo.best_every is None or algo.controller == "unconstrained":
        return None
    return BestPolicies(
        folder / CHECKPOINT_FOLDER,
        every=max(1, round(algo.best_every / steps)),
        after=round(algo.best_after * algo.total_timesteps / steps),
        episodes=algo.best_episodes,
        # other seeds than in training, whose environments took seed, seed + 1, ...
        seed=settings.seed + 1_000_000,
    )


def shows_progress(choice: str) -> bool:
    """Return whether the setting ``progress`` wants a bar here."""
    choice = choice.lower()
    return sys.stderr.isatty() if choice == "auto" else choice == "true"
