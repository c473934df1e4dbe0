"""Recorded episodes made by hand, for tests."""

from __future__ import annotations

import numpy as np

from safe_rl.data import Episode

NAMES = ("lifted", "lid_on", "asked")


def episode(*letters: set[str], names: tuple[str, ...] = NAMES, **fields) -> Episode:
    """An episode whose letters are given as sets of true names; rewards 1, 2, 3, ..."""
    steps = len(letters) - 1
    array = np.array([[name in letter for name in names] for letter in letters], bool)
    plain = {"terminated": True, "truncated": False, "rewards": np.arange(1.0, steps + 1)}
    return Episode(names, array.reshape(len(letters), -1), **{**plain, **fields})


def same(one: Episode, other: Episode, *, but: tuple[str, ...] = ()) -> bool:
    """Whether two episodes are equal bit for bit, types included, but for some fields."""
    return all(
        _equal(getattr(one, name), getattr(other, name))
        for name in Episode.__dataclass_fields__
        if name not in but
    )


def _equal(one, other) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other
