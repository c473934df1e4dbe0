"""``safe-rl specs list|show``: the shipped specifications, on screen."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safe_rl.specs import Limit, Specification, SpecSet, library_names, load_specs


def wide_console() -> Console:
    """Return a console that does not break lines at 80 columns where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


def list_sets() -> None:
    """Print each shipped set with its size and its categories."""
    table = Table(show_edge=False)
    table.add_column("set")
    table.add_column("specifications", justify="right")
    table.add_column("categories", overflow="fold")
    for name in library_names():
        specs = load_specs(name)
        categories = dict.fromkeys(spec.category for spec in specs)
        table.add_row(name, str(len(specs)), ", ".join(categories))
    wide_console().print(table)


def show_set(source: str, as_json: bool) -> None:
    """Print every specification of a set or a file.

    Raises:
        SpecificationError: there is no such set or file, or it is malformed.
    """
    specs = load_specs(source)
    if as_json:
        print(json.dumps([_document(spec) for spec in specs], indent=2, ensure_ascii=False))
        return
    console = wide_console()
    for spec in specs:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", min_width=12)
        grid.add_column(overflow="fold")
        for key, value in _lines(spec):
            grid.add_row(key, Text(value))
        console.print(Text(spec.id, style="bold"))
        console.print(grid)
        console.print()
    console.print(Text(_needs(specs)), soft_wrap=True)


def limit_words(limit: Limit) -> str:
    """Write a limit as a person would read it.

    >>> limit_words(Limit("per_trigger", 0.02, cap=3))
    'E[V]/E[N] <= 0.02, at most 3 triggers of an episode earning credit'
    """
    words = {
        "episode": f"E[cost per episode] <= {limit.value:g}",
        "probability": f"P(any violation) <= {limit.value:g}",
        "per_trigger": f"E[V]/E[N] <= {limit.value:g}",
    }[limit.kind]
    if limit.cap is not None:
        words += f", at most {limit.cap} triggers of an episode earning credit"
    return words


def _lines(spec: Specification) -> list[tuple[str, str]]:
    lines = [("category", spec.category)]
    if spec.forall:
        lines.append(("for all", ", ".join(f"{v}: {kind}" for v, kind in spec.forall.items())))
    lines.append(("formula", str(spec.formula)))
    lines.append(("trigger", str(spec.trigger)))
    absorbing = "none: a violation lasts to the end of the episode"
    lines.append(("recovery", absorbing if spec.recovery is None else str(spec.recovery)))
    if spec.limit is not None:
        lines.append(("limit", limit_words(spec.limit)))
    if spec.semantics != "finite":
        lines.append(("semantics", spec.semantics))
    if spec.initial:
        lines.append(("initial", "must hold at reset"))
    if spec.says:
        lines.append(("says", spec.says))
    return lines


def _needs(specs: SpecSet) -> str:
    count = f"{len(specs)} specification{'s' * (len(specs) != 1)}"
    if specs.properties and specs.objects is None:
        return f"{count}; bind the objects of: {', '.join(specs.properties)}"
    return f"{count} over {len(specs.propositions)} propositions: {', '.join(specs.propositions)}"


def _document(spec: Specification) -> dict[str, Any]:
    limit = spec.limit
    return {
        "id": spec.id,
        "category": spec.category,
        "forall": dict(spec.forall),
        "formula": str(spec.formula),
        "trigger": str(spec.trigger),
        "recovery": None if spec.recovery is None else str(spec.recovery),
        "weight": spec.weight,
        "limit": None
        if limit is None
        else {"kind": limit.kind, "value": limit.value, "cap": limit.cap},
        "semantics": spec.semantics,
        "initial": spec.initial,
        "says": spec.says,
    }
