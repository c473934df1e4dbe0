"""Exact confidence intervals for a proportion."""

from __future__ import annotations

import math
from typing import Final

from safe_rl.errors import ConfigurationError

_SMALLEST: Final = 1e-300
_ROUNDS: Final = 50


def proportion_interval(
    successes: int, trials: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Return an interval that holds the true proportion with at least this confidence.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial" (Biometrika 1934): the proportions under which neither so few nor so many successes
    are less likely than (1 - confidence) / 2. It never covers less than it says, whatever the
    proportion and however few trials there are.

    Raises:
        ConfigurationError: the counts do not fit, or ``confidence`` is not between 0 and 1.

    >>> [round(end, 4) for end in proportion_interval(0, 100)]
    [0.0, 0.0362]
    >>> [round(end, 4) for end in proportion_interval(9, 10)]
    [0.555, 0.9975]
    """
    if not 0 <= successes <= trials:
        raise ConfigurationError(f"{successes} of {trials} trials cannot have succeeded")
    if not 0.0 < confidence < 1.0:
        raise ConfigurationError(f"confidence must lie between 0 and 1, but is {confidence}")
    if trials == 0:
        return 0.0, 1.0
    tail = (1.0 - confidence) / 2.0
    low = _quantile(successes, trials - successes + 1, tail) if successes else 0.0
    high = 1.0 - _quantile(trials - successes, successes + 1, tail) if successes < trials else 1.0
    return low, high


def _quantile(a: int, b: int, mass: float) -> float:
    """The x below which a Beta(a, b) variable lies with probability ``mass``, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        if _beta_cdf(middle, a, b) < mass:
            low = middle
        else:
            high = middle
    return low


def _beta_cdf(x: float, a: int, b: int) -> float:
    """The regularised incomplete beta function I_x(a, b).

    By its continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22) with
    Lentz's method, on the side where it converges fast.
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_cdf(1.0 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d, result = math.inf, 1.0, 1.0
    m = 0
    while True:
        steps = [-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]
        if m:
            steps.insert(0, m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)))
        for numerator in steps:
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > _SMALLEST else _SMALLEST)
            c = 1.0 + numerator / c
            c = c if abs(c) > _SMALLEST else _SMALLEST
            result *= c * d
        if abs(c * d - 1.0) < 1e-14:
            return front * result / a
        m += 1
