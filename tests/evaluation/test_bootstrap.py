"""Ratios of sums and their intervals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.bootstrap import Estimate, estimate_ratios


def test_a_ratio_of_sums_is_not_a_mean_of_ratios():
    (estimate,) = estimate_ratios([[1], [0]], [[1], [9]])
    assert estimate.value == 0.1  # the mean of ratios would be 0.5
    assert estimate.fraction == Fraction(1, 10)


def test_no_opportunity_is_no_value():
    (estimate,) = estimate_ratios([[0], [0]], [[0], [0]])
    assert estimate.value is None
    assert estimate.fraction is None
    assert (estimate.low, estimate.high) == (None, None)


def test_same_seed_same_interval_and_another_seed_another():
    rng = np.random.default_rng(3)
    top = rng.random((60, 1))
    bottom = np.ones((60, 1))
    first = estimate_ratios(top, bottom, seed=5)
    assert first == estimate_ratios(top, bottom, seed=5)
    assert first != estimate_ratios(top, bottom, seed=6)


def test_interval_of_a_mean_agrees_with_the_normal_theory():
    rng = np.random.default_rng(0)
    values = rng.normal(2.0, 3.0, size=(400, 1))
    (estimate,) = estimate_ratios(values, np.ones_like(values), resamples=4000)
    half = 1.96 * values.std() / np.sqrt(400)
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.03)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.03)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        triggers = rng.integers(1, 5, size=80)
        violations = rng.binomial(triggers, 0.2)
        (estimate,) = estimate_ratios(
            violations[:, None], triggers[:, None], resamples=500, seed=trial
        )
        covered += estimate.low <= 0.2 <= estimate.high
    assert 0.89 <= covered / 200 <= 0.99


def test_episodes_are_resampled_whole():
    """Events that come in clusters say less than as many independent ones."""
    clustered = np.zeros((100, 1))
    clustered[:5] = 20
    spread = np.ones((100, 1))
    spread[::2] = 1
    spread[:] = np.tile([[0], [2]], (50, 1))
    ones = np.ones((100, 1)) * 20
    (tight,) = estimate_ratios(spread, ones)
    (wide,) = estimate_ratios(clustered, ones)
    assert tight.value == wide.value
    assert wide.high - wide.low > 2 * (tight.high - tight.low)


def test_no_interval_where_resampling_says_nothing():
    zero, single = estimate_ratios([[0, 1], [0, 0]], [[5, 2], [5, 0]])
    assert zero == Estimate(0, 10)
    assert (single.low, single.high) == (None, None)
    assert estimate_ratios([[1]], [[2]])[0].low is None


def test_many_episodes_are_drawn_in_chunks(monkeypatch):
    values = np.random.default_rng(2).random((50, 2))
    ones = np.ones_like(values)
    expected = estimate_ratios(values, ones, resamples=200)
    monkeypatch.setattr("safe_rl.evaluation.bootstrap._CHUNK_ELEMENTS", 500)
    # the generator's stream is the same however it is cut
    assert estimate_ratios(values, ones, resamples=200) == expected


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1, got 1.0"),
        ({"resamples": -1}, "resamples must be 0 or more, got -1"),
    ],
)
def test_arguments_out_of_range(keywords, words):
    with pytest.raises(ConfigurationError, match=words):
        estimate_ratios([[1]], [[1]], **keywords)


def test_shapes_must_agree():
    with pytest.raises(ConfigurationError, match="one shape"):
        estimate_ratios([[1, 2]], [[1]])
