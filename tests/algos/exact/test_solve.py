"""Linear programs, policy evaluation and value iteration, against answers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from safe_rl.algos.exact import (
    ProductCMDP,
    evaluate_policy,
    policy_of_occupancy,
    product_cmdp,
    solve_lp,
    value_iteration,
)
from safe_rl.errors import ConfigurationError
from safe_rl.specs import Limit, Specification, SpecSet
from tests.algos.exact.models import departures, shortcut, tabulate

T = 0.1
D = departures(T)


def avoid(limit: Limit | None) -> SpecSet:
    rule = Specification("avoid", "G !risky", trigger="risky", recovery="F !risky", limit=limit)
    return SpecSet([rule])


def product(limit: Limit | None) -> ProductCMDP:
    return product_cmdp(shortcut(T), avoid(limit))


def test_unconstrained_optimum_agrees_three_ways() -> None:
    cmdp = product(None)
    assert solve_lp(cmdp).value == pytest.approx(2 * D)
    optimum = value_iteration(cmdp)
    assert cmdp.initial @ optimum.values == pytest.approx(2 * D, abs=1e-9)
    greedy = optimum.greedy() / optimum.greedy().sum(axis=1, keepdims=True)
    evaluation = evaluate_policy(cmdp, greedy)
    assert evaluation.value == pytest.approx(2 * D)
    assert evaluation.length == pytest.approx(1 / T)
    assert evaluation.violated == pytest.approx([D])
    assert evaluation.exposed == pytest.approx([D])  # each violation is left at the next step


def test_episode_limit() -> None:
    """At most one short cut per episode: the return is the road's, and one more."""
    cmdp = product(Limit("episode", 1.0))
    solution = solve_lp(cmdp)
    assert solution.value == pytest.approx(D + 1.0)
    assert solution.constraint_values == pytest.approx([1.0])
    assert solution.multipliers == pytest.approx([1.0])  # one short cut more is worth one


def test_probability_limit() -> None:
    """After the first violation nothing more can be lost, so the best mix is all or nothing."""
    cmdp = product(Limit("probability", 0.25))
    solution = solve_lp(cmdp)
    # From the first departure at which it is tried, the short cut is always taken, and pays D more
    # from there on if nothing ended before: probability and gain shrink together.
    assert solution.value == pytest.approx(D + 0.25 * D)
    assert solution.constraint_values == pytest.approx([0.25])
    assert solution.multipliers == pytest.approx([D])


def test_per_trigger_limit_on_a_certain_violation_allows_none() -> None:
    """Each short cut is one trigger and one violation: V/N is 1 or undefined."""
    cmdp = product(Limit("per_trigger", 0.5))
    assert solve_lp(cmdp).value == pytest.approx(D)


def test_infinite_and_zero_limits() -> None:
    cmdp = product(Limit("episode", 1.0))
    assert solve_lp(cmdp, {"avoid": np.inf}).value == pytest.approx(2 * D)
    assert solve_lp(cmdp, ()).value == pytest.approx(2 * D)
    safe = solve_lp(cmdp, {"avoid": 0.0})
    assert safe.value == pytest.approx(D)
    assert safe.constraint_values == pytest.approx([0.0], abs=1e-9)


def gamble() -> ProductCMDP:
    """Grasping and letting go earns credit; carrying pays, and slips half of the time."""
    model = tabulate(
        {
            "home": [[(1.0, "held", 0.0)], [(1.0, "home", 0.0)]],
            "held": [[(0.5, "slipped", 1.0), (0.5, "home", 1.0)], [(1.0, "home", 0.0)]],
            "slipped": [[(1.0, "home", 0.0)], [(1.0, "home", 0.0)]],
        },
        {"held": ["grasped"], "slipped": ["slip"]},
        start="home",
        termination=0.05,
    )
    rule = Specification("steady", "G !slip", trigger="grasped", recovery="F !slip")
    return product_cmdp(model, SpecSet([rule]).with_limits({"steady": Limit("per_trigger", 0.1)}))


