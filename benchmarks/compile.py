"""How long formulas take to become minimal DFAs, beside MONA on the same formulas.

Four workloads: the 20 SafeManip specifications, Dwyer's 55 patterns (the library's and the public
text), a conjunction of eight rules over 18 atoms, and an invariant over 40 atoms. MONA gets its
program ready-made, so that neither side's parsing is in the comparison; what our parser adds is a
column of its own.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing, measure, met, milliseconds, parser, save
from safe_rl.automata import compile_ltlf
from safe_rl.automata.oracles import mona_program, run_mona
from safe_rl.errors import MissingDependencyError, OracleError
from safe_rl.logic import Formula, FormulaWarning, parse
from safe_rl.specs import load_specs
from safe_rl.specs.patterns import SCOPES, pattern_names, pattern_template

PUBLIC_TEXT = Path(__file__).parents[1] / "tests" / "data" / "dwyer55.ltl"
PATTERNS = [(name, scope) for name in pattern_names() for scope in SCOPES]


def conjunction(rules: int = 8) -> Formula:
    """Eight rules ``G(a -> (b W c))`` that share two releases: 18 atoms, 257 states."""
    return parse(" & ".join(f"G(a{i} -> (b{i} W c{i % 2}))" for i in range(rules)))


def invariant(atoms: int = 40) -> Formula:
    """An invariant whose letters are 2**40."""
    return parse(f"G({' & '.join(f'p{i}' for i in range(atoms))})")


def workloads() -> dict[str, list[Formula]]:
    """Return the formulas of each workload."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormulaWarning)  # the public text writes XF for X F
        public = [parse(line) for line in PUBLIC_TEXT.read_text().splitlines() if line.strip()]
    return {
        "SafeManip, 20 together": [s.formula for s in load_specs("safemanip")],
        "Dwyer's 55, library": [parse(pattern_template(*key)) for key in PATTERNS],
        "Dwyer's 55, public text": public,
        "8 rules in one, 18 atoms": [conjunction()],
        "invariant, 40 atoms": [invariant()],
    }


def mona_is_missing() -> str | None:
    """Return why MONA cannot be the peer, or None."""
    try:
        run_mona(mona_program(parse("a")))
    except (MissingDependencyError, OracleError) as error:
        return str(error)
    return None


def time_formula(formula: Formula, repeats: int, with_mona: bool) -> dict[str, Any]:
    """Time one formula, from its tree, from its text, and in MONA."""
    text = str(formula)
    row: dict[str, Any] = {
        "formula": text,
        "atoms": len(formula.atoms),
        "states": compile_ltlf(formula).num_states,
        "compile": measure(lambda: compile_ltlf(formula), repeats=repeats),
        "parse_and_compile": measure(lambda: compile_ltlf(text), repeats=repeats),
        "mona": None,
    }
    if with_mona:
        program = mona_program(formula)
        row["mona"] = measure(lambda: run_mona(program), repeats=max(repeats // 4, 1))
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum, median and maximum over the formulas of a workload, of each one's median time."""
    found: dict[str, Any] = {"formulas": len(rows)}
    for column in ("compile", "parse_and_compile", "mona"):
        timings: list[Timing] = [row[column] for row in rows if row[column] is not None]
        for kind in ("cpu", "cpu_best", "wall"):
            times = [getattr(timing, kind) for timing in timings]
            found[f"{column}_{kind}"] = (
                {"total": sum(times), "median": statistics.median(times), "max": max(times)}
                if times
                else None
            )
    mona = found["mona_wall"]
    found["times_faster_than_mona"] = (
        mona["median"] / found["compile_wall"]["median"] if mona else None
    )
    return found


TARGETS = {
    "SafeManip, 20 together": (("total", 20e-3),),
    "Dwyer's 55, library": (("median", 0.5e-3), ("max", 20e-3)),
    "Dwyer's 55, public text": (("median", 0.5e-3), ("max", 20e-3)),
    "8 rules in one, 18 atoms": (("total", 100e-3),),
    "invariant, 40 atoms": (),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print a table, write the JSON file."""
    arguments = parser("compile", str(__doc__).partition("\n")[0])
    arguments.add_argument("--per-pattern", action="store_true", help="print a row per formula")
    given = arguments.parse_args(argv)
    console = Console()
    repeats = 1 if given.quick else 15
    missing = mona_is_missing()
    if missing:
        console.print(f"[yellow]without the peer: {missing}[/yellow]")

    results: dict[str, Any] = {"peer": "MONA", "peer_missing": missing, "workloads": {}}
    table = Table(title="LTLf to minimal DFA, ms of CPU time (MONA: elapsed)")
    for column in ("workload", "total", "median", "max", "+ parsing", "MONA", "faster"):
        table.add_column(column, justify="left" if column == "workload" else "right")
    verdicts = []
    for name, formulas in workloads().items():
        chosen = formulas[:2] if given.quick else formulas
        rows = [time_formula(formula, repeats, missing is None) for formula in chosen]
        total = summary(rows)
        results["workloads"][name] = {"summary": total, "formulas": rows}
        cpu, mona = total["compile_cpu"], total["mona_wall"]
        ratio = total["times_faster_than_mona"]
        table.add_row(
            name,
            *(f"{cpu[kind] * 1e3:.2f}" for kind in ("total", "median", "max")),
            f"{total['parse_and_compile_cpu']['median'] * 1e3:.2f}",
            f"{mona['median'] * 1e3:.1f}" if mona else "-",
            f"{ratio:.1f}x" if ratio else "-",
        )
        verdicts += [
            f"{name}: {kind} {milliseconds(cpu[kind])}, target {milliseconds(bound)}: "
            + met(cpu[kind], bound, at_most=True)
            for kind, bound in TARGETS[name]
        ]
    console.print(table)
    console.print("\n".join(verdicts))
    if given.per_pattern:
        console.print(_per_formula(results["workloads"]))
    save("compile", results, given.output, console)
    return 0


def _per_formula(workloads: dict[str, Any]) -> Table:
    table = Table(title="Each formula")
    for column in ("workload", "formula", "atoms", "states", "compile", "MONA, wall"):
        table.add_column(column)
    for name, workload in workloads.items():
        for row in workload["formulas"]:
            table.add_row(
                name,
                row["formula"][:60],
                str(row["atoms"]),
                str(row["states"]),
                milliseconds(row["compile"].cpu),
                milliseconds(row["mona"].wall) if row["mona"] else "-",
            )
    return table


if __name__ == "__main__":
    sys.exit(main())
