"""The scores of plans as a table, as JSON or as CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from safe_rl.cli.showing import wide_console
from safe_rl.feedback.refinement import Round, Score
from safe_rl.model_checking import proportion_interval


@dataclass(frozen=True)
class Results:
    """What came of one planner.

    Attributes:
        planner: its name.
        settings: of the run.
        scores: by split and round.
        rounds: of each problem.
    """

    planner: str
    settings: Mapping[str, Any]
    scores: Sequence[Score]
    rounds: Sequence[Sequence[Round]]


def print_results(results: Sequence[Results], form: str) -> None:
    """Print results in one of the forms ``"table"``, ``"json"`` and ``"csv"``."""
    if form == "json":
        print(json.dumps([_as_json(one) for one in results], indent=2, allow_nan=False))
    elif form == "csv":
        _print_csv(results)
    else:
        _print_table(results)


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "planner": results.planner,
        "settings": results.settings,
        "scores": [
            one.to_json() | {"success_and_safe_interval": proportion_interval(*_both(one))}
            for one in results.scores
        ],
        "problems": [_problem(rounds) for rounds in results.rounds],
    }


def _problem(rounds: Sequence[Round]) -> dict[str, Any]:
    last = rounds[-1]
    judgement = last.judgement
    return {
        "problem": last.problem,
        "split": last.split,
        "stopped": last.stopped,
        "rounds": len(rounds),
        "outcome": judgement.outcome,
        "valid": judgement.valid,
        "success": judgement.success,
        "safe": judgement.safe,
        "vacuous": judgement.vacuous,
        "sampled": dict(judgement.sampled),
        "plan": list(judgement.plan),
        "fault": last.fault,
        "tokens": sum(one.tokens for one in rounds),
        "attempts": sum(one.attempts for one in rounds),
        "seconds": sum(one.seconds for one in rounds),
    }


def _print_csv(results: Sequence[Results]) -> None:
    rows = [(one.planner, row) for one in results for row in one.scores]
    outcomes = sorted({name for _, row in rows for name in row.outcomes})
    fields = [name for name in Score.__dataclass_fields__ if name != "outcomes"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["planner", *fields, *(name.replace(" ", "_") for name in outcomes)])
    for planner, row in rows:
        values = [_cell(getattr(row, name)) for name in fields]
        writer.writerow([planner, *values, *(row.outcomes.get(name, 0) for name in outcomes)])


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3f}" if isinstance(value, float) else value


def _print_table(results: Sequence[Results]) -> None:
    table = Table(show_edge=False)
    several = len(results) > 1
    for name in ["planner"] * several + ["split"]:
        table.add_column(name, overflow="fold")
    for name in ("round", "tasks", "valid", "success", "safe"):
        table.add_column(name, justify="right")
    table.add_column("success and safe [95%]", justify="right", no_wrap=True)
    for name in ("vacuous", "rounds", "tokens"):
        table.add_column(name, justify="right")
    for one in results:
        before = None
        for row in one.scores:
            table.add_row(
                *[Text(one.planner if before is None else "")] * several,
                (row.split or "all") if row.split != before else "",
                str(row.round),
                str(row.problems),
                *(_percent(count, row.problems) for count in (row.valid, row.success, row.safe)),
                _with_interval(row),
                _percent(row.vacuous, row.problems),
                f"{row.rounds:.2f}",
                ("~" if row.estimated else "") + f"{row.tokens:,}",
            )
            before = row.split
        table.add_section()
    console = wide_console()
    console.print(table)
    for one in results:
        prefix = f"{one.planner}: " if several else ""
        last = Counter(rounds[-1].judgement.outcome for rounds in one.rounds)
        ends: Counter[str] = Counter(rounds[-1].stopped or "under way" for rounds in one.rounds)
        console.print(f"{prefix}outcomes at the end: {_listed(last)}", highlight=False)
        console.print(f"{prefix}stopped by: {_listed(ends)}", highlight=False)
        sampled = [r[-1].judgement.sampled for r in one.rounds if r[-1].judgement.sampled]
        if sampled:
            shares = {
                key: sum(s[key] for s in sampled) / sum(s["runs"] for s in sampled)
                for key in ("safe", "success")
            }
            console.print(
                f"{prefix}sampled runs of {len(sampled)} plans that are safe as intended: "
                f"{100 * shares['safe']:.1f}% safe, {100 * shares['success']:.1f}% reach the goal",
                highlight=False,
            )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {times}" for name, times in counts.most_common())


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}%"


def _both(row: Score) -> tuple[int, int]:
    return row.success_and_safe, row.problems


def _with_interval(row: Score) -> str:
    low, high = proportion_interval(*_both(row))
    return f"{_percent(*_both(row))} [{100 * low:.0f}, {100 * high:.0f}]"
