"""Does the report of what is under-covered change the next batch of demonstrations?

``python -m benchmarks.steering [--family robosuite/stack] [--first 80] [--attempts 40]`` collects a
first batch of mostly careful demonstrations, then two next ones with another seed: one that is
drawn in the same way, one with ``steer=`` the first batch. A mark is a trigger, or a side of an
atom's boundary (docs/demonstrations.md); those that fewer than a tenth of the first batch touched
are the under-covered ones, and the table says which share of each next batch touches them. A
stopped command goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import parser, save
from safe_rl.cli.collect import CollectSettings, collection_settings
from safe_rl.cli.collect_reading import read_collection
from safe_rl.demonstrations.collection import collect
from safe_rl.demonstrations.collection.coverage import marks_of
from safe_rl.demonstrations.collection.steering import lack
from safe_rl.demonstrations.engine.variation import Choice, Mixture
from safe_rl.specs import SpecSet

BATCHES = ("first", "next", "steered")
MOSTLY_CAREFUL = (("careful", 0.88), ("lean", 0.04), ("rough", 0.04), ("hasty", 0.04))


def weighted(text: str) -> tuple[str, float]:
    """Read ``lean=0.1``."""
    name, _, weight = text.partition("=")
    return name, float(weight)


def batches(given: Any) -> dict[str, CollectSettings]:
    """Return the settings of the three batches, in the order in which they are made."""
    made = {}
    for number, name in enumerate(BATCHES):
        made[name] = CollectSettings(
            family=given.family,
            episodes=None,
            attempts=given.attempts if number else given.first,
            seed=min(number, 1),  # the next batches differ by what is drawn, not by the seed
            workers=given.workers,
            manners={"manner": dict(given.manner)} if given.manner else {},
            steer=str(given.folder / "first") if name == "steered" else None,
            output=str(given.folder / name),
        )
    return made


def touched(root: Path, specs: SpecSet) -> dict[str, int]:
    """Return in how many episodes of a batch each mark is touched."""
    episodes, _ = read_collection(root)
    return {
        f"{spec} | {mark}": int(column.sum())
        for spec, marks in marks_of(episodes, specs).items()
        for mark, column in marks.items()
    }


def manners(mixture: Mixture) -> dict[str, float]:
    """Return the weights of the choices of a batch, such as those of the manners."""
    return {
        f"{parameter.name}: {option}": float(weight)
        for parameter in mixture.parameters
        if isinstance(parameter, Choice)
        for option, weight in zip(parameter.options, mixture.weights[parameter.name], strict=True)
    }


def rare(counts: Mapping[str, int], attempts: int) -> list[str]:
    """Return the marks that a first batch touches, but in few of its episodes."""
    return [mark for mark, count in counts.items() if count and lack(count, attempts)]


def table_of(
    family: str,
    counts: Mapping[str, Mapping[str, int]],
    marks: Sequence[str],
    attempts: Mapping[str, int],
) -> Table:
    """Return the share of each batch that touches what the first covers little."""
    table = Table(title=f"{family}: attempts that touch a mark", title_justify="left")
    table.add_column("under-covered in the first batch")
    for name in BATCHES:
        table.add_column(f"{name} ({attempts[name]})", justify="right")

    def cells(find: Mapping[str, int]) -> list[str]:
        return [f"{find[n]}, {find[n] / attempts[n]:.0%}" for n in BATCHES]

    for mark in marks:
        table.add_row(mark, *cells({n: counts[n][mark] for n in BATCHES}))
    table.add_section()
    table.add_row("all marks", *cells({n: sum(counts[n][m] for m in marks) for n in BATCHES}))
    enough = {n: sum(not lack(counts[n][m], attempts[n]) for m in marks) for n in BATCHES}
    table.add_row("marks that are covered well", *(f"{enough[n]}/{len(marks)}" for n in BATCHES))
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Collect, count, print and write; returns 0."""
    options = parser("steering", __doc__ or "")
    options.add_argument("--family", default="robosuite/stack")
    options.add_argument("--first", type=int, default=80, help="attempts of the first batch")
    options.add_argument("--attempts", type=int, default=40, help="of each of the next two")
    options.add_argument(
        "--manner", type=weighted, nargs="*", default=MOSTLY_CAREFUL, metavar="NAME=WEIGHT",
        help="of the first batch and the next; none: the family's own weights",
    )  # fmt: skip
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--folder", type=Path, default=Path("outputs/steering"))
    given = options.parse_args(argv)
    counts, weights, attempts = {}, {}, {}
    for name, settings in batches(given).items():
        root, chosen = Path(settings.output), collection_settings(settings)  # steers, once
        collect(chosen, root, max_attempts=settings.attempts, workers=settings.workers)
        counts[name], weights[name] = touched(root, chosen.spec_set()), manners(chosen.mixture())
        attempts[name] = int(settings.attempts or 0)
    marks = rare(counts["first"], given.first)
    console = Console(width=110) if not sys.stdout.isatty() else Console()
    console.print(table_of(given.family, counts, marks, attempts))
    for option, before in weights["next"].items():
        console.print(f"{option}: weight {before:.2f} -> {weights['steered'][option]:.2f}")
    results = {"family": given.family, "attempts": attempts, "marks": marks,
               "counts": counts, "weights": weights}  # fmt: skip
    save("steering", results, given.output, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
