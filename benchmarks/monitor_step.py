"""How fast monitors step: one environment with plain integers, and arrays of environments.

The plain ``Monitor`` watches the 20 SafeManip specifications with letters given as mappings, as a
simulator gives them; reelay, a C++ monitor, steps one formula beside it. The array step watches
4,096 environments under the same 20. Three tables show how both grow with the number of
specifications, of environments and of atoms.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.measure import (
    Timing,
    measure,
    met,
    milliseconds,
    parser,
    per_second,
    save,
)
from safe_rl.monitors import Monitor, MonitorTables, initial_state, make_tables, step
from safe_rl.specs import Specification, SpecSet, load_specs

OBJECTS = {
    "graspable": ["mug"],
    "receptacle": ["mug"],
    "fixture": ["drawer"],
    "enclosure": ["drawer"],
    "microwave": ["microwave"],
}
TARGET_MONITOR = 80_000.0
TARGET_ARRAY = 50e6
LETTERS = 512
"""How many random letters are made beforehand and gone through again and again."""


def specifications(count: int) -> SpecSet:
    """Return ``count`` SafeManip specifications: the 20, over and over with fresh propositions."""
    bound = load_specs("safemanip").bind(OBJECTS).instances
    found: list[Specification] = []
    for index in range(count):
        round_number, position = divmod(index, len(bound))
        instance = bound[position]
        names = {old: f"{new}#{round_number}" for old, new in instance.atoms.items()}
        spec = instance.specification
        found.append(
            Specification(
                f"{spec.id}_{round_number}",
                spec.formula.rename(names),
                trigger=spec.trigger.rename(names),
                recovery=None if spec.recovery is None else spec.recovery.rename(names),
            )
        )
    return SpecSet(found)


def wide_specification(atoms: int) -> SpecSet:
    """Return one specification whose formula holds ``atoms`` atoms."""
    guard = " & ".join(f"p{i}" for i in range(atoms - 2))
    return SpecSet([Specification("wide", f"G({guard} -> (b W c))", recovery="F c")])


def time_monitor(specs: SpecSet, repeats: int) -> Timing:
    """Return the seconds of one step of the plain monitor, with random mappings as letters."""
    monitor = Monitor(specs)
    rng = random.Random(0)
    letters = [{name: rng.random() < 0.5 for name in monitor.propositions} for _ in range(LETTERS)]
    monitor.reset(letters[0])

    def go() -> None:
        advance = monitor.step
        for letter in letters:
            advance(letter)

    timing = measure(go, repeats=repeats)
    return Timing(
        cpu=timing.cpu / LETTERS,
        cpu_best=timing.cpu_best / LETTERS,
        wall=timing.wall / LETTERS,
        wall_best=timing.wall_best / LETTERS,
        repeats=repeats,
    )


def time_array(tables: MonitorTables, envs: int, repeats: int) -> Timing:
    """Return the seconds of one array step over ``envs`` environments with random letters."""
    rng = np.random.default_rng(0)
    letters = [rng.random((envs, tables.num_propositions)) < 0.5 for _ in range(8)]
    state = initial_state(tables, (envs,))
    turn = 0

    def go() -> None:
        nonlocal state, turn
        state, _ = step(tables, state, letters[turn & 7])
        turn += 1

    go()
    return measure(go, repeats=repeats, inner=max(1, 4096 // envs))


def time_reelay(python: str, steps: int) -> dict[str, Any]:
    """Return reelay's rates on one formula, or under ``missing`` why there are none."""
    program = Path(__file__).with_name("reelay_peer.py")
    try:
        done = subprocess.run(
            [python, str(program), str(steps)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"missing": f"{python} cannot run the peer: {error}"}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {
            "missing": f"reelay does not run under {python} ({last}); pip install reelay there, "
            "or name another interpreter with --peer-python"
        }
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "rate": statistics.median(found["rates"])}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print tables, write the JSON file."""
    arguments = parser("monitor_step", str(__doc__).partition("\n")[0])
    arguments.add_argument(
        "--peer-python", default=sys.executable, help="interpreter that has reelay (default: this)"
    )
    given = arguments.parse_args(argv)
    console = Console()
    repeats = 2 if given.quick else 30

    twenty = specifications(20)
    reelay = time_reelay(given.peer_python, 2_000 if given.quick else 200_000)
    if "missing" in reelay:
        console.print(f"[yellow]without the peer: {reelay['missing']}[/yellow]")
    plain = time_monitor(twenty, repeats)
    envs = 256 if given.quick else 4096
    array = time_array(make_tables(twenty), envs, repeats)
    results: dict[str, Any] = {
        "peer": reelay,
        "monitor_20_specs": {"step": plain, "steps_per_second": 1 / plain.cpu},
        "array_20_specs": {
            "envs": envs,
            "step": array,
            "specification_steps_per_second": 20 * envs / array.cpu,
        },
        "specification_steps_against_reelay": 20 / plain.cpu / reelay["rate"]
        if "rate" in reelay
        else None,
    }
    console.print(_headline(results))

    sizes = (1, 5) if given.quick else (1, 5, 20, 100)
    counts = (1, 64) if given.quick else (1, 16, 256, 1024, 4096, 16384)
    widths = (3, 14) if given.quick else (3, 6, 9, 12, 16, 24, 40)
    few = max(repeats // 3, 1)
    results["growth"] = {
        "specifications": [_row("specifications", n, specifications(n), envs, few) for n in sizes],
        "environments": [
            _array_row("environments", n, make_tables(twenty), n, few) for n in counts
        ],
        "atoms": [_row("atoms", n, wide_specification(n), envs, few) for n in widths],
    }
    for what, rows in results["growth"].items():
        console.print(_growth(what, rows))
    save("monitor_step", results, given.output, console)
    return 0


def _array_row(
    what: str, value: int, tables: MonitorTables, envs: int, repeats: int
) -> dict[str, Any]:
    timing = time_array(tables, envs, repeats)
    return {
        what: value,
        "envs": envs,
        "array_step": timing,
        "array_rate": envs * tables.num_instances / timing.cpu,
    }


def _row(what: str, value: int, specs: SpecSet, envs: int, repeats: int) -> dict[str, Any]:
    plain = time_monitor(specs, repeats)
    return {
        **_array_row(what, value, make_tables(specs), envs, repeats),
        "monitor_step": plain,
        "monitor_rate": 1 / plain.cpu,
    }


def _headline(results: dict[str, Any]) -> Table:
    table = Table(title="Steps per second of CPU time (median of the repeats)")
    for column in ("what", "rate", "target"):
        table.add_column(column, justify="left" if column == "what" else "right")
    rate = results["monitor_20_specs"]["steps_per_second"]
    table.add_row(
        "Monitor, 20 specifications, mappings: steps",
        per_second(rate),
        f">= {per_second(TARGET_MONITOR)}: {met(rate, TARGET_MONITOR, at_most=False)}",
    )
    table.add_row("  the same, counted per specification", per_second(20 * rate), "")
    peer = results["peer"]
    if "rate" in peer:
        ratio = results["specification_steps_against_reelay"]
        table.add_row(f"reelay {peer['version']}, one formula: steps", per_second(peer["rate"]), "")
        table.add_row("  ours per specification / reelay", f"{ratio:.2f}x", "")
    array = results["array_20_specs"]
    rate = array["specification_steps_per_second"]
    table.add_row(
        f"arrays in NumPy, {array['envs']:,} x 20: specification-steps",
        per_second(rate),
        f">= {per_second(TARGET_ARRAY)}: {met(rate, TARGET_ARRAY, at_most=False)}",
    )
    return table


def _growth(what: str, rows: list[dict[str, Any]]) -> Table:
    envs = rows[0]["envs"]
    title = f"Growth with {what}" + ("" if what == "environments" else f" (arrays of {envs:,})")
    table = Table(title=title)
    plain = "monitor_step" in rows[0]
    columns = [what, *(["Monitor step", "Monitor"] if plain else []), "array step", "spec-steps"]
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        cells = [f"{row[what]:,}"]
        if plain:
            cells += [milliseconds(row["monitor_step"].cpu), per_second(row["monitor_rate"])]
        cells += [milliseconds(row["array_step"].cpu), per_second(row["array_rate"])]
        table.add_row(*cells)
    return table


if __name__ == "__main__":
    sys.exit(main())
