"""Scores against values worked out by hand, and the identities between the rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.metrics import OUTCOMES, outcome_columns, score
from safe_rl.evaluation.records import concatenate, load_records
from tests.evaluation.episodes import episodes


@dataclass(frozen=True)
class Bound:
    """A constraint, as ProductMDP describes it."""

    id: str
    kind: str
    value: float
    threshold: float
    cap: int | None = None


def value(scores, name):
    estimate = scores.outcomes[name]
    return None if estimate is None else estimate.value


def test_outcomes_by_hand():
    scores = score(
        episodes(
            success=[1, 1, 0, 0, 0],
            engaged=[1, 1, 1, 0, 0],
            charged=[0, 1, 1, 0, 0],
            violations=[[0, 0, 0], [1, 0, 0], [0, 2, 1], [0, 0, 1], [0, 0, 0]],
        )
    )
    assert value(scores, "success") == 2 / 5
    assert value(scores, "ssr") == 1 / 5
    assert value(scores, "unsafe_success") == 1 / 2
    assert value(scores, "svr") == 2 / 5
    assert value(scores, "safe") == 3 / 5
    assert value(scores, "engaged") == 3 / 5
    assert value(scores, "evr") == 2 / 3
    assert value(scores, "vacuous_safe") == 2 / 5
    assert value(scores, "engaged_safe") == 1 / 5
    assert value(scores, "safe_given_engaged") == 1 / 3
    # the fourth episode violated before anything was touched: seen, but not charged
    assert value(scores, "any_violation") == 3 / 5


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_identities_hold_exactly(rows):
    success, engaged, violates = (np.array(column) for column in zip(*rows, strict=True))
    scores = score(
        episodes(success=success, engaged=engaged, charged=violates & engaged), resamples=0
    )
    rate = {name: estimate.fraction for name, estimate in scores.outcomes.items()}
    assert rate["safe"] == rate["vacuous_safe"] + rate["engaged_safe"]
    assert rate["safe"] + rate["svr"] == 1
    if engaged.any():
        assert rate["svr"] == rate["engaged"] * rate["evr"]
        assert rate["evr"] + rate["safe_given_engaged"] == 1
        assert rate["engaged_safe"] == rate["engaged"] * rate["safe_given_engaged"]
    else:
        assert rate["svr"] == 0
        assert rate["evr"] is None


def test_what_the_environment_does_not_report_is_not_guessed():
    scores = score(episodes(violations=[[1, 0, 0], [0, 0, 0]]))
    for name in ("success", "ssr", "unsafe_success", "engaged", "evr", "vacuous_safe"):
        assert scores.outcomes[name] is None
    assert value(scores, "svr") == 1 / 2
    assert set(scores.outcomes) == set(OUTCOMES)


def test_a_charge_without_engagement_is_refused():
    with pytest.raises(ConfigurationError, match="never touched a task object"):
        outcome_columns(episodes(engaged=[0], charged=[1]))


def test_per_trigger_rates_pool_counts_before_the_ratio():
    scores = score(
        episodes(
            triggered=[[2, 0, 4], [1, 1, 0]],
            violations=[[1, 0, 0], [0, 1, 0]],
            exposure=[[3, 0, 0], [0, 5, 0]],
            pending=[[0, 0, 0], [0, 0, 2]],
        )
    )
    grasp, drop = scores.specifications
    assert (grasp.triggered, grasp.violations, grasp.exposure, grasp.pending) == (4, 2, 8, 0)
    assert grasp.per_trigger.value == 2 / 4
    assert grasp.exposure_per_trigger.value == 8 / 4
    assert grasp.episodes_violated.value == 1.0
    assert (drop.per_trigger.value, drop.pending) == (0.0, 2)
    (stability,) = scores.categories
    assert stability.per_trigger.value == 2 / 8
    assert scores.pooled.per_trigger.value == 2 / 8
    assert scores.coverage.value == 1.0


def test_never_triggered_is_neither_zero_nor_a_pass():
    bounds = [Bound("drop", "per_trigger", 0.1, 0.0), Bound("drop", "episode", 0.1, 0.1)]
    scores = score(episodes(triggered=[[1, 0, 0]] * 3, costs=[[0.0, 0.0]] * 3), bounds)
    drop = scores.specifications[1]
    assert drop.per_trigger.value is None
    assert drop.exposure_per_trigger.value is None
    assert scores.constraints[0].met is None
    assert scores.constraints[1].met is True  # a limit per episode has its denominator
    assert scores.constraints[1].triggered == 0
    assert scores.coverage.value == 1 / 2


def test_limits_of_three_kinds():
    bounds = [
        Bound("grasp", "episode", 0.5, 0.5),
        Bound("grasp", "probability", 0.4, 0.4),
        Bound("drop", "per_trigger", 0.25, 0.0),
    ]
    records = episodes(
        triggered=[[1, 0, 2], [1, 0, 1], [1, 1, 1]],
        violations=[[1, 0, 0], [0, 0, 0], [0, 0, 1]],
        costs=[[1, 1, -0.5], [0, 0, -0.25], [0, 0, 0.75]],
    )
    episode, probability, per_trigger = score(records, bounds).constraints
    assert episode.measured.value == pytest.approx(1 / 3)
    assert episode.met
    assert probability.met
    assert per_trigger.measured.value == 1 / 4
    assert per_trigger.signal == pytest.approx(0.0)
    assert per_trigger.met
    tight = [Bound("grasp", "episode", 0.3, 0.3), bounds[1], bounds[2]]
    assert score(records, tight).constraints[0].met is False


def test_a_cap_bounds_the_triggers_that_earn_credit():
    bound = Bound("drop", "per_trigger", 0.5, 0.0, cap=2)
    records = episodes(
        triggered=[[0, 0, 9], [0, 0, 1]],
        violations=[[0, 0, 1], [0, 0, 1]],
        costs=[[1 - 0.5 * 2], [1 - 0.5]],
    )
    (row,) = score(records, [bound]).constraints
    assert row.measured.value == 2 / 3
    assert row.triggered == 10
    assert row.met is False


def test_intervals_come_from_the_same_resamples_and_are_seeded():
    rng = np.random.default_rng(0)
    n = rng.integers(1, 4, size=(50, 3))
    records = episodes(triggered=n, violations=rng.binomial(n, 0.3), returns=rng.random(50))
    first, again = score(records, seed=1), score(records, seed=1)
    assert first == again
    row = first.pooled.per_trigger
    assert row.low < row.value < row.high
    assert score(records, seed=2).pooled.per_trigger.low != row.low


def test_nothing_to_score_is_an_error():
    with pytest.raises(ConfigurationError, match="no episodes to score"):
        score(episodes(returns=[]))
    with pytest.raises(ConfigurationError, match="1 constraints for 0 cost columns"):
        score(episodes(returns=[1.0]), [Bound("grasp", "episode", 1, 1)])


def test_records_survive_a_file_and_can_be_pooled(tmp_path):
    records = episodes(success=[1, 0], violations=[[1, 0, 0], [0, 0, 0]], returns=[1.5, -2.0])
    records.save(tmp_path / "episodes.npz")
    loaded = load_records(tmp_path / "episodes.npz")
    assert loaded.columns == records.columns
    assert loaded.engaged is None
    np.testing.assert_array_equal(loaded.returns, records.returns)
    both = concatenate([records, loaded])
    assert len(both) == 4
    assert score(both).outcomes["success"].value == 1 / 2
    assert len(both.select(both.returns > 0)) == 2


def test_records_of_other_specifications_do_not_pool():
    other = episodes(returns=[0.0])
    changed = type(other.columns)(("x",), ("y",), ("x",), (0,))
    with pytest.raises(ConfigurationError, match="different specifications"):
        concatenate([other, episodes(returns=[0.0], columns=changed)])


def test_rows_and_columns_are_checked():
    with pytest.raises(ConfigurationError, match="one row per episode"):
        episodes(returns=[0.0], success=[1, 0], engaged=[1])
