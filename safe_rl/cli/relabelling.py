"""``safe-rl relabel``: a recorded dataset annotated under other specifications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.options import RecordedObjects, Select

if TYPE_CHECKING:
    from safe_rl.data import EpisodeSummary
    from safe_rl.specs import SpecSet


def relabel_command(
    dataset: Annotated[
        Path, typer.Argument(help="A LeRobot or Minari dataset, or *.episodes.npz; or a folder.")
    ],
    specs: Annotated[str, typer.Option(help="A YAML or JSON file, or the name of a shipped set.")],
    out: Annotated[Path, typer.Option(help="Folder of the new LeRobot dataset.")],
    select: Select = None,
    objects: RecordedObjects = None,
    fps: Annotated[
        int | None, typer.Option(min=1, help="Control steps in a second; default: as recorded.")
    ] = None,
) -> None:
    """Annotate recorded episodes under other specifications, without the simulator.

    The propositions must have been logged; one that was not is an error that names it.
    """
    with clear_errors():
        from safe_rl.cli.objects import parse_objects
        from safe_rl.data.relabelling import relabel
        from safe_rl.specs import load_specs

        chosen = load_specs(specs).select(select) if select else load_specs(specs)
        said = relabel(dataset, out, chosen, objects=parse_objects(objects or ()), fps=fps)
        _show(chosen, said)
        typer.echo(f"wrote {out}")


def _show(specs: SpecSet, said: list[EpisodeSummary]) -> None:
    """Print how many episodes are safe, and what happened under each specification."""
    from rich.table import Table

    from safe_rl.cli.screen import screen

    safe = sum(bool(own.safe) for own in said)
    won = [own for own in said if own.success]
    table = Table(title=f"{len(said)} episodes, {safe} of them safe")
    for heading in ("specification", "N", "V", "U", "pending", "V/N", "episodes with V"):
        table.add_column(heading, justify="left" if heading == "specification" else "right")
    for number, spec in enumerate(specs):
        counts = [[own.counts[name][number] for own in said] for name in ("N", "V", "U", "pending")]
        triggered, violated, *_ = map(sum, counts)
        rate = f"{violated / triggered:.3f}" if triggered else "n/a"
        bad = sum(count > 0 for count in counts[1])
        table.add_row(spec.id, *(str(sum(own)) for own in counts), rate, str(bad))
    console = screen()
    console.print(table)
    if won:
        both = sum(bool(own.safe) for own in won)
        console.print(f"{len(won)} successes, {both} of them safe", highlight=False)
