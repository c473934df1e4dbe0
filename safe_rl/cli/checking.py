"""``safe-rl check``: specifications against one recorded trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from safe_rl.cli.objects import bind
from safe_rl.cli.traces import letters, read_trace
from safe_rl.logic import Letter
from safe_rl.monitors import Monitor
from safe_rl.specs import SpecSet, load_specs

if TYPE_CHECKING:
    from safe_rl.feedback import Counterexample


@dataclass(frozen=True)
class CheckRow:
    """What the check found for one monitor instance.

    Attributes:
        id: instance id.
        triggered: N, without the pending ones.
        violations: V.
        exposure: U, in steps.
        pending: open events at a truncation.
        verdict: RV-LTL's verdict at the end, in words.
        first_step: step of the first violation, counted from 0, or ``None``.
        first_line: its line in the trace file, or ``None``.
        true_names: the instance's propositions that are true at that step.
        ended: that violation was decided by the end of the trace, not by a letter.
    """

    id: str
    triggered: int
    violations: int
    exposure: int
    pending: int
    verdict: str
    first_step: int | None
    first_line: int | None
    true_names: tuple[str, ...]
    ended: bool


def check(
    source: str,
    trace: Path,
    *,
    truncated: bool,
    as_json: bool,
    explained: bool,
    objects: Sequence[str],
    infer_objects: bool,
) -> bool:
    """Check a trace, print what was found, and return whether anything was violated.

    Args:
        source: a file of specifications, or the name of a shipped set.
        trace: see :func:`read_trace`.
        truncated: the trace was cut off.
        as_json: print JSON instead of a table.
        explained: print the counterexamples too.
        objects: ``PROPERTY=NAME,NAME``, for ``forall``.
        infer_objects: take the objects from the names in the trace.

    Raises:
        SafeRLError: the specifications or the trace are not usable; one clear message.
    """
    specs = load_specs(source)
    steps = read_trace(trace)
    names = list(dict.fromkeys(name for step in steps for name in step.values))
    specs = bind(specs, objects, infer_objects, names)
    values = letters(trace, steps, specs.propositions)

    monitor = Monitor(specs)
    first: dict[int, tuple[int, bool]] = {}
    for index, letter in enumerate(values):
        events = monitor.step(letter) if index else monitor.reset(letter)
        for instance in np.flatnonzero(np.asarray(events.violated)):
            first.setdefault(int(instance), (index, False))
    events = monitor.finish(truncated=truncated)
    for instance in np.flatnonzero(np.asarray(events.violated)):
        first.setdefault(int(instance), (len(values) - 1, True))

    rows = []
    for index, (instance, (name, counts)) in enumerate(
        zip(specs.instances, monitor.summary().items(), strict=True)
    ):
        step, ended = first.get(index, (None, False))
        own = dict.fromkeys(instance.atoms.values())
        rows.append(
            CheckRow(
                id=name,
                triggered=counts.N,
                violations=counts.V,
                exposure=counts.U,
                pending=counts.pending,
                verdict=counts.verdict.name.lower().replace("_", " "),
                first_step=step,
                first_line=None if step is None else steps[step].line,
                true_names=() if step is None else tuple(n for n in own if values[step][n]),
                ended=ended,
            )
        )
    violated = any(row.violations for row in rows)
    found = _counterexamples(specs, values, truncated) if explained else ()
    if as_json:
        document = _document(rows, len(values), truncated)
        if explained:
            document["counterexamples"] = [one.to_json() for one in found]
        print(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(rows, trace, len(values), truncated)
        labels = [f"line {step.line}" for step in steps]
        for one in found:
            print("\n" + one.text(labels))
    return violated


def _counterexamples(
    specs: SpecSet, values: Sequence[Letter], truncated: bool
) -> tuple[Counterexample, ...]:
    """The violations, and what is pending."""
    from safe_rl.feedback import explain  # which loads more than a plain check needs

    feedback = explain(specs, values, truncated=truncated)
    return (*feedback.violations, *feedback.pending)


def _vacuous(rows: Sequence[CheckRow]) -> bool:
    return not any(row.triggered or row.violations or row.pending for row in rows)


def _document(rows: Sequence[CheckRow], steps: int, truncated: bool) -> dict[str, object]:
    return {
        "steps": steps,
        "truncated": truncated,
        "violated": any(row.violations for row in rows),
        "nothing_triggered": _vacuous(rows),
        "specifications": [
            {
                "id": row.id,
                "N": row.triggered,
                "V": row.violations,
                "U": row.exposure,
                "pending": row.pending,
                "verdict": row.verdict,
                "first_violation": None
                if row.first_step is None
                else {
                    "step": row.first_step,
                    "line": row.first_line,
                    "true": list(row.true_names),
                    "decided_by_the_end": row.ended,
                },
            }
            for row in rows
        ],
    }


def _print(rows: Sequence[CheckRow], trace: Path, steps: int, truncated: bool) -> None:
    console = Console()
    if not console.is_terminal:  # a pipe or a file has no width to fit into
        console = Console(width=160)
    table = Table(show_edge=False)
    table.add_column("specification", overflow="fold")
    for heading in ("N", "V", "U", "pending"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    table.add_column("first violation", overflow="fold")
    for row in rows:
        style = "bold red" if row.violations else ""
        verdict = row.verdict
        if not (row.triggered or row.violations or row.pending):
            verdict += " (never triggered)"
            style = "yellow"
        where = ""
        if row.first_step is not None:
            holding = "{" + ", ".join(row.true_names) + "}"
            where = f"step {row.first_step} (line {row.first_line}): {holding}"
            if row.ended:
                where += ", by the end of the trace"
        table.add_row(
            Text(row.id),
            str(row.triggered),
            str(row.violations),
            str(row.exposure),
            str(row.pending),
            Text(verdict, style=style),
            Text(where),
        )
    console.print(table)
    cut = "truncated" if truncated else "complete"
    violations = sum(row.violations for row in rows)
    if violations:
        bad = [row.id for row in rows if row.violations]
        words = (
            f"VIOLATED: {violations} violation{'s' * (violations != 1)} of "
            f"{', '.join(bad[:4])}{' and others' * (len(bad) > 4)}"
        )
    elif _vacuous(rows):
        words = "no violation, but nothing was triggered either: the trace puts no rule to the test"
    else:
        pending = sum(row.pending for row in rows)
        words = "safe: no violation" + (f", {pending} pending" if pending else "")
    summary = f"{trace}: {steps} step{'s' * (steps != 1)} ({cut}); {words}"
    console.print(Text(summary), soft_wrap=True)
