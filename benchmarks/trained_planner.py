"""A small planner of our own on tasks that it has not seen: whom it learns from, and refinement.

``python -m benchmarks.trained_planner [--seeds 5]`` trains a transformer from scratch on household
tasks: by imitation of mixed plans (safe ones and unsafe ones), of safe plans only, and by imitation
of mixed plans followed by GRPO against the monitors. It then counts plans for the held-out and the
longer tasks before refinement and after one, two and three rounds of feedback, and writes a table,
a JSON file and a figure, with intervals over seeds. Finished stages are used again, so a stopped
command goes on where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import t as student

from benchmarks.measure import parser, save
from safe_rl.evaluation.plotting import MARKERS, SERIES, figure_file
from safe_rl.feedback.planner.experiment import ARMS, ROUNDS, Experiment, Settings
from safe_rl.feedback.planner.training import Imitation, Reinforcement

COUNTS = ("success", "safe", "success_and_safe", "vacuous", "invalid")
WORDS = {"success": "success", "safe": "safe", "success_and_safe": "both", "vacuous": "vacuous",
         "invalid": "invalid"}  # fmt: skip
UNTOLD = "both, told only that it is wrong"


class Share(NamedTuple):
    """A share of the problems: the mean over seeds, and half its 95% interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.half:.2f}"


def shares(rows: Sequence[Mapping[str, Any]], name: str) -> Share:
    """Return a count's share over seeds, with Student's interval for the mean."""
    values = [
        1.0 - row["valid"] / row["problems"] if name == "invalid" else row[name] / row["problems"]
        for row in rows
    ]
    if len(values) < 2:
        return Share(float(np.mean(values)), float("nan"))
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return Share(float(np.mean(values)), float(student.ppf(0.975, len(values) - 1)) * spread)


Shares = Mapping[str, Mapping[str, Sequence[Mapping[str, Share]]]]
"""By split and arm, for each round, the shares of each count."""


def pooled(runs: Sequence[Mapping[str, Any]], scores: str = "scores") -> Shares:
    """Return by split and arm, for each round, the shares of each count over seeds."""
    found: dict[str, dict[str, list[dict[str, Share]]]] = {}
    for arm in ARMS:
        for first in runs[0][arm][scores]:
            split, number = first["split"], first["round"]
            own = [
                next(r for r in run[arm][scores] if (r["split"], r["round"]) == (split, number))
                for run in runs
            ]
            rounds = found.setdefault(split, {}).setdefault(arm, [])
            rounds.append({name: shares(own, name) for name in COUNTS})
    return found


def table_of(
    split: str,
    arms: Mapping[str, Sequence[Mapping[str, Share]]],
    untold: Mapping[str, Sequence[Mapping[str, Share]]],
    title: str,
) -> Table:
    """Return one split's table: for each arm, a row for each round."""
    table = Table(title=f"{split}: {title}", title_justify="left")
    for name in ("", "feedback"):
        table.add_column(name)
    for name in COUNTS:
        table.add_column(WORDS[name], justify="right")
    table.add_column(UNTOLD, justify="right")
    for arm, rounds in arms.items():
        table.add_section()
        for number, row in enumerate(rounds):
            told = "none" if number == 0 else f"{number} round{'s' if number > 1 else ''}"
            table.add_row(
                ARMS[arm] if number == 0 else "",
                told,
                *(str(row[name]) for name in COUNTS),
                str(untold[arm][number]["success_and_safe"]),
            )
    return table


