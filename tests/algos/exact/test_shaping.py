"""Potential-based shaping leaves the optimum where it is, and shifts values by the potential."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import safe_rl.envs  # noqa: F401  (registers KitchenGrid)
from safe_rl.algos.exact import product_cmdp, value_iteration
from safe_rl.envs.kitchen_grid import KitchenParameters, build_tables
from safe_rl.monitors import build_machine
from safe_rl.specs import load_specs
from safe_rl.wrappers import ProductMDP, SafetyReward
from safe_rl.wrappers.reward_terms import MonitorPotential

ID = "safe_rl/KitchenGrid-v0"
SPECS = load_specs("kitchen")
CMDP = product_cmdp(build_tables(KitchenParameters()).model, SPECS)
MACHINES = [build_machine(instance.specification) for instance in SPECS.instances]


@pytest.mark.parametrize("target", ["accepting", "doomed"])
def test_rlinf_940_the_shaped_optimum_is_the_unshaped_one(target: str) -> None:
    """RLinf 940: shaped reward destroys the policy. Here the optimal actions stay the same."""
    phi = MonitorPotential(SPECS, MACHINES, 3.0, target).of(CMDP.automata)
    assert np.ptp(phi) > 1.0
    before = np.repeat(phi, CMDP.num_actions)
    # ``transition`` holds the steps that go on; a terminal state's potential is zero.
    shaped = value_iteration(CMDP, CMDP.reward + CMDP.transition @ phi - before)
    plain = value_iteration(CMDP)
    np.testing.assert_allclose(shaped.values, plain.values - phi, atol=1e-8)
    np.testing.assert_array_equal(shaped.greedy(1e-7), plain.greedy(1e-7))


@pytest.mark.parametrize("target", ["accepting", "doomed"])
def test_the_wrapper_pays_that_shaping(target: str) -> None:
    """``SafetyReward`` in the simulator pays the very potential that was tested above."""
    phi = MonitorPotential(SPECS, MACHINES, 3.0, target)
    env = SafetyReward(ProductMDP(gym.make(ID), SPECS), shaping=3.0, potential=target, gamma=1.0)
    rng = np.random.default_rng(2)
    totals = []
    for episode in range(20):
        _, info = env.reset(seed=9 if episode == 0 else None)
        start = before = float(phi.of(info["safety"]["states"]))
        ended, total = False, 0.0
        while not ended:
            _, reward, ended, _, info = env.step(int(rng.integers(6)))
            after = 0.0 if ended else float(phi.of(info["safety"]["states"]))
            assert reward == pytest.approx(info["task_reward"] + after - before)
            total += reward - info["task_reward"]
            before = after
        assert total == pytest.approx(-start)  # an episode's shaping telescopes
        totals.append(total)
    assert np.isfinite(totals).all()


def test_a_bonus_that_is_no_potential_does_move_the_optimum() -> None:
    """The comparison above can fail: paying for events changes the optimal actions."""
    bonus = 0.5 * CMDP.expected.triggered.sum(axis=1)
    paid = value_iteration(CMDP, CMDP.reward + bonus)
    assert (paid.greedy(1e-7) != value_iteration(CMDP).greedy(1e-7)).any()
