"""What an audit leaves on disk: tables, figures, and a report to read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safe_rl.data.parquet import write_table
from safe_rl.errors import ConfigurationError, MissingDependencyError
from safe_rl.evaluation.audit.drifting import drift_notes
from safe_rl.evaluation.audit.engine import AuditPlan, Outcome
from safe_rl.evaluation.audit.markdown import audit_markdown
from safe_rl.evaluation.audit.pooling import (
    AuditedEpisodes,
    Columns,
    episode_table,
    verdict_table,
    violation_table,
)
from safe_rl.evaluation.audit.rates import (
    RATES,
    EpisodeRates,
    RateRow,
    Task,
    episode_rates,
    triggered_by_task,
)
from safe_rl.evaluation.audit.results import FileResult
from safe_rl.evaluation.bootstrap import DEFAULT_CONFIDENCE, DEFAULT_RESAMPLES
from safe_rl.evaluation.episode_files import write_episode
from safe_rl.evaluation.figures import per_trigger_figure
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.report import PolicyReport, estimate_json, write_report
from safe_rl.evaluation.timeline import replay
from safe_rl.files import write_whole
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import constraints_of


@dataclass(frozen=True)
class Part:
    """One set of episodes with everything that is said of it.

    Attributes:
        report: as an evaluation has it.
        rates: the rollout-level metrics.
    """

    report: PolicyReport
    rates: EpisodeRates


@dataclass(frozen=True)
class AuditReport:
    """A whole audit.

    Attributes:
        audited: the episodes.
        parts: all episodes; then the successful and the failed ones, where there are both.
        skipped: files that could not be audited, with the reason.
        seconds: time of each stage, summed over the files, in seconds of the processes.
        notes: sentences that a reader needs.
    """

    audited: AuditedEpisodes
    parts: tuple[Part, ...]
    skipped: tuple[Outcome, ...]
    seconds: Mapping[str, float]
    notes: tuple[str, ...]


def make_report(
    plan: AuditPlan,
    audited: AuditedEpisodes,
    outcomes: Sequence[Outcome],
    results: Sequence[FileResult],
    *,
    described: Mapping[str, Any],
    reference: Mapping[Task, frozenset[str]] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> AuditReport:
    """Compute everything that is reported.

    Args:
        plan: what was audited.
        audited: the episodes of all files.
        outcomes: of all files.
        results: of those that could be audited.
        described: what was audited and how, for ``report.json``.
        reference: the specifications that demonstrations trigger, by task; default: those that
            some audited episode of the task triggers.
        resamples: bootstrap replicates.
        confidence: of the intervals.
        seed: of the resampling.
    """
    if reference is None:
        reference = triggered_by_task(audited.monitored, audited.tasks)
    constraints = constraints_of(plan.specs)
    sampling: dict[str, Any] = {"resamples": resamples, "confidence": confidence, "seed": seed}
    parts = []
    for name, own in _parts(audited):
        scores = score(own.monitored.records, constraints, **sampling)
        rates = episode_rates(own.monitored, own.tasks, reference, **sampling)
        parts.append(Part(PolicyReport(name, scores, described), rates))
    skipped = tuple(outcome for outcome in outcomes if outcome.result is None)
    seconds: dict[str, float] = {}
    for result in results:
        for stage, time in result.seconds.items():
            seconds[stage] = seconds.get(stage, 0.0) + time
    shown = {str(o.recording.path) for o in outcomes if o.recording.kind == "demonstrations"}
    every = zip(audited.files, audited.numbers.tolist(), audited.drifts, strict=True)
    drifts = [own for own in every if own[0] in shown]
    notes = (*_notes(audited, skipped, len(outcomes)), *drift_notes(drifts, plan.settings))
    return AuditReport(audited, tuple(parts), skipped, seconds, notes)


def _parts(audited: AuditedEpisodes) -> list[tuple[str, AuditedEpisodes]]:
    found = [("all episodes", audited)]
    success = audited.monitored.records.success
    if success is not None and success.any() and not success.all():
        found.append(("successful", audited.select(success)))
        found.append(("failed", audited.select(~success)))
    return found


def _notes(audited: AuditedEpisodes, skipped: Sequence[Outcome], files: int) -> tuple[str, ...]:
    records = audited.monitored.records
    notes = []
    if skipped:
        notes.append(f"{len(skipped)} of {files} files could not be audited and are left out")
    if records.success is None:
        notes.append("success is not known of every episode, so nothing is split by it")
    if records.engaged is None:
        notes.append(
            "contact is not known of every episode, so the rates that need engagement are not known"
        )
    idle = np.asarray(records.columns.ids)[records.triggered.sum(axis=0) == 0].tolist()
    if idle:
        notes.append(f"never triggered, hence not tested: {', '.join(idle)}")
    return tuple(notes)


def write_audit(
    folder: Path,
    plan: AuditPlan,
    report: AuditReport,
    names: Sequence[str],
    results: Sequence[FileResult],
    *,
    timelines: int = 3,
) -> tuple[list[Path], list[str]]:
    """Write the tables, the report and the figures.

    Args:
        folder: of the audit.
        plan: what was audited.
        report: see :func:`make_report`.
        names: of the audited files.
        results: theirs.
        timelines: how many violated episodes are drawn and explained step by step.

    Returns:
        The paths written, and sentences about what could not be written, because an optional
        package is missing.
    """
    extra = {
        "episode_metrics": {p.report.name: rates_json(p.rates) for p in report.parts},
        "episode_metric_meanings": dict(RATES),
        "skipped": [
            {"file": str(outcome.recording.path), "reason": outcome.problem}
            for outcome in report.skipped
        ],
        "triggered": [
            {"env_id": env_id, "instruction": words, "specifications": sorted(ids)}
            for (env_id, words), ids in triggered_by_task(
                report.audited.monitored, report.audited.tasks
            ).items()
        ],
        "seconds": dict(report.seconds),
        "notes": list(report.notes),
    }
    paths = [*write_report(folder, [part.report for part in report.parts], extra)]
    missing: dict[str, None] = {}
    for name, columns in (
        ("episodes", episode_table(report.audited)),
        ("verdicts", verdict_table(report.audited)),
        ("violations", violation_table(report.audited)),
        ("episode_metrics", _rate_columns(report.parts)),
    ):
        paths.append(write_csv(folder / f"{name}.csv", columns))
        try:
            paths.append(write_table(folder / f"{name}.parquet", columns))
        except MissingDependencyError as error:
            missing[str(error)] = None
    pictures: list[Path] = []
    try:
        reports = [part.report for part in report.parts]
        pictures.append(per_trigger_figure(reports, folder / "per_trigger.png"))
        pictures += _episodes(folder, plan.specs, names, results, timelines)
    except MissingDependencyError as error:
        missing[str(error)] = None
    text = folder / "report.md"
    text.write_text(
        audit_markdown(
            [(part.report, part.rates) for part in report.parts],
            report.audited,
            [(str(outcome.recording.path), outcome.problem) for outcome in report.skipped],
            report.notes,
            [path.name for path in pictures],
        ),
        encoding="utf-8",
    )
    return [text, *paths, *pictures], list(missing)


def _episodes(
    folder: Path, specs: SpecSet, names: Sequence[str], results: Sequence[FileResult], most: int
) -> list[Path]:
    """Draw and explain the first violated episodes."""
    kept = [(n, r, k) for n, r in zip(names, results, strict=True) for k in r.kept][:most]
    paths: list[Path] = []
    for number, (name, result, episode) in enumerate(kept, start=1):
        bound = specs.bind(result.objects) if specs.properties else specs
        letters = [
            dict(zip(bound.propositions, map(bool, row), strict=True)) for row in episode.letters
        ]
        # only what was violated: twenty specifications of every object make no readable picture
        own = {v.specification for v in result.violations if v.episode == episode.episode}
        violated = bound.select(spec_id for spec_id in bound.ids if spec_id in own)
        timeline = replay(violated, letters, truncated=episode.truncated)
        title = f"{name}, episode {episode.episode}"
        paths += write_episode(timeline, folder, number, episode=episode.episode, title=title)
    return paths


def read_reference(folder: Path) -> dict[Task, frozenset[str]]:
    """Read which specifications were triggered in each task of an earlier audit.

    Raises:
        ConfigurationError: the folder holds no report of an audit.
    """
    path = folder / "report.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {
            (row["env_id"], row["instruction"]): frozenset(row["specifications"])
            for row in document["triggered"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path}: not the report of an audit ({type(error).__name__}: {error}); give the "
            "folder that safe-rl audit wrote for the demonstrations"
        ) from None


def write_csv(path: Path, columns: Columns) -> Path:
    """Write columns as CSV, as a whole; ``None`` is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_whole(path, text.getvalue())
    return path


def rates_json(rates: EpisodeRates) -> dict[str, Any]:
    """Return the rollout-level metrics as plain data."""

    def row(own: RateRow) -> dict[str, Any]:
        return {
            "name": own.name,
            **{name: estimate_json(getattr(own, name)) for name in RATES},
        }

    return {
        "specifications": [row(own) for own in rates.specifications],
        "categories": [row(own) for own in rates.categories],
        "pooled": row(rates.pooled),
        "coverage": estimate_json(rates.coverage),
    }


def _rate_columns(parts: Sequence[Part]) -> Columns:
    columns: Columns = {"episodes": [], "level": [], "name": []}
    columns |= {name: [] for name in RATES}
    for part in parts:
        rates = part.rates
        for level, rows in (
            ("specification", rates.specifications),
            ("category", rates.categories),
            ("all", (rates.pooled,)),
        ):
            for row in rows:
                columns["episodes"].append(part.report.name)
                columns["level"].append(level)
                columns["name"].append(row.name)
                for name in RATES:
                    columns[name].append(getattr(row, name).value)
    return columns
