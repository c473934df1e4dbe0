"""What a controller aims at: the limits, less a reserve that a policy can in fact keep."""

import numpy as np
import pytest

from safe_rl.algos.constraint_set import ConstraintSet
from safe_rl.algos.controllers import PID

SET = ConstraintSet(
    ids=("glass", "episode"),
    limits=(0.0, 2.0),
    kinds=("per_trigger", "episode"),
    cost_key="constraint_costs",
    scales=(0.1, 2.0),
)


@pytest.mark.parametrize(
    ("triggered", "reserve"),
    [({"glass": 3.0}, 0.02), ({"glass": 1.0}, 0.02), ({"glass": 0.25}, 0.005), ({"glass": 0.0}, 0)],
)
def test_the_reserve_of_a_limit_per_trigger_is_for_the_events_that_there_are(triggered, reserve):
    np.testing.assert_allclose(SET.aims(0.2, triggered), [-reserve, 1.6])


def test_without_counts_the_reserve_is_whole():
    np.testing.assert_allclose(SET.aims(0.2, {}), [-0.02, 1.6])


def test_a_policy_that_triggers_nothing_keeps_its_limit_and_its_multiplier():
    """A fixed reserve made the multiplier of a policy that had stopped acting grow for ever."""
    controller = PID(kp=0.5, ki=0.1, initial=1.0)
    controller.start(2)
    for _ in range(100):
        controller.update([0.0, 0.0], SET.aims(0.2, {"glass": 0.0}))
    assert controller.multipliers[0] == pytest.approx(1.0)
