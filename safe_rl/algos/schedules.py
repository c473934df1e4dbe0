"""Schedules that a configuration file can write: a number, or a pair that is annealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from safe_rl.errors import ConfigurationError

__all__ = ["GeometricSchedule", "LinearSchedule", "ScheduleLike", "make_schedule"]

ScheduleLike = float | Sequence[Any] | Callable[[float], float]


class LinearSchedule:
    """From ``start`` to ``end`` by a constant difference per step of progress.

    >>> LinearSchedule(1.0, 0.0)(0.25)
    0.25
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def __call__(self, progress_remaining: float) -> float:
        """Return the value at a remaining progress (1 at the start, 0 at the end)."""
        return self.start + (1.0 - progress_remaining) * (self.end - self.start)

    def __repr__(self) -> str:
        """Show the ends."""
        return f"LinearSchedule(start={self.start}, end={self.end})"


class GeometricSchedule:
    """From ``start`` to ``end`` by a constant factor per step of progress, as temperatures are.

    >>> GeometricSchedule(1.0, 0.01)(0.5)
    0.1
    """

    def __init__(self, start: float, end: float) -> None:
        if not (start > 0.0 and end > 0.0):
            raise ConfigurationError(
                f"a geometric schedule needs positive ends, got {start!r} and {end!r}"
            )
        self.start = start
        self.end = end

    def __call__(self, progress_remaining: float) -> float:
        """Return the value at a remaining progress (1 at the start, 0 at the end)."""
        return float(self.start * (self.end / self.start) ** (1.0 - progress_remaining))

    def __repr__(self) -> str:
        """Show the ends."""
        return f"GeometricSchedule(start={self.start}, end={self.end})"


def make_schedule(value: ScheduleLike, name: str) -> float | Callable[[float], float]:
    """Return a number or a function of the remaining progress (1 at the start, 0 at the end).

    Args:
        value: a number, ``(first, last)`` for a line, ``(first, last, "geometric")``, or a
            function.
        name: of the argument, for messages.

    >>> make_schedule((3e-4, 0.0), "learning_rate")(0.5)
    0.00015
    >>> make_schedule((1.0, 0.01, "geometric"), "ent_coef")(0.5)
    0.1
    >>> make_schedule(0.2, "clip_range")
    0.2

    Raises:
        ConfigurationError: anything else.
    """
    if callable(value):
        return value
    try:
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str):
            raise TypeError
        first, last, shape = value if len(value) == 3 else (*value, "linear")
        if shape == "linear":
            return LinearSchedule(float(first), float(last))
        if shape == "geometric":
            return GeometricSchedule(float(first), float(last))
    except (TypeError, ValueError):
        pass
    raise ConfigurationError(
        f"{name} must be a number, (first, last), (first, last, 'geometric') or a function of the "
        f"remaining progress, got {value!r}"
    )
