"""``safe-rl coverage``: which specifications and boundaries a dataset covers, and which hardly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from safe_rl.cli.collect_reading import read_collection
from safe_rl.cli.screen import screen
from safe_rl.demonstrations.collection import Coverage, coverage_of
from safe_rl.demonstrations.collection.settings import recorded_settings
from safe_rl.specs import load_specs


def report_coverage(root: Path, specs: str | None, few: int) -> None:
    """Print the coverage of a dataset, by the specifications it was judged by or by others."""
    episodes, _ = read_collection(root)
    chosen = recorded_settings(root).spec_set() if specs is None else load_specs(specs)
    found = coverage_of(episodes, chosen)
    screen().print(coverage_table(str(root), found, few))
    screen().print(boundary_table(found, few))


def coverage_table(name: str, found: Sequence[Coverage], few: int) -> Table:
    """Per specification: triggers, violations, near-misses, and what is under-covered."""
    table = Table(title=f"{name}: {found[0].episodes} episodes", title_justify="left")
    table.add_column("specification")
    for heading in ("triggered in", "N", "V", "near-misses", "least distance"):
        table.add_column(heading, justify="right")
    table.add_column(f"under-covered (fewer than {few} episodes)")
    for row in found:
        distance = "" if row.least_distance < 0 else str(row.least_distance)
        numbers = (row.triggered, row.N, row.V, row.near_misses)
        table.add_row(row.specification, *map(str, numbers), distance, "; ".join(row.lacking(few)))
    return table


def boundary_table(found: Sequence[Coverage], few: int) -> Table:
    """Per atom of the specifications that were triggered: episodes on either side."""
    table = Table(
        title="boundaries: episodes in which this atom alone decided", title_justify="left"
    )
    for heading in ("specification", "atom"):
        table.add_column(heading)
    for heading in ("safe side", "unsafe side"):
        table.add_column(heading, justify="right")
    for row in found:
        for boundary in row.boundaries if row.triggered else ():
            if not boundary.safe + boundary.unsafe:
                continue  # nothing that happened came near it
            sides = (boundary.safe, boundary.unsafe)
            table.add_row(
                row.specification,
                boundary.atom,
                *(f"[red]{n}[/red]" if n < few else str(n) for n in sides),
            )
    return table
