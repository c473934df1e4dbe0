"""A report on disk: JSON with every figure, CSV tables for spreadsheets, the episodes themselves.

The JSON holds numbers as measured (no rounding) and ``null`` where there is nothing to measure, so
that a missing denominator can never be mistaken for a zero rate.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safe_rl.evaluation.bootstrap import Estimate
from safe_rl.evaluation.metrics import OUTCOMES, ConstraintRow, CountRow, Scores
from safe_rl.files import write_whole

FORMAT_VERSION = 1


@dataclass(frozen=True)
class PolicyReport:
    """The scores of one policy, with what is needed to run the evaluation again.

    Attributes:
        name: how tables and figures call the policy.
        scores: see :func:`safe_rl.evaluation.metrics.score`.
        settings: what was evaluated and how: environment, seed, number of episodes, checkpoint.
        notes: sentences that a reader needs, for example that contact was not reported.
    """

    name: str
    scores: Scores
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def estimate_json(estimate: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate as plain data; ``None`` where the quantity is not defined."""
    if estimate is None:
        return None
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
    }


def count_row_json(row: CountRow) -> dict[str, Any]:
    """Return one row of the table of counts as plain data."""
    return {
        "name": row.name,
        "category": row.category,
        "N": row.triggered,
        "V": row.violations,
        "U": row.exposure,
        "pending": row.pending,
        "V/N": estimate_json(row.per_trigger),
        "U/N": estimate_json(row.exposure_per_trigger),
        "episodes_violated": estimate_json(row.episodes_violated),
    }


def constraint_row_json(row: ConstraintRow) -> dict[str, Any]:
    """Return one limit and its measurement as plain data."""
    return {
        "id": row.id,
        "kind": row.kind,
        "limit": row.limit,
        "measured": estimate_json(row.measured),
        "signal": row.signal,
        "threshold": row.threshold,
        "N": row.triggered,
        "met": row.met,
    }


def policy_json(report: PolicyReport) -> dict[str, Any]:
    """Return one policy's report as plain data."""
    scores = report.scores
    return {
        "policy": report.name,
        "settings": dict(report.settings),
        "notes": list(report.notes),
        "episodes": scores.episodes,
        "return": estimate_json(scores.returns),
        "length": estimate_json(scores.lengths),
        "outcomes": {name: estimate_json(scores.outcomes[name]) for name in OUTCOMES},
        "specifications": [count_row_json(row) for row in scores.specifications],
        "categories": [count_row_json(row) for row in scores.categories],
        "pooled": count_row_json(scores.pooled),
        "constraints": [constraint_row_json(row) for row in scores.constraints],
        "coverage": estimate_json(scores.coverage),
    }


def write_json(path: str | Path, document: Mapping[str, Any]) -> Path:
    """Write a document so that a reader never sees half of it; returns the path.

    Raises:
        ValueError: a number is not finite; JSON has no word for it and readers choke on it.
    """
    path = Path(path)
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    write_whole(path, text + "\n")
    return path


def write_report(
    directory: str | Path,
    reports: Sequence[PolicyReport],
    extra: Mapping[str, Any] | None = None,
) -> tuple[Path, Path]:
    """Write ``report.json`` and ``specifications.csv`` for one or more policies.

    Args:
        directory: created if need be.
        reports: in the order in which tables show them.
        extra: further top-level entries of the JSON, for example the exact optimum.

    Returns:
        The two paths.
    """
    directory = Path(directory)
    document = {
        "format": FORMAT_VERSION,
        "outcome_meanings": dict(OUTCOMES),
        "policies": [policy_json(report) for report in reports],
        **(extra or {}),
    }
    json_path = write_json(directory / "report.json", document)
    csv_path = directory / "specifications.csv"
    with csv_path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_CSV_HEADER)
        for report in reports:
            scores = report.scores
            for level, rows in (
                ("specification", scores.specifications),
                ("category", scores.categories),
                ("all", (scores.pooled,)),
            ):
                writer.writerows(_csv_row(report.name, level, row) for row in rows)
    return json_path, csv_path


_CSV_HEADER = (
    "policy",
    "level",
    "name",
    "category",
    "N",
    "V",
    "U",
    "pending",
    "V/N",
    "V/N low",
    "V/N high",
    "U/N",
    "U/N low",
    "U/N high",
    "episodes violated",
)


def _csv_row(policy: str, level: str, row: CountRow) -> list[object]:
    cells: list[object] = [policy, level, row.name, row.category]
    cells += [row.triggered, row.violations, row.exposure, row.pending]
    for estimate in (row.per_trigger, row.exposure_per_trigger):
        cells += [_cell(estimate.value), _cell(estimate.low), _cell(estimate.high)]
    cells.append(_cell(row.episodes_violated.value))
    return cells


def _cell(value: float | None) -> object:
    return "n/a" if value is None else value
