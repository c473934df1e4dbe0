"""The continuous part of the demo: a tabletop task, scored by the monitors, and a film of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.demo.runs import NAMES
from safe_rl.cli.film import film
from safe_rl.cli.policies import trained_policy
from safe_rl.cli.settings import TrainSettings
from safe_rl.evaluation.curves import constraint_panels, learning_curve_figure, read_run
from safe_rl.evaluation.figures import per_trigger_figure
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.report import PolicyReport, write_report
from safe_rl.evaluation.rollouts import roll_out
from safe_rl.evaluation.tables import constraint_table, outcome_table, specification_table


def score_tabletop(
    runs: Mapping[str, TrainSettings], output: Path, console: Console, *, seed: int, episodes: int
) -> list[PolicyReport]:
    """Score trained policies, print, and write report, figures and film.

    The episodes are run under Gymnasium's API with the numpy monitors, apart from the program in
    which the policies were trained.

    Args:
        runs: finished ones, by algorithm.
        output: folder of report, figures and film.
        console: gets the tables.
        seed: of the sampled episodes.
        episodes: sampled per policy.

    Raises:
        SafeRLError: see the parts.
    """
    reports = []
    for algo, own in runs.items():
        product = build_product(own.env, own.specs, build_specs(own.specs), num_envs=64)
        policy = trained_policy(own.run_dir, product, seed)
        # other seeds than in training
        records = roll_out(product, policy, episodes, seed=seed + 10_000).records
        scores = score(records, product.constraints, seed=seed)
        described = {"env": own.env.name, "specs": own.specs.name}
        reports.append(
            PolicyReport(NAMES[algo], scores, {**described, "episodes": episodes, "seed": seed})
        )
        bounds = {c.id: (c.kind, c.threshold) for c in product.constraints}
        product.close()
    console.print()
    console.print(outcome_table(reports))
    for report in reports:
        console.print(specification_table(report))
        console.print(constraint_table(report))
    curves = [read_run(own.run_dir, NAMES[algo]) for algo, own in runs.items()]
    name = next(iter(runs.values())).env.name
    paths = [
        *write_report(output, reports),
        per_trigger_figure(reports, output / "per_trigger.png"),
        learning_curve_figure(
            curves,
            constraint_panels(curves, bounds),
            output / "learning_curves.png",
            title=f"Training on {name}",
        ),
        film([Path(own.run_dir) for own in runs.values()], output / "film.gif", seed=seed + 10_000),
    ]
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return reports
