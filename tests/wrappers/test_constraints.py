"""The one definition of costs, recomputed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.monitors import CountArrays
from safe_rl.specs import Limit, Specification, SpecSet
from safe_rl.wrappers import Constraint, CostModel

SPECS = SpecSet(
    [
        Specification("plain", "G !a", trigger="a", weight=3.0),
        Specification("total", "G !a", trigger="a", limit=Limit("episode", 2.0)),
        Specification("chance", "G !a", trigger="a", limit=Limit("probability", 0.1)),
        Specification("rate", "G !a", trigger="a", limit=Limit("per_trigger", 0.5)),
        Specification("capped", "G !a", trigger="a", limit=Limit("per_trigger", 0.25, cap=2)),
    ]
)


def counts(n: list[int], v: list[int], u: list[int], pending: int = 0) -> CountArrays:
    shape = np.array(n)
    return CountArrays(
        shape,
        np.array(v),
        np.array(u),
        np.full_like(shape, pending),
        np.zeros_like(shape, np.int8),
    )


def test_constraints_name_limit_and_threshold() -> None:
    assert CostModel.from_specs(SPECS).constraints == (
        Constraint("total", "episode", 2.0, None, 2.0, 1),
        Constraint("chance", "probability", 0.1, None, 0.1, 2),
        Constraint("rate", "per_trigger", 0.5, None, 0.0, 3),
        Constraint("capped", "per_trigger", 0.25, 2, 0.0, 4),
    )


def test_values_by_hand() -> None:
    model = CostModel.from_specs(SPECS)
    values = model.episode_values(counts([3] * 5, [2] * 5, [7] * 5))
    assert values.costs.tolist() == [2.0] * 5
    # E: V = 2; P: 1 since V > 0; V - d N = 2 - 0.5 * 3; V - d min(N, cap) = 2 - 0.25 * 2
    assert values.constraint_costs.tolist() == [2.0, 1.0, 0.5, 1.5]
    exposure = CostModel.from_specs(SPECS, "exposure").episode_values(
        counts([3] * 5, [2] * 5, [7] * 5)
    )
    assert exposure.costs.tolist() == [7.0] * 5
    assert exposure.constraint_costs.tolist() == [7.0, 1.0, 0.5, 1.5]
    priced = CostModel.from_specs(SPECS, "per_trigger").episode_values(
        counts([3] * 5, [2] * 5, [7] * 5)
    )
    assert priced.costs.tolist() == [2.0, 2.0, 2.0, 0.5, 1.5]
    assert priced.constraint_costs.tolist() == [2.0, 1.0, 0.5, 1.5]


def test_values_keep_leading_axes() -> None:
    model = CostModel.from_specs(SPECS)
    one = counts([1] * 5, [0, 1, 0, 1, 0], [0] * 5)
    many = CountArrays(*(np.stack([field] * 6).reshape(2, 3, 5) for field in one))
    values = model.episode_values(many)
    assert values.costs.shape == (2, 3, 5) and values.constraint_costs.shape == (2, 3, 4)
    single = model.episode_values(one)
    assert (values.constraint_costs == single.constraint_costs).all()


def test_memory_is_what_the_signals_depend_on() -> None:
    model = CostModel.from_specs(SPECS)
    assert model.memory_names == ("chance:violated", "capped:credited")
    assert model.memory(counts([0] * 5, [0] * 5, [0] * 5)).tolist() == [0.0, 0.0]
    assert model.memory(counts([1] * 5, [1] * 5, [1] * 5)).tolist() == [1.0, 0.5]
    assert model.memory(counts([9] * 5, [4] * 5, [1] * 5)).tolist() == [1.0, 1.0]


def test_memory_keeps_the_credit_of_pending_events() -> None:
    """The state that a learner bootstraps from is the one in which the episode would go on."""
    model = CostModel.from_specs(SPECS)
    assert model.memory(counts([0] * 5, [0] * 5, [0] * 5, pending=1)).tolist() == [0.0, 0.5]


def test_unknown_cost() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'violation'"):
        CostModel.from_specs(SPECS, "violations")  # type: ignore[arg-type]


def test_specifications_without_instances_cost_nothing() -> None:
    rule = Specification(
        "lids", "G !open(l)", trigger="true", forall={"l": "lid"}, limit=Limit("episode", 1.0)
    )
    model = CostModel.from_specs(SpecSet([rule, SPECS["plain"]], {"lid": []}))
    values = model.episode_values(counts([1], [1], [1]))
    assert values.costs.tolist() == [0.0, 1.0]
    assert values.constraint_costs.tolist() == [0.0]
