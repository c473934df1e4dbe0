"""What ``safe-rl refine`` and ``safe-rl plan-eval`` do."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from safe_rl.cli.score_tables import Results, print_results
from safe_rl.cli.screen import counting_bar
from safe_rl.envs.household import make_task
from safe_rl.envs.household.task import Split
from safe_rl.errors import ConfigurationError, near
from safe_rl.feedback.refinement import (
    Caller,
    Endpoint,
    Pace,
    Planner,
    PlannerPerRound,
    RecordedAnswers,
    Refinement,
    Round,
    RunLog,
    TaskPlans,
    TaskProblem,
    Told,
    read_log,
    refine_problems,
    score,
    with_specs,
)
from safe_rl.specs import load_specs

_PLANNERS = ("scripted", "naive", "file:PATH", "endpoint")


@dataclass(frozen=True)
class RefineOptions:
    """The options of the commands; see their help."""

    planner: str
    splits: Sequence[str]
    count: int
    first: int
    activity: str | None
    rounds: int
    token_limit: int | None
    specs: str | None
    told: str
    runs: int
    ctl: tuple[str, ...]
    log: Path | None
    model: str
    base_url: str
    temperature: float | None
    max_tokens: int
    stream: bool
    timeout: float
    in_flight: int
    per_second: float | None
    retries: int


def refine_tasks(options: RefineOptions, form: str) -> list[Refinement]:
    """Run the loop over tasks and print the scores.

    Raises:
        SafeRLError: an option, the specifications, the log or the endpoint is not usable.
    """
    planner, name, own = _planner(options)
    problems = _problems(options)
    settings = {
        "planner": {"name": name, **own},
        "max_rounds": options.rounds,
        "token_limit": options.token_limit,
        "told": options.told,
        "runs": options.runs,
        "ctl": list(options.ctl),
        "specs": _fingerprint(options.specs),
    }
    pace = Pace(options.in_flight, options.per_second)
    caller = Caller(pace, retries=options.retries)
    bar = counting_bar("tasks", transient=True)
    with bar, RunLog(options.log, settings) if options.log else nullcontext() as log:
        task = bar.add_task("tasks", total=len(problems))
        finished = (
            sum(rounds[-1].stopped is not None for rounds in log.rounds.values()) if log else 0
        )
        bar.advance(task, finished)

        def on_round(one: Round) -> None:
            if one.stopped is not None:
                bar.advance(task)

        found = refine_problems(
            planner,
            problems,
            max_rounds=options.rounds,
            token_limit=options.token_limit,
            caller=caller,
            log=log,
            on_round=on_round,
        )
    scores = score(found, max_rounds=options.rounds)
    print_results(
        [Results(name, settings, scores, [one.rounds for one in found])],
        form,
    )
    _note_missing_answers(found)
    return found


def compare_logs(paths: Sequence[Path], form: str) -> None:
    """Print the scores of the rounds that logs hold; problems that are under way count as they are.

    Raises:
        RecordingError: a file is no log.
    """
    results = []
    for path in paths:
        settings, rounds = read_log(path)
        planner = settings.get("planner")
        name = planner.get("name", path.stem) if isinstance(planner, dict) else path.stem
        limit = settings.get("max_rounds")
        scores = score(rounds.values(), max_rounds=limit if isinstance(limit, int) else None)
        results.append(Results(f"{name} ({path.name})", settings, scores, list(rounds.values())))
    print_results(results, form)


def _planner(options: RefineOptions) -> tuple[Planner | PlannerPerRound, str, dict[str, Any]]:
    """The planner, its name, and what else decides its answers."""
    kind, _, rest = options.planner.partition(":")
    if options.planner == "scripted":
        return TaskPlans("reference"), "scripted", {}
    if options.planner == "naive":
        return TaskPlans("naive"), "naive", {}
    if kind == "file" and rest:
        recorded = RecordedAnswers(rest)
        digest = hashlib.sha256(Path(rest).read_bytes()).hexdigest()[:16]
        return recorded, recorded.name, {"sha256": digest}
    if options.planner == "endpoint":
        endpoint = Endpoint(
            options.model,
            options.base_url,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            stream=options.stream,
            timeout=options.timeout,
        )
        return endpoint, endpoint.name, endpoint.settings()
    raise ConfigurationError(
        f"there is no planner {options.planner!r}{near(options.planner, _PLANNERS)}; "
        f"use one of {', '.join(_PLANNERS)}"
    )


def _problems(options: RefineOptions) -> list[TaskProblem]:
    bar = counting_bar("tasks made", transient=True)
    seeds = range(options.first, options.first + options.count)
    problems = []
    wanted = [(split, seed) for split in dict.fromkeys(options.splits) for seed in seeds]
    with bar:
        for split, seed in bar.track(wanted):
            task = make_task(cast(Split, split), seed, options.activity)
            if options.specs is not None:
                task = with_specs(task, options.specs)
            told = cast(Told, options.told)
            problems.append(TaskProblem(task, told, options.runs, options.ctl))
    return problems


def _fingerprint(specs: str | None) -> str | None:
    """What tells two sets of rules apart."""
    if specs is None:
        return None
    text = "\n".join(f"{spec.id} {spec.formula} {spec.forall}" for spec in load_specs(specs))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _note_missing_answers(found: Sequence[Refinement]) -> None:
    """Say on stderr where no plan came at the end, and why."""
    missing = [one for one in found if one.last.fault]
    if not missing:
        return
    reasons = Counter(one.last.fault for one in missing)
    fault, times = reasons.most_common(1)[0]
    print(
        f"note: {len(missing)} of {len(found)} tasks ended without an answer; "
        f"{times} of them with: {fault}",
        file=sys.stderr,
    )
