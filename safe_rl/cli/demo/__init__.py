"""``safe-rl demo``: the main job from end to end, on environments that need no simulator.

A kitchen robot and a gripper at a table are trained twice each, without limits and under them, with
environment, monitors and learner on the device. The kitchen's policies are set beside the exact
optimum, and an episode at the table is filmed.
"""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

from safe_rl.cli.demo.kitchen import score_kitchen
from safe_rl.cli.demo.runs import NAMES, compose, train_side_by_side
from safe_rl.cli.demo.tabletop import score_tabletop
from safe_rl.cli.screen import screen

__all__ = ["compose", "run_demo"]

TABLETOP = "tabletop/place"


def run_demo(
    output: Path, *, seed: int = 0, timesteps: int | None = None, episodes: int = 4000
) -> None:
    """Train, score, print, and write reports, figures and a film.

    Args:
        output: folder of everything. Finished runs in it are used again.
        seed: of everything.
        timesteps: of each training, instead of the presets' own numbers.
        episodes: sampled per policy.

    Raises:
        SafeRLError: see the parts.
    """
    started = time.perf_counter()
    console = screen()
    runs = {
        env: {algo: compose(algo, seed, output, timesteps, env) for algo in NAMES}
        for env in ("kitchen_grid", TABLETOP)
    }
    named = {
        f"{NAMES[algo]}, {env}": own for env, both in runs.items() for algo, own in both.items()
    }
    steps = ", ".join(
        f"{next(iter(both.values())).algo.total_timesteps:,} steps on {env}"
        for env, both in runs.items()
    )
    console.print(
        f"Training {' and '.join(NAMES.values())}: {steps} each "
        f"({multiprocessing.cpu_count()} cores) ...",
        highlight=False,
    )
    train_side_by_side(named, console)
    console.print(f"trained after {time.perf_counter() - started:.0f} s", highlight=False)
    score_kitchen(
        runs["kitchen_grid"], output / "kitchen_grid", console, seed=seed, episodes=episodes
    )
    score_tabletop(
        runs[TABLETOP], output / TABLETOP, console, seed=seed, episodes=max(2, episodes // 4)
    )
    console.print(f"took {time.perf_counter() - started:.0f} s", highlight=False)
