"""The tabular product and the wrappers are one thing: the same states, costs, expectations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import safe_rl.envs  # noqa: F401  (registers KitchenGrid)
from safe_rl.algos.exact import (
    ProductCMDP,
    evaluate_policy,
    product_cmdp,
    solve_lp,
    value_iteration,
)
from safe_rl.envs.kitchen_grid import KitchenParameters, build_tables
from safe_rl.envs.tabular import TabularEnv, TransitionModel
from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.specs import Limit, Specification, SpecSet, load_specs
from safe_rl.wrappers import ProductMDP, VectorProductMDP
from tests.algos.exact.models import shortcut, tabulate

ID = "safe_rl/KitchenGrid-v0"
MODEL = build_tables(KitchenParameters()).model
KITCHEN = load_specs("kitchen")
CAPPED = KITCHEN.with_limits(
    {
        "glass_held_firmly": Limit("per_trigger", 0.1, cap=3),
        "wash_between_raw_and_ready": Limit("per_trigger", 0.2),
        "plate_before_serving": Limit("probability", 0.4),
        "reach_in_through_open_door": Limit("probability", 0.3),
    }
)


@pytest.fixture(scope="module")
def kitchen() -> ProductCMDP:
    return product_cmdp(MODEL, KITCHEN)


def unsettled() -> tuple[TransitionModel, SpecSet]:
    """A model in which the first letter and the end of the episode decide things too."""
    model = tabulate(
        {
            "start": [[(0.5, "idle", 0.0), (0.5, "busy", 1.0)], [(1.0, "busy", 0.0)]],
            "idle": [[(0.7, "busy", 1.0), (0.3, "idle", 0.0)], [(1.0, "start", 0.0)]],
            "busy": [[(0.6, "idle", 2.0), (0.4, "busy", 0.0)], [(1.0, "busy", 0.5)]],
        },
        {"start": ["first"], "busy": ["busy"]},
        start="start",
        termination=0.1,
    )
    specs = SpecSet(
        [
            Specification("settles", "G(busy -> F !busy)", limit=Limit("episode", 0.3)),
            Specification("prepared", "!first", trigger="true", recovery="F busy",
                          limit=Limit("episode", 2.0)),
            Specification("answered", "G(busy -> X !busy)", recovery="F !busy",
                          limit=Limit("per_trigger", 0.4, cap=2)),
            Specification("ends_idle", "F(last & !busy)", trigger="true",
                          limit=Limit("probability", 0.5)),
        ]
    )  # fmt: skip
    return model, specs


def follow(cmdp: ProductCMDP, env: ProductMDP, episodes: int, seed: int) -> int:
    """Step ``env`` at random and find each of its steps in ``cmdp``; return the steps taken.

    ``env`` shows its state's index and ``features="index"``.
    """
    rng = np.random.default_rng(seed)
    found = {
        (int(row), int(column)): k
        for k, (row, column) in enumerate(zip(cmdp.outcomes.row, cmdp.outcomes.column, strict=True))
    }

    def present(observation: dict[str, Any]) -> int:
        states = np.array([observation["observation"]])
        monitor = observation["monitor"][None]
        instances = cmdp.automata.shape[1]
        automata, memory = monitor[:, :instances].astype(int), monitor[:, instances:]
        return int(cmdp.indices(states, automata, memory)[0])

    steps = 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        state = present(observation)
        assert cmdp.initial[state] > 0
        # ProductMDP charges what the first letter decided with the first step.
        owed, ended = cmdp.at_reset, False
        while not ended:
            action = int(rng.integers(cmdp.num_actions))
            row = cmdp.row(state, action)
            observation, reward, ended, _, info = env.step(action)
            steps += 1
            after = observation["observation"]
            if ended:
                # The end decides too: find the step by the environment and monitor states.
                automata = info["safety"]["states"]
                ks = [
                    k
                    for k in np.flatnonzero(cmdp.outcomes.row == row)
                    if cmdp.env_states[column := cmdp.outcomes.column[k]] == after
                    and (cmdp.automata[column] == automata).all()
                ]
                assert len(ks) == 1
                k = ks[0]
            else:
                state = present(observation)
                assert (row, state) in found, "the wrapper took a step that the product lacks"
                k = found[row, state]
            outcomes = cmdp.outcomes
            assert reward == outcomes.reward[k]
            happened = info["safety"]["happened"]
            got = (info["constraint_costs"], happened.triggered, happened.violated,
                   happened.exposed)  # fmt: skip
            for field, value in enumerate(got):
                expected = outcomes.step[field][k] + np.asarray(owed[field])
                if ended:
                    expected = expected + outcomes.end[field][k]
                assert np.abs(value - expected).max() < 1e-12
            owed = type(cmdp.at_reset)(*(0.0 * part for part in cmdp.at_reset))
    return steps


@pytest.mark.parametrize("specs", [KITCHEN, CAPPED], ids=["default limits", "other limits"])
def test_masa_tabular_product_and_wrapper_give_one_trace(specs: SpecSet) -> None:
    """MASA: its tabular product reads the source's label, its wrapper the successor's."""
    cmdp = product_cmdp(MODEL, specs)
    env = ProductMDP(gym.make(ID), specs, features="index")
    assert follow(cmdp, env, episodes=60, seed=7) > 1_000


def test_trace_with_costs_at_the_first_letter_and_at_the_end() -> None:
    model, specs = unsettled()
    cmdp = product_cmdp(model, specs)
    assert cmdp.at_reset.violated == pytest.approx([0.0, 1.0, 0.0, 0.0])
    assert (
        follow(cmdp, ProductMDP(TabularEnv(model), specs, features="index"), episodes=200, seed=1)
        > 1_000
    )


@pytest.mark.parametrize("specs", [KITCHEN, CAPPED], ids=["default limits", "other limits"])
def test_features_are_those_of_the_wrapper(specs: SpecSet) -> None:
    cmdp = product_cmdp(MODEL, specs)
    env = ProductMDP(gym.make(ID, observation="features"), specs)
    full = cmdp.observations(env.unwrapped.observation_table)
    assert env.observation_space.shape == full.shape[1:]
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    for _ in range(500):
        states = np.array([env.unwrapped.state_index])
        memory = observation[None, len(observation) - cmdp.memory.shape[1] :]
        index = cmdp.indices(states, info["safety"]["states"][None], memory)[0]
        np.testing.assert_array_equal(observation, full[index])
        observation, _, ended, _, info = env.step(int(rng.integers(6)))
        if ended:
            observation, info = env.reset()


def test_expectations_are_averages_over_the_outcomes(kitchen: ProductCMDP) -> None:
    outcomes = kitchen.outcomes
    rows = kitchen.num_states * kitchen.num_actions
    assert np.bincount(outcomes.row, outcomes.probability, rows) == pytest.approx(1.0)
    np.testing.assert_allclose(kitchen.transition.sum(axis=1), 1.0 - MODEL.termination)
    mean = np.bincount(outcomes.row, outcomes.probability * outcomes.reward, rows)
    np.testing.assert_allclose(mean, kitchen.reward)
    violated = outcomes.step.violated + MODEL.termination * outcomes.end.violated
    for instance in range(violated.shape[1]):
        weighted = np.bincount(outcomes.row, outcomes.probability * violated[:, instance], rows)
        np.testing.assert_allclose(weighted, kitchen.expected.violated[:, instance])
    assert kitchen.initial.sum() == pytest.approx(1.0)


def run_policy(
    cmdp: ProductCMDP, specs: SpecSet, policy: np.ndarray, episodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns, constraint sums, N and V of episodes in the real vector environment."""
    n = 512
    envs = VectorProductMDP(
        gym.make_vec(
            ID,
            num_envs=n,
            vectorization_mode="vector_entry_point",
            autoreset_mode=AutoresetMode.NEXT_STEP,
        ),
        specs,
        features="index",
    )
    rng = np.random.default_rng(5)
    cumulative = policy.cumsum(axis=1)
    observation, _ = envs.reset(seed=3)
    sums = np.zeros((n, 1 + len(cmdp.constraints)))
    over = np.zeros(n, bool)
    quota, done = np.full(n, episodes // n), np.zeros(n, int)
    results: list[Any] = []
    instances = len(specs.instances)
    while (done < quota).any():
        monitor = observation["monitor"]
        # The observation of an episode that has ended is acted on by nobody.
        index = np.zeros(n, np.int64)
        index[~over] = cmdp.indices(
            observation["observation"][~over],
            monitor[~over, :instances].astype(int),
            monitor[~over, instances:],
        )
        actions = (rng.random(n)[:, None] >= cumulative[index, :-1]).sum(axis=1)
        fresh = over
        observation, reward, over, _, info = envs.step(actions)
        sums[~fresh] += np.column_stack([reward, info["constraint_costs"]])[~fresh]
        for i in np.flatnonzero(over):
            # A fixed number of episodes from each environment: short ones are not favoured.
            if done[i] < quota[i]:
                counts = info["safety"]["counts"]
                results.append((sums[i].copy(), counts["N"][i].copy(), counts["V"][i].copy()))
                done[i] += 1
            sums[i] = 0.0
    totals = np.array([r[0] for r in results])
    return (
        totals[:, 0],
        totals[:, 1:],
        np.array([r[1] for r in results]),
        np.array([r[2] for r in results]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("specs", [KITCHEN, CAPPED], ids=["default limits", "other limits"])
def test_simulated_optimum_agrees_with_the_program(specs: SpecSet) -> None:
    """The program's policy, run in the real VectorProductMDP, earns and costs what it says."""
    cmdp = product_cmdp(MODEL, specs)
    solution = solve_lp(cmdp)
    evaluation = evaluate_policy(cmdp, solution.policy)
    returns, sums, triggered, violated = run_policy(cmdp, specs, solution.policy, 512 * 8)
    pairs = [
        (returns, solution.value),
        *zip(sums.T, solution.constraint_values, strict=True),
        *zip(triggered.T, evaluation.triggered, strict=True),
        *zip(violated.T, evaluation.violated, strict=True),
    ]
    for sample, exact in pairs:
        error = sample.std() / np.sqrt(len(sample))
        assert abs(sample.mean() - exact) < 4.5 * error


def test_kitchen_limits_bind_and_safety_costs_return(kitchen: ProductCMDP) -> None:
    """What makes KitchenGrid a test of learning: each limit binds, at a moderate price."""
    free, bound = solve_lp(kitchen, ()), solve_lp(kitchen)
    assert cmdp_value(kitchen) == pytest.approx(free.value, abs=1e-8)
    assert 0.6 < bound.value / free.value < 0.9
    assert (bound.multipliers > 0.05).all()
    np.testing.assert_allclose(bound.constraint_values, kitchen.thresholds, atol=1e-8)
    assert (free.constraint_values > kitchen.thresholds + 0.1).all()
    none = KITCHEN.with_limits({spec_id: Limit("episode", 0.0) for spec_id in KITCHEN.ids})
    spotless = product_cmdp(MODEL, none)
    safe = solve_lp(spotless)
    assert safe.value < bound.value - 0.1
    # The safe optimum by another way: value iteration over the actions that cannot violate.
    forbidden = spotless.expected.violated.sum(axis=1) > 0
    values = value_iteration(spotless, np.where(forbidden, -1e4, spotless.reward)).values
    assert spotless.initial @ values == pytest.approx(safe.value, abs=1e-7)


def cmdp_value(cmdp: ProductCMDP) -> float:
    return float(cmdp.initial @ value_iteration(cmdp).values)


@pytest.mark.parametrize("spec_id", KITCHEN.ids)
@pytest.mark.parametrize(
    "limit",
    [Limit("episode", 0.2), Limit("probability", 0.2), Limit("per_trigger", 0.1)],
    ids=lambda limit: limit.kind,
)
def test_each_kind_of_limit_is_met_exactly_on_each_rule(spec_id: str, limit: Limit) -> None:
    cmdp = product_cmdp(MODEL, KITCHEN.select([spec_id]).with_limits({spec_id: limit}))
    solution = solve_lp(cmdp)
    evaluation = evaluate_policy(cmdp, solution.policy)
    assert evaluation.value == pytest.approx(solution.value)
    assert solution.multipliers[0] > 0
    if limit.kind == "per_trigger":
        assert evaluation.violated[0] / evaluation.triggered[0] == pytest.approx(limit.value)
    else:
        assert evaluation.constraint_values[0] == pytest.approx(limit.value)
    if limit.kind == "episode":
        assert evaluation.violated[0] == pytest.approx(limit.value)


def test_a_rule_without_objects_needs_no_memory() -> None:
    rule = Specification(
        "dry", "G !wet(o)", trigger="wet(o)", forall={"o": "towel"}, limit=Limit("probability", 0.1)
    )
    cmdp = product_cmdp(shortcut(), SpecSet([rule], {"towel": []}))
    assert cmdp.num_states == 3
    assert solve_lp(cmdp).constraint_values == pytest.approx([0.0])


def test_several_instances_share_one_limit() -> None:
    model = tabulate(
        {
            "home": [[(1.0, "left", 1.0)], [(1.0, "right", 1.0)], [(1.0, "home", 0.5)]],
            "left": [[(1.0, "home", 0.0)]] * 3,
            "right": [[(1.0, "home", 0.0)]] * 3,
        },
        {"left": ["wet(a)"], "right": ["wet(b)"]},
        start="home",
        termination=0.1,
    )
    rule = Specification(
        "dry", "G !wet(o)", trigger="wet(o)", recovery="F !wet(o)", forall={"o": "towel"}
    )
    for limit in (Limit("probability", 0.5), Limit("per_trigger", 0.5, cap=2)):
        specs = SpecSet([rule], {"towel": ["a", "b"]}).with_limits({"dry": limit})
        cmdp = product_cmdp(model, specs)
        assert cmdp.automata.shape[1] == 2 and cmdp.memory.shape[1] == 1
        follow(cmdp, ProductMDP(TabularEnv(model), specs, features="index"), episodes=100, seed=0)


def test_misuse_is_explained(kitchen: ProductCMDP) -> None:
    with pytest.raises(GroundingError, match="lack 'dangerous'"):
        product_cmdp(shortcut(), [Specification("r", "G !dangerous", trigger="dangerous")])
    with pytest.raises(ConfigurationError, match="more than 100 states"):
        product_cmdp(MODEL, KITCHEN, max_states=100)
    unreachable = kitchen.automata[:1] * 0 + 2
    with pytest.raises(ConfigurationError, match="not reachable"):
        kitchen.indices(kitchen.env_states[:1], unreachable, kitchen.memory_features[:1])
