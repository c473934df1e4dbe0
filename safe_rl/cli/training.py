"""One training run: its folder, its model, and how it continues where it was stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safe_rl.cli.backends import backend_of
from safe_rl.cli.building import build_specs
from safe_rl.cli.runs import SETTINGS_FILE, find_checkpoint, set_aside
from safe_rl.cli.settings import (
    CHECKPOINT_FOLDER,
    TrainSettings,
    differences,
    load_settings,
    save_settings,
    what_is_learned,
)
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.curves import METRICS_FILE

Say = Callable[[str], None]


@dataclass(frozen=True)
class FinishedRun:
    """What :func:`train` returns.

    Attributes:
        folder: of the run.
        checkpoint: the last one.
        model: the trained model of the backend, with its environment closed.
        resumed_at: environment steps at which it continued; 0 for a new run.
    """

    folder: Path
    checkpoint: Path
    model: Any
    resumed_at: int


def train(settings: TrainSettings, say: Say = print) -> FinishedRun:
    """Train, or go on with what a stopped run with the same settings has begun.

    A run that is stopped and continued writes the same numbers as one that is left alone.

    Args:
        settings: everything; see :class:`TrainSettings`.
        say: prints a line for the person who watches.

    Raises:
        ConfigurationError: settings that contradict each other, or the folder holds another run.
        CheckpointError: a checkpoint is missing or damaged.
    """
    backend = backend_of(settings.algo.backend)
    backend.use_threads(settings.threads)
    folder = Path(settings.run_dir)
    start = _where_to_start(settings, folder, say)
    specs = build_specs(settings.specs)
    model, steps = backend.learn(
        settings, specs, folder, start, lambda: save_settings(settings, folder / SETTINGS_FILE)
    )
    if steps >= settings.algo.total_timesteps:
        say(
            f"{folder}: finished already, after {steps:,} steps; evaluate it with "
            f"checkpoint={folder}, or train again with resume=never"
        )
    return FinishedRun(folder, find_checkpoint(folder), model, resumed_at=steps if start else 0)


def _where_to_start(settings: TrainSettings, folder: Path, say: Say) -> Path | None:
    """Return the checkpoint to continue from, after checking that it belongs to this run."""
    latest = backend_of(settings.algo.backend).latest_checkpoint
    own = latest(folder / CHECKPOINT_FOLDER) if folder.is_dir() else None
    if settings.resume == "never":
        if own is not None or (folder / METRICS_FILE).exists():
            say(f"the earlier run is kept in {set_aside(folder)}")
        return None
    if settings.resume == "auto":
        if own is None:
            return None
        saved = load_settings(folder / SETTINGS_FILE)
        changed = differences(what_is_learned(saved), what_is_learned(settings))
        changed = [text for text in changed if not text.startswith("algo.total_timesteps ")]
        if changed:
            raise ConfigurationError(
                f"{folder} holds a run with other settings: {'; '.join(changed)}. Choose another "
                "run_dir, or set the earlier run aside with resume=never"
            )
        say(f"continuing from {own}")
        return own
    start = find_checkpoint(settings.resume)
    if own is not None and start.resolve().parent != own.resolve().parent:
        raise ConfigurationError(
            f"resume={settings.resume} would overwrite the run in {folder}; choose another "
            "run_dir, or set that run aside with resume=never first"
        )
    say(f"continuing from {start}")
    return start
