"""How long it takes to explain a trace: monitors, counterexamples, words and JSON.

Every trace is another one, drawn at random, so that what is remembered from one to the next helps
no more than it would for the plans of a language model. Propositions keep their value from step to
step with a probability of 0.7, as the facts of a plan do.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing, measure, met, parser, per_second, save
from safe_rl.feedback import Feedback, explain
from safe_rl.specs import SpecSet, load_specs

LETTERS = 15
TARGET = 100e-6
"""Seconds for a short trace under a few specifications."""
STAYS = 0.7


def random_traces(specs: SpecSet, count: int, *, rare: float) -> list[list[frozenset[str]]]:
    """Return traces; a proposition that is drawn anew is true with probability ``rare``."""
    rng = random.Random(0)
    traces = []
    for _ in range(count):
        letter: frozenset[str] = frozenset()
        trace = []
        for _ in range(LETTERS):
            letter = frozenset(
                name
                for name in specs.propositions
                if (name in letter if rng.random() < STAYS else rng.random() < rare)
            )
            trace.append(letter)
        traces.append(trace)
    return traces


def workloads() -> dict[str, tuple[SpecSet, float]]:
    """Return specifications, and how often propositions are true."""
    kitchen = load_specs("kitchen")
    manipulation = load_specs("safemanip")
    objects = {kind: ["thing"] for kind in manipulation.properties}
    return {
        "4 specifications, few violations": (kitchen, 0.12),
        "4 specifications, many violations": (kitchen, 0.4),
        "20 specifications, many violations": (manipulation.bind(objects), 0.1),
    }


def time_workload(specs: SpecSet, rare: float, traces: int, repeats: int) -> dict[str, Any]:
    """Explain traces that were not seen before in each repeat; then say them, and write them."""
    drawn = random_traces(specs, traces * (repeats + 1), rare=rare)
    for trace in drawn[:traces]:
        explain(specs, trace)
    fresh = iter(drawn[traces:])
    found: list[Feedback] = []

    def one_batch() -> None:
        found.clear()
        found.extend(explain(specs, next(fresh)) for _ in range(traces))

    explaining = measure(one_batch, repeats=repeats)
    say = measure(lambda: [one.prompt() for one in found], repeats=repeats)
    write = measure(lambda: [one.to_json() for one in found], repeats=repeats)

    def each(timing: Timing) -> float:
        return timing.cpu / traces

    return {
        "violations": sum(len(one.violations) for one in found) / traces,
        "explain": each(explaining),
        "prompt": each(say),
        "json": each(write),
        "timings": {"explain": explaining, "prompt": say, "json": write},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and keep its results."""
    given = parser("counterexample", __doc__ or "").parse_args(argv)
    console = Console()
    traces, repeats = (20, 2) if given.quick else (1000, 7)
    table = Table(title=f"{LETTERS} letters")
    for heading in ("", "violations", "explain", "rate", "under 100 us", "prompt", "json"):
        table.add_column(heading, justify="right" if heading else "left")
    results = {}
    for name, (specs, rare) in workloads().items():
        row = results[name] = time_workload(specs, rare, traces, repeats)
        table.add_row(
            name,
            f"{row['violations']:.1f}",
            *[f"{row['explain'] * 1e6:.0f} us", per_second(1 / row["explain"])],
            met(row["explain"], TARGET, at_most=True),
            *(f"{row[key] * 1e6:.0f} us" for key in ("prompt", "json")),
        )
    console.print(table)
    save("counterexample", {"letters": LETTERS, "workloads": results}, given.output, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
