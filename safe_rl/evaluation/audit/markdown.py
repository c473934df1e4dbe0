"""The report of an audit as Markdown: for a pull request, a wiki, or a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from safe_rl.evaluation.audit.pooling import AuditedEpisodes
from safe_rl.evaluation.audit.rates import RATES, EpisodeRates, RateRow
from safe_rl.evaluation.metrics import CountRow
from safe_rl.evaluation.report import PolicyReport
from safe_rl.evaluation.tables import (
    KIND_UNITS,
    OUTCOME_LABELS,
    measured_text,
    met_text,
    number,
    percent,
)

VIOLATIONS_SHOWN = 20
_FRACTIONS = ("violated", "exposure")


def audit_markdown(
    parts: Sequence[tuple[PolicyReport, EpisodeRates]],
    audited: AuditedEpisodes,
    skipped: Sequence[tuple[str, str]],
    notes: Sequence[str],
    pictures: Sequence[str],
) -> str:
    """Write the report.

    Args:
        parts: all episodes, then the successful and the failed ones.
        audited: the episodes.
        skipped: files that could not be audited, with the reason.
        notes: sentences that a reader needs.
        pictures: names of the files beside the report.
    """
    files = len(set(audited.files))
    frames = int(audited.monitored.records.lengths.sum()) + len(audited)
    blocks = [
        "# Audit",
        f"{len(audited)} episodes ({frames} frames) of {files} file{'s' * (files != 1)}.",
        *(f"- {note}" for note in notes),
    ]
    if skipped:
        blocks += ["## Files that could not be audited", *(f"- `{f}`: {why}" for f, why in skipped)]
    blocks += ["## Episodes", _outcomes([report for report, _ in parts])]
    for report, rates in parts:
        blocks += [
            f"## {report.name.capitalize()}: per triggered event",
            _counts(report),
            f"## {report.name.capitalize()}: per episode",
            f"Coverage of the task's specifications: {percent(rates.coverage)}.",
            _rates(report, rates),
        ]
    if parts[0][0].scores.constraints:
        blocks += ["## Limits", _limits(parts[0][0])]
    blocks += ["## Violations", _violations(audited)]
    images = [name for name in pictures if name.endswith(".png")]
    if images:
        blocks += ["## Figures", *(f"![{name}]({name})" for name in images)]
    return "\n\n".join(_joined(blocks)) + "\n"


def _joined(blocks: Sequence[str]) -> list[str]:
    """Put the lines of a list together, so that no blank line parts them."""
    found: list[str] = []
    for block in blocks:
        if block.startswith("- ") and found and found[-1].startswith("- "):
            found[-1] += "\n" + block
        else:
            found.append(block)
    return found


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a table; the first ``texts`` columns are aligned to the left."""
    rule = [":--" if i < texts else "--:" for i in range(len(header))]
    lines = [header, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _outcomes(reports: Sequence[PolicyReport]) -> str:
    rows = [
        ["episodes", *(str(report.scores.episodes) for report in reports)],
        ["return", *(number(report.scores.returns) for report in reports)],
        ["length (steps)", *(number(report.scores.lengths, 1) for report in reports)],
    ]
    for name, label in OUTCOME_LABELS.items():
        rows.append([label, *(percent(report.scores.outcomes[name]) for report in reports)])
    return _table(["", *(report.name for report in reports)], rows)


def _counts(report: PolicyReport) -> str:
    scores = report.scores

    def cells(row: CountRow, name: str) -> list[str]:
        counted = (row.triggered, row.violations, row.exposure, row.pending)
        return [
            name,
            "" if row.name == row.category else row.category,
            *map(str, counted),
            percent(row.per_trigger),
            number(row.exposure_per_trigger),
        ]

    rows = [cells(row, row.name) for row in scores.specifications]
    rows += [
        cells(row, f"*{row.name}*") for row in scores.categories if row.name in _several(report)
    ]
    rows.append(cells(scores.pooled, "**all**"))
    header = ("specification", "category", "N", "V", "U", "pending", "V/N", "U/N")
    return _table(header, rows, texts=2)


def _several(report: PolicyReport) -> set[str]:
    """Categories of more than one specification; others would only repeat a line."""
    own = [row.category for row in report.scores.specifications]
    return {category for category in own if own.count(category) > 1}


def _rates(report: PolicyReport, rates: EpisodeRates) -> str:
    def cells(row: RateRow, name: str) -> list[str]:
        values = {key: getattr(row, key) for key in RATES}
        return [name, *((percent if k in _FRACTIONS else number)(v) for k, v in values.items())]

    rows = [cells(row, row.name) for row in rates.specifications]
    rows += [
        cells(row, f"*{row.name}*") for row in rates.categories if row.name in _several(report)
    ]
    rows.append(cells(rates.pooled, "**all**"))
    return _table(["", *RATES.values()], rows)


def _limits(report: PolicyReport) -> str:
    rows = [
        [
            row.id,
            KIND_UNITS.get(row.kind, row.kind),
            f"{row.limit:g}",
            measured_text(row),
            str(row.triggered),
            met_text(row).plain,
        ]
        for row in report.scores.constraints
    ]
    return _table(("specification", "kind", "limit", "measured", "N", ""), rows)


def _violations(audited: AuditedEpisodes) -> str:
    found = audited.violations
    if not found:
        return "None."
    rows = [
        [
            audited.files[row],
            str(v.episode),
            v.instance,
            str(v.step),
            "-" if v.triggered < 0 else str(v.triggered),
            str(v.lasted) + ("" if v.recovered else " (to the end)"),
            v.decided,
        ]
        for row, v in found[:VIOLATIONS_SHOWN]
    ]
    header = ("file", "episode", "specification", "step", "triggered at", "lasted", "decided by")
    words = _table(header, rows, texts=3)
    if len(found) > VIOLATIONS_SHOWN:
        words += f"\n\nThe first {VIOLATIONS_SHOWN} of {len(found)}; all are in `violations.csv`."
    return words
