"""Where tables are printed, and how long work shows how far it is."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def screen() -> Console:
    """Return a console as wide as the terminal, or wide enough for the tables in a file."""
    console = Console()
    return console if console.is_terminal else Console(width=150)


def counting_bar(words: str, *, transient: bool = False) -> Progress:
    """Return a bar on stderr: how many of how many, and the time that is left.

    It is silent where stderr is not a terminal.

    Args:
        words: before the bar.
        transient: take it away at the end.
    """
    return Progress(
        TextColumn(words),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        disable=not sys.stderr.isatty(),
        transient=transient,
    )
