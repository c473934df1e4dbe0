"""Schedules that a configuration file can write: a number, or a pair annealed linearly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stable_baselines3.common.utils import LinearSchedule

from safe_rl.errors import ConfigurationError

__all__ = ["make_schedule"]


def make_schedule(
    value: float | Sequence[float] | Callable[[float], float], name: str
) -> float | Callable[[float], float]:
    """Return a number or a function of the remaining progress (1 at the start, 0 at the end).

    >>> make_schedule((3e-4, 0.0), "learning_rate")(0.5)
    0.00015
    >>> make_schedule(0.2, "clip_range")
    0.2

    Raises:
        ConfigurationError: neither a number, nor a pair ``(first, last)``, nor a function.
    """
    if callable(value):
        return value
    try:
        if isinstance(value, int | float):
            return float(value)
        first, last = (float(x) for x in value)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{name} must be a number, a pair (first, last) or a function of the remaining "
            f"progress, got {value!r}"
        ) from None
    return LinearSchedule(first, last, 1.0)
