"""Clopper and Pearson's interval, by its definition and by its known values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError
from safe_rl.model_checking import proportion_interval


def at_least(successes, trials, p):
    return sum(
        math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1)
    )


@given(st.integers(1, 60), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_ends_leave_half_of_the_rest_in_each_tail(trials, data, confidence):
    successes = data.draw(st.integers(0, trials))
    low, high = proportion_interval(successes, trials, confidence)
    tail = (1 - confidence) / 2
    assert low <= successes / trials <= high
    if successes:
        assert at_least(successes, trials, low) == pytest.approx(tail, rel=1e-6)
    else:
        assert low == 0.0
    if successes < trials:
        assert 1 - at_least(successes + 1, trials, high) == pytest.approx(tail, rel=1e-6)
    else:
        assert high == 1.0


def test_known_values():
    # With no success of n the upper end is 1 - (alpha / 2) ** (1 / n), at any n.
    for trials in (1, 10, 1000, 10**6):
        _, high = proportion_interval(0, trials)
        assert high == pytest.approx(1 - 0.025 ** (1 / trials), rel=1e-9)
    low, high = proportion_interval(500_000, 10**6)
    assert (low, high) == (pytest.approx(0.4990195, abs=1e-6), pytest.approx(0.5009805, abs=1e-6))
    assert proportion_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "3 of 2 trials cannot have succeeded"),
        ((-1, 2), "-1 of 2"),
        ((1, 2, 1.0), "confidence must lie between 0 and 1, but is 1.0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        proportion_interval(*arguments)
