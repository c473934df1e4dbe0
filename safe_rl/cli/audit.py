"""``safe-rl audit``: monitors over recorded episodes, many files at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from safe_rl.cli.objects import infer_objects, parse_objects
from safe_rl.cli.screen import counting_bar, screen
from safe_rl.data import Recording, Replay, find_recordings
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.audit import (
    AuditPlan,
    FileResult,
    Outcome,
    make_report,
    pool,
    read_reference,
    run_audit,
    write_audit,
)
from safe_rl.evaluation.tables import constraint_table, outcome_table, specification_table
from safe_rl.specs import load_specs
from safe_rl.wrappers.constraints import CostKind

CONTROL_RATE = 20.0
"""Frames per second of real time: all environments here are controlled at 20 Hz."""

SMALL = 20_000_000
"""Bytes of recordings that one process audits sooner than others have started."""


@dataclass(frozen=True)
class AuditOptions:
    """What the command line says; see ``safe-rl audit --help``."""

    paths: Sequence[Path]
    specs: str
    out: Path
    select: Sequence[str] = ()
    workers: int | None = None
    objects: Sequence[str] = ()
    infer: bool = False
    env: Sequence[str] = ()
    replay: str = "steps"
    cost: CostKind = "violation"
    reference: Path | None = None
    timelines: int = 3
    resamples: int = 2000
    seed: int = 0


def audit(options: AuditOptions) -> bool:
    """Audit recordings, print the tables, write everything; return whether every file was audited.

    Raises:
        SafeRLError: nothing could be audited, or an option is wrong.
    """
    start = perf_counter()
    console = screen()
    plan = _plan(options)
    reference = None if options.reference is None else read_reference(options.reference)
    recordings = find_recordings(options.paths)
    workers = options.workers or _processes(recordings)
    outcomes = _with_bar(plan, recordings, options.out / "files", workers)
    done = [outcome for outcome in outcomes if outcome.result is not None]
    if not done:
        raise ConfigurationError(
            f"none of {len(outcomes)} files could be audited; the first: "
            f"{outcomes[0].recording.path}: {outcomes[0].problem}"
        )
    names = [str(outcome.recording.path) for outcome in done]
    results = [FileResult.load(outcome.result) for outcome in done if outcome.result is not None]
    audited = pool(names, results)
    report = make_report(
        plan,
        audited,
        outcomes,
        results,
        described=_described(options, plan, len(outcomes)),
        reference=reference,
        resamples=options.resamples,
        seed=options.seed,
    )
    reports = [part.report for part in report.parts]
    console.print(outcome_table(reports))
    console.print(specification_table(reports[0]))
    if reports[0].scores.constraints:
        console.print(constraint_table(reports[0]))
    paths, missing = write_audit(
        options.out, plan, report, names, results, timelines=options.timelines
    )
    for note in (*report.notes, *missing):
        console.print(f"note: {note}", soft_wrap=True, highlight=False)
    for outcome in report.skipped:
        words = f"skipped: {outcome.recording.path}: {outcome.problem}"
        console.print(words, soft_wrap=True, highlight=False, markup=False)
    reused = sum(outcome.reused for outcome in done)
    frames = int(audited.monitored.records.lengths.sum()) + len(audited)
    elapsed = perf_counter() - start
    stages = ", ".join(f"{stage} {time:.2f} s" for stage, time in report.seconds.items())
    console.print(
        f"{len(audited)} episodes of {len(done)} files"
        + (f", {reused} of them audited before" if reused else "")
        + f", in {elapsed:.1f} s with {workers} process{'es' * (workers != 1)}: "
        f"{frames / CONTROL_RATE / elapsed:,.0f} times real time at {CONTROL_RATE:g} Hz ({stages})",
        soft_wrap=True,
        highlight=False,
    )
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return not report.skipped


def _plan(options: AuditOptions) -> AuditPlan:
    specs = load_specs(options.specs)
    if options.select:
        specs = specs.select(options.select)
    make_replay: Callable[[], Replay] | None = None
    settings: dict[str, Any] = {}
    if options.env:
        make_replay, settings = _replay(options.env, options.replay)
    return AuditPlan(
        specs=specs,
        objects=parse_objects(options.objects),
        infer=infer_objects if options.infer else None,
        cost=options.cost,
        make_replay=make_replay,
        settings=settings,
        keep=options.timelines,
    )


def _replay(overrides: Sequence[str], how: str) -> tuple[Callable[[], Replay], dict[str, Any]]:
    """Return what makes the simulator that ``--env`` names, and its settings as plain data."""
    from safe_rl.cli.named_env import named_env
    from safe_rl.evaluation.audit.simulators import make_replay

    env, _ = named_env(overrides)
    settings = {"env": asdict(env), "replay": how}
    return partial(make_replay, env.id, dict(env.kwargs), how), settings


def _processes(recordings: Sequence[Recording]) -> int:
    """How many processes: one for what is done sooner than others have started."""
    small = sum(own.path.stat().st_size for own in recordings) < SMALL
    if small and all(own.kind != "demonstrations" for own in recordings):
        return 1
    return min(len(os.sched_getaffinity(0)), len(recordings))


def _with_bar(
    plan: AuditPlan, recordings: Sequence[Recording], store: Path, workers: int
) -> list[Outcome]:
    with counting_bar("audit") as bar:
        task = bar.add_task("files", total=len(recordings))
        return run_audit(
            plan, recordings, store, workers=workers, on_file=lambda _: bar.advance(task)
        )


def _described(options: AuditOptions, plan: AuditPlan, files: int) -> dict[str, Any]:
    return {
        "paths": [str(path) for path in options.paths],
        "files": files,
        "specs": options.specs,
        "select": list(options.select),
        "objects": {kind: list(names) for kind, names in plan.objects.items()},
        "cost": options.cost,
        "resamples": options.resamples,
        "seed": options.seed,
        "reference": None if options.reference is None else str(options.reference),
        **plan.settings,
    }
