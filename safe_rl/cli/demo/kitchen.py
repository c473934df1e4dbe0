"""The exact part of the demo: a tabular kitchen whose optimum under the limits is known.

Two trained policies, without limits and under them, are set beside the constrained optimum, which
linear programming gives exactly. All three are scored by the same monitors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from safe_rl.algos.exact import (
    Evaluation,
    ProductCMDP,
    evaluate_policy,
    product_cmdp,
    solve_lp,
)
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.demo.runs import NAMES
from safe_rl.cli.exact_scores import (
    ExactLimit,
    TablePolicy,
    exact_json,
    exact_limits,
    policy_table,
)
from safe_rl.cli.policies import trained_policy
from safe_rl.cli.settings import TrainSettings
from safe_rl.envs.kitchen_grid import KitchenGridVector
from safe_rl.evaluation.curves import (
    Panel,
    constraint_panels,
    learning_curve_figure,
    read_run,
)
from safe_rl.evaluation.figures import per_trigger_figure, timeline_figure
from safe_rl.evaluation.metrics import CountRow, score
from safe_rl.evaluation.report import PolicyReport, write_report
from safe_rl.evaluation.rollouts import Policy, roll_out
from safe_rl.evaluation.tables import KIND_UNITS, percent, specification_table
from safe_rl.evaluation.timeline import replay
from safe_rl.wrappers import VectorProductMDP

OPTIMUM = "LP optimum"


@dataclass(frozen=True)
class Row:
    """One policy of the demo.

    Attributes:
        name: heading of its column.
        exact: what it earns and costs in expectation, exactly.
        limits: each limit beside its exact value.
        sampled: its scores from sampled episodes, by the monitors.
    """

    name: str
    exact: Evaluation
    limits: tuple[ExactLimit, ...]
    sampled: PolicyReport


def score_kitchen(
    runs: Mapping[str, TrainSettings], output: Path, console: Console, *, seed: int, episodes: int
) -> list[Row]:
    """Solve the linear programme, score trained policies beside it, print, and write the report.

    Args:
        runs: finished ones, by algorithm.
        output: folder of report and figures.
        console: gets the tables.
        seed: of the sampled episodes.
        episodes: sampled per policy.

    Raises:
        SafeRLError: see the parts.
    """
    settings = runs["ppo_lagrangian_jax"]
    specs = build_specs(settings.specs)
    product = build_product(settings.env, settings.specs, specs, num_envs=64)
    kitchen = product.unwrapped
    assert isinstance(kitchen, KitchenGridVector)
    cmdp = product_cmdp(kitchen.model, product.specs)
    solution = solve_lp(cmdp)
    unlimited = solve_lp(cmdp, ())
    console.print(
        f"Solved KitchenGrid's constrained optimum by linear programming: {cmdp.num_states:,} "
        f"product states, {len(cmdp.constraints)} limits.",
        highlight=False,
    )
    rows = []
    for algo, own in runs.items():
        policy = trained_policy(own.run_dir, product, seed)
        table = policy_table(policy, product, cmdp)
        rows.append(_row(NAMES[algo], table, policy, product, cmdp, episodes, seed))
    optimum = TablePolicy(solution.policy, product, cmdp, seed)
    rows.append(_row(OPTIMUM, solution.policy, optimum, product, cmdp, episodes, seed))
    product.close()

    console.print()
    console.print(comparison_table(rows))
    for row in rows:
        console.print(specification_table(row.sampled))
    extra = {
        "exact": {row.name: exact_json(row.limits, row.exact) for row in rows},
        "unconstrained_optimum": unlimited.value,
        "multipliers_at_the_optimum": dict(
            zip([c.id for c in cmdp.constraints], solution.multipliers.tolist(), strict=True)
        ),
    }
    json_path, csv_path = write_report(output, [row.sampled for row in rows], extra)
    paths = [json_path, csv_path, *_figures(rows, runs, cmdp, solution.value, output)]
    paths += _timelines(runs, output, seed)
    console.print()
    console.print(verdict(rows))
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return rows


def _row(
    name: str,
    table: NDArray[np.float64],
    policy: Policy,
    product: VectorProductMDP,
    cmdp: ProductCMDP,
    episodes: int,
    seed: int,
) -> Row:
    exact = evaluate_policy(cmdp, table)
    # other seeds than in training, whose environments took seed, seed + 1, ...
    rollouts = roll_out(product, policy, episodes, seed=seed + 10_000)
    scores = score(rollouts.records, product.constraints, seed=seed)
    settings = {"env": "kitchen_grid", "specs": "kitchen", "episodes": episodes, "seed": seed}
    return Row(name, exact, exact_limits(cmdp, exact), PolicyReport(name, scores, settings))


def comparison_table(rows: list[Row]) -> Table:
    """Return the policies side by side: return, each limit (exact), and N, V, V/N (sampled)."""
    best = next(row.exact.value for row in rows if row.name == OPTIMUM)
    table = Table(
        title="KitchenGrid: what each policy earns, and whether it keeps its limits",
        title_justify="left",
        caption="Returns and limits are exact (solved on the product of environment and monitors); "
        f"N, V and V/N are counted by the monitors in {rows[0].sampled.scores.episodes:,} sampled "
        "episodes, with 95% bootstrap intervals.",
        caption_justify="left",
    )
    table.add_column("")
    table.add_column("limit", justify="right")
    for row in rows:
        table.add_column(row.name, justify="right")
    table.add_row("return per episode", "", *(f"{row.exact.value:.3f}" for row in rows))
    table.add_row("  of the optimum", "", *(f"{row.exact.value / best:.1%}" for row in rows))
    table.add_section()
    for position, limit in enumerate(rows[0].limits):
        table.add_row(
            limit.id,
            f"{KIND_UNITS[limit.kind]} ≤ {limit.limit:g}",
            *(_limit_text(row.limits[position]) for row in rows),
        )
    for index, counts in enumerate(rows[0].sampled.scores.specifications):
        table.add_section()
        own = [row.sampled.scores.specifications[index] for row in rows]
        table.add_row(f"{counts.name}: N", "", *(f"{row.triggered:,}" for row in own))
        table.add_row("  V", "", *(f"{row.violations:,}" for row in own))
        table.add_row("  V/N", "", *(_ratio(row) for row in own))
    return table


def _limit_text(limit: ExactLimit) -> Text:
    if limit.value is None:
        return Text("never triggered", style="yellow")
    value = f"{limit.value:.4f} "
    if limit.met:
        return Text(value) + Text("met", style="green")
    if limit.within_tolerance:
        return Text(value) + Text("met within 5%", style="green")
    return Text(value) + Text("EXCEEDED", style="bold red")


def _ratio(row: CountRow) -> str:
    return percent(row.per_trigger)


def verdict(rows: list[Row]) -> Text:
    """Say in one sentence what the table shows."""
    best = next(row for row in rows if row.name == OPTIMUM)
    constrained = next(row for row in rows if row.name == NAMES["ppo_lagrangian_jax"])
    share = constrained.exact.value / best.exact.value
    exceeded = [limit.id for limit in constrained.limits if not limit.within_tolerance]
    earns = f"earns {share:.1%} of the constrained optimum"
    if exceeded:
        text = f"PPO-Lagrangian does NOT keep {', '.join(exceeded)}, and {earns}."
    else:
        strictly = all(limit.met for limit in constrained.limits)
        words = "keeps every limit" if strictly else "keeps every limit within 5%"
        text = f"PPO-Lagrangian {words} and {earns}."
    return Text(text, style="green" if not exceeded else "bold red")


def _figures(
    rows: list[Row],
    runs: Mapping[str, TrainSettings],
    cmdp: ProductCMDP,
    optimum: float,
    output: Path,
) -> list[Path]:
    curves = [read_run(settings.run_dir, NAMES[algo]) for algo, settings in runs.items()]
    bounds = {c.id: (c.kind, c.threshold) for c in cmdp.constraints}
    panels = constraint_panels(curves, bounds)
    first = panels[0]
    panels[0] = Panel(first.column, first.title, reference=(OPTIMUM, optimum))
    return [
        learning_curve_figure(
            curves, panels, output / "learning_curves.png", title="Training on KitchenGrid"
        ),
        per_trigger_figure([row.sampled for row in rows], output / "per_trigger.png"),
    ]


def _timelines(runs: Mapping[str, TrainSettings], output: Path, seed: int) -> list[Path]:
    """Draw one episode of the unconstrained policy: what a violation looks like."""
    settings = runs["ppo_jax"]
    product = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=8)
    policy = trained_policy(settings.run_dir, product, seed)
    rollouts = roll_out(product, policy, 64, seed=seed + 20_000, keep_letters=64)
    product.close()
    # the one that shows most: recoveries and violations, in an episode that fits on the page
    kept = [r for r in rollouts.recordings if 20 <= len(r.letters) <= 70] or rollouts.recordings
    chosen = max(kept, key=lambda r: int(rollouts.records.violations[r.episode].sum()))
    names = product.specs.propositions
    letters = [dict(zip(names, map(bool, row), strict=True)) for row in chosen.letters]
    timeline = replay(product.specs, letters, truncated=chosen.truncated)
    title = f"One episode of {NAMES['ppo_jax']} on KitchenGrid"
    return [timeline_figure(timeline, output / "timeline.png", title=title)]