def markdown(found: Shares, untold: Shares) -> str:
    """Return the shares as tables for a page, one for each split."""
    lines: list[str] = []
    for split, arms in found.items():
        lines += [f"**{split.replace('_', '-')} tasks**", ""]
        headings = ["", "feedback", *(WORDS[name] for name in COUNTS), UNTOLD]
        lines.append(f"| {' | '.join(headings)} |")
        lines.append("| --- | --- |" + " ---: |" * (len(COUNTS) + 1))
        for arm, rounds in arms.items():
            for number, row in enumerate(rounds):
                cells = [ARMS[arm] if number == 0 else "", str(number) if number else "none"]
                cells += [str(row[name]) for name in COUNTS]
                cells.append(str(untold[split][arm][number]["success_and_safe"]))
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def figure(found: Shares, path: Path, seeds: int) -> Path:
    """Draw safe and complete plans by round, and goal success beside them."""
    with figure_file(path, 9.0, 4.0) as drawn:
        axes = drawn.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for axis, (split, arms) in zip(axes, found.items(), strict=True):
            for number, (arm, rounds) in enumerate(arms.items()):
                x = np.arange(len(rounds))
                colour, marker = SERIES[number], MARKERS[number]
                both = [row["success_and_safe"] for row in rounds]
                axis.errorbar(
                    x + 0.04 * (number - 1),
                    [share.mean for share in both],
                    yerr=np.nan_to_num([share.half for share in both]),
                    color=colour,
                    marker=marker,
                    capsize=3,
                    label=f"{ARMS[arm]}: goal reached, all rules kept",
                )
                axis.plot(
                    x + 0.04 * (number - 1),
                    [row["success"].mean for row in rounds],
                    color=colour,
                    linestyle=":",
                    label=f"{ARMS[arm]}: goal reached",
                )
            axis.set_title(split.replace("_", "-") + " tasks")
            axis.set_xticks(range(ROUNDS))
            axis.set_xlabel("rounds of feedback")
            axis.set_ylim(-0.02, 1.02)
        axes[0].set_ylabel(f"share of tasks ({seeds} seed{'s' * (seeds > 1)})")
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """Train, score, print and write; returns 0."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    options = parser("trained_planner", __doc__ or "")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--runs", type=Path, default=Path("runs/trained_planner"))
    options.add_argument(
        "--validation", action="store_true", help="score on validation tasks, to choose settings"
    )
    options.add_argument("--markdown", action="store_true", help="print tables for a page, too")
    options.add_argument("--train", type=int, help="training tasks")
    options.add_argument("--epochs", type=float, help="passes of supervised fine-tuning")
    options.add_argument("--steps", type=int, help="steps of GRPO")
    given = options.parse_args(argv)
    settings = chosen(given)
    console = Console(width=150) if not sys.stdout.isatty() else Console()
    experiment = Experiment(settings, given.runs, lambda text: console.print(text, highlight=False))
    seeds = 1 if given.quick else given.seeds
    runs = [experiment.run(seed) for seed in range(seeds)]
    found, untold = pooled(runs), pooled(runs, "told_nothing")
    seconds = sum(sum(stage["cpu_seconds"].values()) for run in runs for stage in run.values())
    title = f"{settings.test} tasks, {seeds} seeds (mean ± half the 95% interval)"
    for split, arms in found.items():
        console.print(table_of(split, arms, untold[split], title))
    if given.markdown:
        print(markdown(found, untold))
    console.print(f"{seconds / 60:.0f} minutes of CPU time", highlight=False)
    content = {
        "settings": asdict(settings),
        "seeds": runs,
        "shares": _plain(found),
        "shares_told_only_that_it_is_wrong": _plain(untold),
        "cpu_seconds": seconds,
    }
    path = save("trained_planner", content, given.output, console)
    picture = figure(found, path.with_suffix(".png"), seeds)
    console.print(f"wrote {picture}", highlight=False)
    return 0


def chosen(given: Any) -> Settings:
    """Return the settings that the command line asks for."""
    settings = Settings(validation=given.validation)
    if given.quick:
        settings = replace(
            settings,
            train=28,
            test=14,
            imitation=Imitation(epochs=1),
            reinforcement=Reinforcement(steps=1, prompts=2, group=4, most_words=16),
        )
    if given.train is not None:
        settings = replace(settings, train=given.train)
    if given.epochs is not None:
        settings = replace(settings, imitation=replace(settings.imitation, epochs=given.epochs))
    if given.steps is not None:
        settings = replace(
            settings, reinforcement=replace(settings.reinforcement, steps=given.steps)
        )
    return settings


def _plain(found: Shares) -> dict[str, Any]:
    return {
        split: {
            arm: [{name: share._asdict() for name, share in row.items()} for row in rounds]
            for arm, rounds in arms.items()
        }
        for split, arms in found.items()
    }


if __name__ == "__main__":
    sys.exit(main())
