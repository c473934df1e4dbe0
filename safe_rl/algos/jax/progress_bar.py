"""A bar in the terminal while a run trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(shown: bool, total: int, done: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the environment steps done; the bar is drawn at most 4 times/s.

    Args:
        shown: whether there is a bar at all.
        total: steps of the whole training.
        done: steps done at the start.
    """
    if not shown:
        yield lambda steps: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, refresh_per_second=4) as progress:
        task = progress.add_task("training", total=total, completed=done, speed="")

        def advance(steps: int) -> None:
            speed = progress.tasks[0].speed
            text = "" if speed is None else f"{speed:,.0f} steps/s"
            progress.update(task, completed=min(steps, total), speed=text)

        yield advance
