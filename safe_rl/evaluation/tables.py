"""Rich tables of the scores, as `eval.py` and the demo print them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from safe_rl.evaluation.bootstrap import Estimate
from safe_rl.evaluation.metrics import ConstraintRow, CountRow
from safe_rl.evaluation.report import PolicyReport

OUTCOME_LABELS = {
    "success": "success",
    "ssr": "SSR (success and safe)",
    "unsafe_success": "successes that violate",
    "safe": "Safe",
    "svr": "SVR (violates once engaged)",
    "engaged": "Eng.",
    "evr": "EVR (violates | engaged)",
    "vacuous_safe": "Vacuous-safe",
    "engaged_safe": "Eng.&Safe",
    "safe_given_engaged": "Safe|Eng.",
    "any_violation": "any violation",
}

KIND_UNITS = {
    "episode": "per episode",
    "probability": "P(any)",
    "per_trigger": "V/N",
}


def percent(estimate: Estimate | None) -> str:
    """Write a rate as a percentage with its interval; ``n/a`` without a denominator.

    >>> percent(Estimate(1, 8, 0.05, 0.3)), percent(Estimate(0, 0))
    ('12.5% [5.0, 30.0]', 'n/a')
    """
    if estimate is None or estimate.value is None:
        return "n/a"
    text = f"{100 * estimate.value:.1f}%"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return text


def number(estimate: Estimate | None, digits: int = 3) -> str:
    """Write a mean or a ratio with its interval; ``n/a`` without a denominator.

    >>> number(Estimate(3, 4, 0.5, 1.0), 2)
    '0.75 [0.50, 1.00]'
    """
    if estimate is None or estimate.value is None:
        return "n/a"
    text = f"{estimate.value:.{digits}f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return text


def met_text(row: ConstraintRow) -> Text:
    """Write whether a limit is met, and whether anything put it to the test.

    A per-trigger limit without a trigger is not met; it is not known.
    """
    if row.met is None:
        return Text("never triggered", style="yellow")
    if not row.met:
        return Text("EXCEEDED", style="bold red")
    if row.triggered == 0:
        return Text("met, never triggered", style="yellow")
    return Text("met", style="green")


def outcome_table(reports: Sequence[PolicyReport]) -> Table:
    """Return the per-episode rates, one column per policy."""
    table = Table(title="Episodes: success, safety and engagement", title_justify="left")
    table.add_column("")
    for report in reports:
        table.add_column(report.name, justify="right")
    table.add_row("episodes", *(str(report.scores.episodes) for report in reports))
    table.add_row("return", *(number(report.scores.returns) for report in reports))
    table.add_row("length (steps)", *(number(report.scores.lengths, 1) for report in reports))
    for name, label in OUTCOME_LABELS.items():
        table.add_row(label, *(percent(report.scores.outcomes[name]) for report in reports))
    return table


def specification_table(report: PolicyReport) -> Table:
    """Return N, V, U, pending, V/N and U/N per specification, by category, and pooled."""
    table = Table(
        title=f"Specifications: {report.name}, {report.scores.episodes} episodes",
        title_justify="left",
        caption="V/N and U/N are ratios of sums; n/a: never triggered, which is not a pass. "
        "Brackets: 95% bootstrap over episodes, where resamples differ.",
        caption_justify="left",
    )
    table.add_column("specification", overflow="fold")
    table.add_column("category", overflow="fold")
    for heading in ("N", "V", "U", "pending", "V/N", "U/N", "episodes violated"):
        table.add_column(heading, justify="right")
    scores = report.scores
    for row in scores.specifications:
        table.add_row(*_cells(row))
    # a category of one specification would only repeat the line above
    pooled = [
        row
        for row in scores.categories
        if sum(own.category == row.name for own in scores.specifications) > 1
    ]
    if pooled:
        table.add_section()
        for row in pooled:
            table.add_row(*_cells(row), style="dim")
    table.add_section()
    table.add_row(*_cells(scores.pooled), style="bold")
    return table


def _cells(row: CountRow) -> list[str]:
    category = "" if row.name == row.category else row.category
    return [
        row.name,
        category,
        str(row.triggered),
        str(row.violations),
        str(row.exposure),
        str(row.pending),
        percent(row.per_trigger),
        number(row.exposure_per_trigger),
        percent(row.episodes_violated) if row.triggered or row.violations else "n/a",
    ]


def measured_text(row: ConstraintRow) -> str:
    """Write a constraint's measured quantity in the unit of its limit."""
    return number(row.measured, 4)


def constraint_table(report: PolicyReport) -> Table:
    """Return each limit beside what was measured."""
    table = Table(title=f"Limits: {report.name}", title_justify="left")
    table.add_column("specification", overflow="fold")
    for heading in ("kind", "limit", "measured", "N", ""):
        table.add_column(heading, justify="right")
    for row in report.scores.constraints:
        table.add_row(
            row.id,
            KIND_UNITS.get(row.kind, row.kind),
            f"{row.limit:g}",
            measured_text(row),
            str(row.triggered),
            met_text(row),
        )
    return table
