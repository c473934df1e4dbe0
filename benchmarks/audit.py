"""How long an audit of recorded episodes takes, stage by stage, against real time at 20 Hz.

The recordings are made here: 200 scripted episodes of ``tabletop/place``, half careful and half
hasty, with every proposition that SafeManip's twenty specifications use. They are audited as
``safe-rl audit`` does it, with two processes and with one, files, tables and figures included.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import met, parser, save
from safe_rl.data import EpisodeWriter, find_recordings
from safe_rl.evaluation.audit import (
    AuditPlan,
    FileResult,
    make_report,
    pool,
    run_audit,
    write_audit,
)
from safe_rl.evaluation.audit.scenes import record_tabletop
from safe_rl.specs import load_specs

RATE = 20.0
"""Frames per second of real time."""
TARGET = 20.0
"""Times faster than real time, on two cores."""


def write_recordings(folder: Path, task: str, episodes: int) -> int:
    """Write the episodes, ten to a file; returns how many monitors they need."""
    recording = record_tabletop(task, episodes)
    specs = load_specs("safemanip").bind(recording.objects)
    writer = EpisodeWriter(folder, per_file=10)
    writer.extend(recording.ground(recording.settings, specs.propositions))
    writer.flush()
    return len(specs.instances)


def audit(recorded: Path, out: Path, workers: int) -> dict[str, Any]:
    """Audit once from nothing and return the elapsed seconds of each stage.

    The stages of the files (hash, read, compile, monitor, explain) are sums over the processes;
    ``files``, ``report`` and ``write`` are elapsed time and make up ``total``.
    """
    shutil.rmtree(out, ignore_errors=True)
    plan = AuditPlan(load_specs("safemanip"))
    start = time.perf_counter()
    outcomes = run_audit(plan, find_recordings([recorded]), out / "files", workers=workers)
    audited_at = time.perf_counter()
    results = [FileResult.load(own.result) for own in outcomes if own.result is not None]
    names = [own.recording.path.name for own in outcomes]
    pooled = pool(names, results)
    report = make_report(plan, pooled, outcomes, results, described={})
    reported_at = time.perf_counter()
    write_audit(out, plan, report, names, results)
    end = time.perf_counter()
    records = pooled.monitored.records
    return {
        "workers": workers,
        "episodes": len(pooled),
        "frames": int(records.lengths.sum()) + len(pooled),
        "violations": int(records.violations.sum()),
        "stages": dict(report.seconds),
        "files": audited_at - start,
        "report": reported_at - audited_at,
        "write": end - reported_at,
        "total": end - start,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and keep its results."""
    options = parser("audit", __doc__ or "")
    given = options.parse_args(argv)
    console = Console()
    task, episodes = ("lift", 2) if given.quick else ("place", 200)
    with tempfile.TemporaryDirectory() as scratch:
        recorded = Path(scratch) / "episodes"
        monitors = write_recordings(recorded, task, episodes)
        size = sum(path.stat().st_size for path in recorded.iterdir())
        runs = [audit(recorded, Path(scratch) / "audit", workers) for workers in (2, 1)]
    for run in runs:
        run["times_real_time"] = run["frames"] / RATE / run["total"]
    table = Table(title=f"{episodes} episodes, {runs[0]['frames']} frames, {monitors} monitors")
    for heading in (
        "",
        *(f"{run['workers']} process{'es' * (run['workers'] > 1)}" for run in runs),
    ):
        table.add_column(heading, justify="right" if heading else "left")
    for stage in runs[0]["stages"]:
        cells = (f"{run['stages'][stage]:.2f} s" for run in runs)
        table.add_row(f"{stage} (sum of processes)", *cells)
    table.add_section()
    for stage in ("files", "report", "write", "total"):
        table.add_row(f"{stage} (elapsed)", *(f"{run[stage]:.2f} s" for run in runs))
    table.add_row("times real time", *(f"{run['times_real_time']:,.0f}" for run in runs))
    table.add_row(
        f"at least {TARGET:g}",
        *(met(run["times_real_time"], TARGET, at_most=False) for run in runs),
    )
    console.print(table)
    results = {
        "target_times_real_time": TARGET,
        "rate": RATE,
        "monitors": monitors,
        "bytes": size,
        "runs": runs,
    }
    save("audit", results, given.output, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