def test_a_ratio_is_bought_with_harmless_triggers_unless_capped() -> None:
    """V/N <= 0.1 allows 0.2 carries per grasp, so grasping for nothing buys carries."""
    uncapped = gamble()
    solution = solve_lp(uncapped)
    evaluation = evaluate_policy(uncapped, solution.policy)
    assert evaluation.violated[0] / evaluation.triggered[0] == pytest.approx(0.1)
    assert solution.value == pytest.approx(0.2 * evaluation.triggered[0], rel=1e-6)
    values = []
    for cap in (1, 2, 5):
        limited = uncapped.specs.with_limits({"steady": Limit("per_trigger", 0.1, cap=cap)})
        capped = product_cmdp(uncapped.model, limited)
        assert set(capped.memory[:, 0]) == set(range(cap + 1))
        values.append(solve_lp(capped).value)
        # One trigger earns 0.1 violations, which is 0.2 carries.
        assert values[-1] <= 0.2 * cap + 1e-9
    assert values == sorted(values) and values[-1] < solution.value


def test_multipliers_are_derivatives_of_the_value() -> None:
    cmdp = product(Limit("episode", 1.0))
    step = 1e-3
    higher = solve_lp(cmdp, {"avoid": 1.0 + step}).value
    lower = solve_lp(cmdp, {"avoid": 1.0 - step}).value
    multiplier = solve_lp(cmdp).multipliers[0]
    assert (higher - lower) / (2 * step) == pytest.approx(multiplier, rel=1e-4)


def test_evaluation_of_the_occupancys_policy_is_the_programs_value() -> None:
    cmdp = product(Limit("probability", 0.25))
    solution = solve_lp(cmdp)
    evaluation = evaluate_policy(cmdp, policy_of_occupancy(solution.occupancy))
    assert evaluation.value == pytest.approx(solution.value)
    assert evaluation.constraint_values == pytest.approx(solution.constraint_values)
    assert evaluation.occupancy == pytest.approx(solution.occupancy, abs=1e-9)


def test_what_the_end_decides_is_counted() -> None:
    """Rule 4: ``F done`` is open all along, so each termination is one violation, exposed once."""
    model = tabulate(
        {"working": [[(1.0, "working", 0.0)]]},
        {"working": ["busy"]},
        start="working",
        termination=T,
    )
    rule = Specification("settles", "G(busy -> F !busy)", limit=Limit("episode", 2.0))
    cmdp = product_cmdp(model, [rule])
    evaluation = evaluate_policy(cmdp, np.ones((cmdp.num_states, 1)))
    assert evaluation.violated == pytest.approx([1.0])
    assert evaluation.exposed == pytest.approx([1.0])
    assert evaluation.constraint_values == pytest.approx([1.0])
    assert evaluation.triggered == pytest.approx([1.0])  # one rising edge, at reset


def test_what_the_first_letter_decides_is_counted() -> None:
    """A rule that the initial state breaks costs one violation before any action."""
    model = shortcut(T)
    rule = Specification("start", "risky", trigger="true", limit=Limit("episode", 1.0))
    cmdp = product_cmdp(model, [rule])
    assert cmdp.at_reset.violated == pytest.approx([1.0])
    assert solve_lp(cmdp).constraint_values == pytest.approx([1.0])
    with pytest.raises(ConfigurationError, match="no policy meets the limits start <= 0.5"):
        solve_lp(cmdp, {"start": 0.5})


def test_value_iteration_takes_another_reward() -> None:
    cmdp = product(Limit("episode", 1.0))
    costs = -cmdp.expected.constraint_costs[:, 0]
    assert cmdp.initial @ value_iteration(cmdp, costs).values == pytest.approx(0.0, abs=1e-9)
    assert solve_lp(cmdp, (), reward=costs).value == pytest.approx(0.0, abs=1e-9)
    assert cmdp.initial @ value_iteration(cmdp, -costs).values == pytest.approx(D, abs=1e-9)


def test_misuse_is_explained() -> None:
    cmdp = product(Limit("episode", 1.0))
    with pytest.raises(ConfigurationError, match="did you mean 'avoid'"):
        solve_lp(cmdp, ["avoyd"])
    with pytest.raises(ConfigurationError, match=r"policy must have shape \(\d+, 2\)"):
        evaluate_policy(cmdp, np.ones((2, 2)))
    with pytest.raises(ConfigurationError, match="no distribution"):
        evaluate_policy(cmdp, np.ones((cmdp.num_states, 2)))
    with pytest.raises(ConfigurationError, match="reward must have shape"):
        value_iteration(cmdp, np.zeros(3))
    with pytest.raises(ConfigurationError, match="raise max_sweeps"):
        value_iteration(cmdp, max_sweeps=2)
