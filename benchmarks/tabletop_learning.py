"""What a limit buys on the tabletop: no limits, per trigger with and without a cap, per episode.

``python -m benchmarks.tabletop_learning [--task place] [--seeds 5]`` trains every arm on every seed
with the shipped presets, scores each policy under Gymnasium's API with the numpy monitors, and
writes a table, a JSON file and the learning curves with intervals over seeds. Finished runs are
used again, so a stopped command goes on where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hydra import compose, initialize_config_module
from rich.console import Console
from rich.table import Table

from benchmarks.measure import parser, save
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.policies import trained_policy
from safe_rl.cli.settings import TrainSettings, checked, register_resolvers
from safe_rl.cli.training import train
from safe_rl.evaluation.curves import constraint_panels, learning_curve_figure, read_run
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.rollouts import roll_out

NO_CAP = 1_000_000


class Arm(NamedTuple):
    """One way to train.

    Attributes:
        label: how tables and figures call it.
        algo: preset.
        cap: replaces the cap of every per-trigger limit; ``None`` keeps it.
        per_episode: turn every per-trigger limit d into a limit d on the violations of an episode.
    """

    label: str
    algo: str
    cap: int | None = None
    per_episode: bool = False


ARMS = {
    "free": Arm("no limits", "ppo_jax"),
    "trigger": Arm("per trigger, capped", "ppo_lagrangian_jax"),
    "uncapped": Arm("per trigger, no cap", "ppo_lagrangian_jax", cap=NO_CAP),
    "episode": Arm("per episode", "ppo_lagrangian_jax", per_episode=True),
}


def settings_of(task: str, arm: str, seed: int, folder: Path, more: Sequence[str]) -> TrainSettings:
    """Compose one run from the presets."""
    chosen = ARMS[arm]
    overrides = [
        f"env=tabletop/{task}",
        f"algo={chosen.algo}",
        f"seed={seed}",
        f"run_dir={folder / task / arm / f'seed_{seed}'}",
        f"threads={os.cpu_count()}",
        "progress=false",
        *more,
    ]
    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        settings = checked(compose("train", overrides), TrainSettings)
        changed = {}
        for spec in build_specs(settings.specs).constraints:
            assert spec.limit is not None
            if spec.limit.kind == "per_trigger" and (chosen.cap or chosen.per_episode):
                kind = "episode" if chosen.per_episode else "per_trigger"
                changed[spec.id] = {"kind": kind, "value": spec.limit.value, "cap": chosen.cap}
        words = [
            f"+specs.limits.{name}={{kind: {c['kind']}, value: {c['value']}, "
            f"cap: {'null' if c['cap'] is None else c['cap']}}}"
            for name, c in changed.items()
        ]
        return checked(compose("train", [*overrides, *words]), TrainSettings)


def measured(settings: TrainSettings, limits: TrainSettings, episodes: int) -> dict[str, Any]:
    """Score a trained policy under the limits that the task ships with."""
    own = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=64)
    policy = trained_policy(settings.run_dir, own, settings.seed)
    records = roll_out(own, policy, episodes, seed=settings.seed + 10_000).records
    own.close()
    scores = score(records, own.constraints, resamples=200, seed=settings.seed)
    shipped = {s.id: s.limit for s in build_specs(limits.specs).constraints}
    rows = {}
    for row in scores.specifications:
        limit = shipped.get(row.name)
        if limit is None:
            continue
        rate = row.violations / row.triggered if row.triggered else None
        per_episode = row.violations / episodes
        value = rate if limit.kind == "per_trigger" else per_episode
        rows[row.name] = {
            "N_per_episode": row.triggered / episodes,
            "V_per_episode": per_episode,
            "V_per_N": rate,
            "limit": limit.value,
            "kind": limit.kind,
            "met": None if value is None else value <= limit.value,
        }
    return {
        "success": float(np.mean(records.success)),
        "engaged": float(np.mean(records.engaged)),
        "return": float(np.mean(records.returns)),
        "length": float(np.mean(records.lengths)),
        "specifications": rows,
    }


def table_of(task: str, found: dict[str, list[dict[str, Any]]]) -> Table:
    """Return the arms side by side: means over seeds."""
    table = Table(title=f"tabletop/{task}: means over seeds", title_justify="left")
    table.add_column("")
    table.add_column("limit", justify="right")
    for arm in found:
        table.add_column(ARMS[arm].label, justify="right")

    def mean(rows: list[dict[str, Any]], name: str) -> str:
        return f"{np.mean([row[name] for row in rows]):.3f}"

    for name in ("success", "engaged", "length"):
        table.add_row(name, "", *(mean(rows, name) for rows in found.values()))
    first = next(iter(found.values()))[0]["specifications"]
    for name, spec in first.items():
        table.add_section()
        unit = "V/N" if spec["kind"] == "per_trigger" else "V"
        for key, words in (("V_per_N", "V/N"), ("N_per_episode", "N"), ("V_per_episode", "V")):
            cells = []
            for rows in found.values():
                own = [row["specifications"][name] for row in rows]
                values = [o[key] for o in own if o[key] is not None]
                tested = [o["met"] for o in own if o["met"] is not None]
                text = f"{np.mean(values):.3f}" if values else "not triggered"
                cells.append(f"{text} ({sum(tested)}/{len(tested)})" if words == unit else text)
            bound = f"≤ {spec['limit']:g}" if words == unit else ""
            table.add_row(f"{name}: {words}" if key == "V_per_N" else f"  {words}", bound, *cells)
    table.caption = (
        "N and V per episode; in brackets: seeds that keep the limit, of those that trigger it."
    )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Train, score, print and write; returns 0."""
    given_parser = parser("tabletop_learning", __doc__ or "")
    given_parser.add_argument("--task", default="place", help="lift, place, stack, drawer or cook")
    given_parser.add_argument("--seeds", type=int, default=5)
    given_parser.add_argument("--arms", default=",".join(ARMS), help="comma-separated")
    given_parser.add_argument("--episodes", type=int, default=512)
    given_parser.add_argument("--runs", type=Path, default=Path("runs/tabletop_learning"))
    given_parser.add_argument("--set", nargs="*", default=[], help="overrides, as for train.py")
    given = given_parser.parse_args(argv)
    console = Console(width=150) if not sys.stdout.isatty() else Console()
    seeds = range(1 if given.quick else given.seeds)
    episodes = 16 if given.quick else given.episodes
    more = [*given.set, *(["algo.total_timesteps=32768"] if given.quick else [])]
    found: dict[str, list[dict[str, Any]]] = {}
    curves = []
    bounds: dict[str, tuple[str, float]] = {}
    for arm in given.arms.split(","):
        found[arm] = []
        for seed in seeds:
            settings = settings_of(given.task, arm, seed, given.runs, more)
            train(settings, say=lambda text: None)
            shipped = settings_of(given.task, "trigger", seed, given.runs, more)
            row = measured(settings, shipped, episodes)
            found[arm].append({"seed": seed, **row})
            console.print(
                f"{given.task}, {ARMS[arm].label}, seed {seed}: success {row['success']:.3f}",
                highlight=False,
            )
            curves.append(read_run(settings.run_dir, ARMS[arm].label))
            for spec in build_specs(shipped.specs).constraints:
                assert spec.limit is not None
                threshold = 0.0 if spec.limit.kind == "per_trigger" else spec.limit.value
                bounds[spec.id] = (spec.limit.kind, threshold)
    console.print(table_of(given.task, found))
    name = f"tabletop_learning_{given.task}"
    path = save(name, {"task": given.task, "arms": found}, given.output, console)
    picture = learning_curve_figure(
        curves,
        constraint_panels(curves, bounds),
        path.with_suffix(".png"),
        title=f"Training on tabletop/{given.task} ({len(seeds)} seeds; bands: 95% over seeds)",
    )
    console.print(f"wrote {picture}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
