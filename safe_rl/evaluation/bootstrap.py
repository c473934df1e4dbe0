"""Ratios of sums over episodes, with bootstrap intervals by resampling whole episodes.

Steps and events inside one episode depend on one another, so the episode is the unit that is
resampled; a ratio such as V/N is the ratio of the resampled sums, never a mean of ratios (Efron &
Tibshirani, An Introduction to the Bootstrap, chapters 6 and 13: percentile intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError

DEFAULT_RESAMPLES = 2000
DEFAULT_CONFIDENCE = 0.95
_CHUNK_ELEMENTS = 4_000_000  # weights drawn at a time: 32 MB, however many episodes there are


@dataclass(frozen=True)
class Estimate:
    """A ratio of two sums over episodes.

    Attributes:
        numerator: sum over episodes, for example V.
        denominator: sum over episodes, for example N. Zero means that there was no opportunity.
        low: lower end of the bootstrap interval; ``None`` where resampling says nothing: fewer
            than two episodes contribute, or no resample differs from another.
        high: upper end, ``None`` together with ``low``.
    """

    numerator: float
    denominator: float
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float | None:
        """The ratio, or ``None`` when the denominator is zero: not 0, and not a pass."""
        return self.numerator / self.denominator if self.denominator else None

    @property
    def fraction(self) -> Fraction | None:
        """The ratio as an exact fraction, for the identities between rates."""
        if not self.denominator:
            return None
        return Fraction(self.numerator) / Fraction(self.denominator)


def estimate_ratios(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """Estimate ``M`` ratios of sums from the same resampled episodes.

    Args:
        numerators: ``[E, M]``, one row per episode.
        denominators: ``[E, M]``, not negative.
        resamples: number of bootstrap replicates; 0 for no intervals.
        confidence: coverage of the percentile interval, in (0, 1).
        seed: of the resampling; the same seed gives the same intervals.

    Returns:
        One :class:`Estimate` per column.

    Raises:
        ConfigurationError: the shapes differ, or a number is out of its range.

    >>> [row.value for row in estimate_ratios([[1, 0], [0, 0]], [[1, 0], [1, 0]])]
    [0.5, None]
    """
    top = np.asarray(numerators, np.float64)
    bottom = np.asarray(denominators, np.float64)
    if top.ndim != 2 or top.shape != bottom.shape:
        raise ConfigurationError(
            f"estimate_ratios() needs two arrays of one shape [episodes, ratios], "
            f"got {top.shape} and {bottom.shape}"
        )
    if not 0.0 < confidence < 1.0:
        raise ConfigurationError(f"confidence must lie between 0 and 1, got {confidence}")
    if resamples < 0:
        raise ConfigurationError(f"resamples must be 0 or more, got {resamples}")
    lows, highs = _intervals(top, bottom, resamples, confidence, seed)
    return tuple(
        Estimate(float(numerator), float(denominator), low, high)
        for numerator, denominator, low, high in zip(
            top.sum(axis=0), bottom.sum(axis=0), lows, highs, strict=True
        )
    )


def _intervals(
    top: NDArray[np.float64],
    bottom: NDArray[np.float64],
    resamples: int,
    confidence: float,
    seed: int,
) -> tuple[Sequence[float | None], Sequence[float | None]]:
    episodes, ratios = top.shape
    empty = [None] * ratios
    if resamples == 0 or episodes < 2 or ratios == 0:
        return empty, empty
    rng = np.random.default_rng(seed)
    columns = np.concatenate([top, bottom], axis=1)
    chunk = max(1, _CHUNK_ELEMENTS // episodes)
    sums = np.empty((resamples, 2 * ratios))
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        picked = rng.integers(0, episodes, size=(rows, episodes))
        # how often each episode was drawn: one bincount over disjoint ranges, one per replicate
        offsets = picked + episodes * np.arange(rows)[:, None]
        weights = np.bincount(offsets.ravel(), minlength=rows * episodes)
        sums[start : start + rows] = weights.reshape(rows, episodes) @ columns
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = np.where(sums[:, ratios:] > 0, sums[:, :ratios] / sums[:, ratios:], np.nan)
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    lows: list[float | None] = []
    highs: list[float | None] = []
    for column, contributing in zip(replicates.T, (bottom > 0).sum(axis=0), strict=True):
        known = column[~np.isnan(column)]
        if contributing < 2 or known.size == 0 or np.ptp(known) == 0:
            lows.append(None)
            highs.append(None)
            continue
        low, high = np.quantile(known, tails)
        lows.append(float(low))
        highs.append(float(high))
    return lows, highs
