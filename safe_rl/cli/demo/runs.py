"""The runs of the demo: composed from the packaged presets and trained side by side."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from safe_rl.algos.progress import read_progress
from safe_rl.cli.settings import TrainSettings, checked, register_resolvers
from safe_rl.cli.training import train
from safe_rl.evaluation.curves import METRICS_FILE

NAMES = {"ppo_jax": "unconstrained PPO", "ppo_lagrangian_jax": "PPO-Lagrangian"}
"""What the demo calls its two algorithms."""


def compose(
    algo: str, seed: int, folder: Path, timesteps: int | None, env: str = "kitchen_grid"
) -> TrainSettings:
    """Compose the packaged presets for one run of the demo."""
    from hydra import compose as compose_presets
    from hydra import initialize_config_module

    register_resolvers()
    overrides = [
        f"env={env}",
        f"algo={algo}",
        f"seed={seed}",
        f"run_dir={folder / env / f'{algo}_seed_{seed}'}",
        "progress=false",
    ]
    if timesteps is not None:
        overrides.append(f"algo.total_timesteps={timesteps}")
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return checked(compose_presets("train", overrides), TrainSettings)


def _train_one(settings: TrainSettings) -> str:
    return str(train(settings, say=lambda text: None).checkpoint)


def train_side_by_side(runs: Mapping[str, TrainSettings], console: Console) -> None:
    """Train each run in a process of its own, as many at once as there are cores.

    Args:
        runs: by the name to show.
        console: gets a progress bar on a terminal, and a line per finished run.
    """
    columns = (
        TextColumn("{task.description:18}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
    )
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(len(runs), os.cpu_count() or 1))
    with (
        ProcessPoolExecutor(workers, mp_context=context) as pool,
        Progress(
            *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
        ) as bar,
    ):
        jobs: dict[str, tuple[Future[str], TaskID]] = {}
        for name, settings in runs.items():
            task = bar.add_task(name, total=settings.algo.total_timesteps)
            jobs[name] = (pool.submit(_train_one, settings), task)
        while any(not job.done() for job, _ in jobs.values()):
            for name, (_, task) in jobs.items():
                logged = read_progress(Path(runs[name].run_dir) / METRICS_FILE)
                if logged:
                    bar.update(task, completed=logged[-1]["step"])
            time.sleep(0.5)
        for name, (job, task) in jobs.items():
            console.print(f"trained {name}: {job.result()}", highlight=False)
            bar.update(task, completed=runs[name].algo.total_timesteps)
