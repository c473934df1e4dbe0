"""Normalisation: what states and actions of the training data are like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

Floats = NDArray[np.float32]
LEAST_STD = 1e-3
"""Entries that vary less than this are not divided by less."""


class Statistics(NamedTuple):
    """Mean and standard deviation of each entry; a checkpoint holds them with the weights.

    Attributes:
        state_mean, state_std: float32 ``[D]``.
        action_mean, action_std: float32 ``[A]``.
    """

    state_mean: Floats
    state_std: Floats
    action_mean: Floats
    action_std: Floats

    @classmethod
    def neutral(cls, state_size: int, action_size: int) -> Statistics:
        """Return statistics that change nothing."""
        return cls(
            np.zeros(state_size, np.float32),
            np.ones(state_size, np.float32),
            np.zeros(action_size, np.float32),
            np.ones(action_size, np.float32),
        )


def statistics_of(states: Iterable[NDArray[Any]], actions: Iterable[NDArray[Any]]) -> Statistics:
    """Return the statistics of some episodes.

    Args:
        states: of each episode, ``[T, D]``.
        actions: of each episode, ``[T, A]``.

    Raises:
        ConfigurationError: there is nothing, or a number that is not finite.

    >>> found = statistics_of([np.array([[1.0], [3.0]])], [np.array([[0.5], [0.5]])])
    >>> found.state_mean, found.state_std, found.action_std
    (array([2.], dtype=float32), array([1.], dtype=float32), array([0.001], dtype=float32))
    """
    return Statistics(*_moments("states", states), *_moments("actions", actions))


def _moments(name: str, parts: Iterable[NDArray[Any]]) -> tuple[Floats, Floats]:
    count, total, squares = 0, np.zeros(0), np.zeros(0)
    for part in parts:
        values = np.asarray(part, np.float64)
        if not count:
            shift = values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
            total, squares = np.zeros_like(shift), np.zeros_like(shift)
        count += len(values)
        total += (values - shift).sum(axis=0)
        squares += ((values - shift) ** 2).sum(axis=0)
    if not count or not np.isfinite(squares).all():
        raise ConfigurationError(
            f"the statistics of {name} need at least one row of finite numbers, got {count} rows"
        )
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    return (shift + mean).astype(np.float32), np.maximum(std, LEAST_STD).astype(np.float32)
