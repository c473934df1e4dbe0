"""Controllers: each step by hand, and what a checkpoint needs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from safe_rl.algos import (
    PID,
    Controller,
    ExactPenalty,
    LogBarrier,
    ProjectedGradient,
    Unconstrained,
    make_controller,
)
from safe_rl.errors import ConfigurationError

ALL = [
    ProjectedGradient(lr=0.1, final_fraction=0.5, initial=[0.1, 0.2], upper=5.0),
    PID(kp=0.3, ki=0.1, kd=0.2, smoothing=0.5, delay=2, upper=5.0),
    LogBarrier(sharpness=2.0, upper=5.0),
    ExactPenalty(kappa=3.0),
    Unconstrained(),
]


@pytest.mark.parametrize("size", [0.001, 0.1, 1.0, 50.0])
def test_step_is_proportional_to_the_violation(size: float) -> None:
    """SafePO 69: Adam on a scalar multiplier moves by +-lr whatever the violation."""
    for controller in (ProjectedGradient(lr=0.5), PID(kp=0.0, ki=0.5, kd=0.0)):
        controller.start(1)
        moved = controller.update([1.0 + size], [1.0])[0]
        assert moved == pytest.approx(0.5 * size, rel=1e-9)


def test_projected_gradient_by_hand() -> None:
    controller = ProjectedGradient(lr=0.5, final_fraction=0.0, upper=1.2)
    controller.start(3)
    np.testing.assert_allclose(controller.update([2, 1, 0], [1, 1, 1]), [0.5, 0.0, 0.0])
    np.testing.assert_allclose(controller.update([4, 1, 2], [1, 1, 1]), [1.2, 0.0, 0.5])
    # Half the training done: half the step; at the end: none.
    half = controller.update([0, 2, 2], [1, 1, 1], progress=0.5)
    np.testing.assert_allclose(half, [0.95, 0.25, 0.75])
    none = controller.update([9, 9, 9], [1, 1, 1], progress=1.0)
    np.testing.assert_allclose(none, [0.95, 0.25, 0.75])


def test_pid_by_hand() -> None:
    controller = PID(kp=2.0, ki=0.5, kd=3.0, smoothing=0.5, delay=1)
    controller.start(1)
    # First: error 1, no history. P = 2 * 1, I = 0.5 * 1, D = 0.
    np.testing.assert_allclose(controller.update([3.0], [2.0]), [2.5])
    # Then: error 3 -> smoothed 2; value 5 -> smoothed 4, risen by 1. P = 4, I = 0.5 + 1.5, D = 3.
    np.testing.assert_allclose(controller.update([5.0], [2.0]), [9.0])
    # A fall has no derivative term: error -2 -> smoothed 0; I = 2 - 1.
    np.testing.assert_allclose(controller.update([0.0], [2.0]), [1.0])


def test_pid_integral_does_not_wind_up() -> None:
    """A long feasible phase must not have to be paid back before the multiplier can rise."""
    controller = PID(kp=0.0, ki=1.0, kd=0.0)
    controller.start(1)
    for _ in range(50):
        controller.update([0.0], [1.0])
    assert controller.update([1.5], [1.0])[0] == pytest.approx(0.5)


def test_warmup_keeps_the_first_value() -> None:
    controller = PID(kp=0.0, ki=1.0, initial=0.5, warmup=0.2)
    controller.start(1)
    assert controller.update([0.0], [1.0], progress=0.1)[0] == 0.5
    assert controller.update([9.0], [1.0], progress=0.19)[0] == 0.5
    # Nothing was gathered meanwhile, for instance in an integral.
    assert controller.update([1.25], [1.0], progress=0.2)[0] == 0.75


def test_log_barrier_and_exact_penalty_by_hand() -> None:
    barrier = LogBarrier(sharpness=2.0, upper=7.0)
    barrier.start(3)
    np.testing.assert_allclose(barrier.update([0.5, 1.0, 3.0], [1.0, 1.0, 1.0]), [1.0, 7.0, 7.0])
    penalty = ExactPenalty(kappa=4.0)
    penalty.start(2)
    np.testing.assert_allclose(penalty.update([1.0, 1.1], [1.0, 1.0]), [0.0, 4.0])


def test_unconstrained_stays_zero() -> None:
    controller = Unconstrained()
    controller.start(2)
    assert controller.update([9.0, 9.0], [0.0, 0.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("controller", ALL, ids=lambda c: c.kind)
def test_state_comes_back_through_json(controller: Controller) -> None:
    def rebuild() -> Controller:
        fresh = make_controller(**json.loads(json.dumps(controller.config())))
        fresh.start(2)
        return fresh

    rng = np.random.default_rng(0)
    first = rebuild()
    for _ in range(5):
        first.update(rng.uniform(0, 2, 2), [1.0, 0.5], progress=0.3)
    second = rebuild()
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for _ in range(5):
        values = rng.uniform(0, 2, 2)
        np.testing.assert_array_equal(
            first.update(values, [1.0, 0.5], progress=0.6),
            second.update(values, [1.0, 0.5], progress=0.6),
        )


@pytest.mark.parametrize("controller", ALL, ids=lambda c: c.kind)
def test_a_value_that_is_not_finite_changes_nothing(controller: Controller) -> None:
    controller.start(2)
    controller.update([2.0, 0.1], [1.0, 1.0])
    before = controller.state_dict()
    with pytest.raises(ConfigurationError, match="finished episodes"):
        controller.update([math.nan, 1.0], [1.0, 1.0])
    assert controller.state_dict() == before


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'pid'"):
        make_controller("pids")
    with pytest.raises(ConfigurationError, match="its arguments are .*smoothing"):
        make_controller("pid", momentum=1.0)
    with pytest.raises(ConfigurationError, match="lr must be between 0"):
        ProjectedGradient(lr=-1.0)
    with pytest.raises(ConfigurationError, match="between 0 and"):
        ProjectedGradient(initial=3.0, upper=2.0)
    with pytest.raises(ConfigurationError, match="start"):
        _ = ProjectedGradient().multipliers
    with pytest.raises(ConfigurationError, match="2 multipliers .* 3 constraints"):
        ProjectedGradient(initial=[0.0, 1.0]).start(3)
    controller = ProjectedGradient()
    controller.start(2)
    with pytest.raises(ConfigurationError, match="expected 2 constraint values"):
        controller.update([1.0], [1.0])
    with pytest.raises(ConfigurationError, match="does not fit"):
        controller.load_state_dict({"multipliers": [1.0]})
    other = PID()
    other.start(2)
    with pytest.raises(ConfigurationError, match="does not fit PID"):
        other.load_state_dict(controller.state_dict())
