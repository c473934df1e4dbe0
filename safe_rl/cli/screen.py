"""Where tables are printed."""

from __future__ import annotations

from rich.console import Console


def screen() -> Console:
    """Return a console as wide as the terminal, or wide enough for the tables in a file."""
    console = Console()
    return console if console.is_terminal else Console(width=150)
