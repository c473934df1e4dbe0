"""How the benchmarks take times, say what machine they ran on, and keep their results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Timing:
    """Seconds that one call takes, over several repeats.

    Attributes:
        cpu: Median of the CPU time, of this process and of the programs it ran. On a machine that
            does other work this is the figure to compare; it leaves out the waiting.
        cpu_best: The smallest CPU time.
        wall: Median of the elapsed time.
        wall_best: The smallest elapsed time.
        repeats: How many calls were timed.
    """

    cpu: float
    cpu_best: float
    wall: float
    wall_best: float
    repeats: int


def measure(call: Callable[[], object], *, repeats: int, inner: int = 1) -> Timing:
    """Time ``call``; each repeat runs it ``inner`` times and counts the mean of those."""
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(repeats):
        cpu_start, start = _cpu_seconds(), time.perf_counter()
        for _ in range(inner):
            call()
        wall.append((time.perf_counter() - start) / inner)
        cpu.append((_cpu_seconds() - cpu_start) / inner)
    return Timing(
        cpu=statistics.median(cpu),
        cpu_best=min(cpu),
        wall=statistics.median(wall),
        wall_best=min(wall),
        repeats=repeats,
    )


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, versions and how busy the machine is."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("safe-rl-ltlf", "numpy", "lark")},
        "threads": os.environ.get("OMP_NUM_THREADS", "not limited"),
        "load_average": list(os.getloadavg()),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return the options that all benchmarks share."""
    found = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    found.add_argument(
        "--output", type=Path, default=None, help=f"JSON file (default {RESULTS.name}/{name}.json)"
    )
    found.add_argument(
        "--quick", action="store_true", help="a few repeats: shows that it runs, says little"
    )
    return found


def save(name: str, results: dict[str, Any], output: Path | None, console: Console) -> Path:
    """Write the results and the machine's description as JSON, and say where."""
    path = output if output is not None else RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"benchmark": name, "machine": machine(), **results}
    path.write_text(json.dumps(content, indent=2, default=_plain) + "\n")
    console.print(f"[dim]written to {path}[/dim]")
    return path


def _plain(value: object) -> object:
    if isinstance(value, Timing):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no place in a result file")


def milliseconds(seconds: float | None) -> str:
    """Return a time for a table."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3f} ms" if seconds < 0.01 else f"{seconds * 1e3:.1f} ms"


def per_second(rate: float | None) -> str:
    """Return a rate for a table."""
    return "-" if rate is None else f"{rate:,.0f}/s" if rate < 1e7 else f"{rate / 1e6:,.1f} M/s"


def met(value: float, bound: float, *, at_most: bool) -> str:
    """Return a bound for a table, coloured by whether the value keeps it."""
    kept = value <= bound if at_most else value >= bound
    return "[green]met[/green]" if kept else "[red]missed[/red]"
