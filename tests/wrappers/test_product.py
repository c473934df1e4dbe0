"""ProductMDP as an environment: three lines, checkers, errors, rebuilding, exact resume."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import (
    CheckpointError,
    ConfigurationError,
    GroundingError,
    ResetNeededError,
    SpecificationError,
)
from safe_rl.specs import Limit, Specification
from safe_rl.wrappers import ProductMDP
from tests.wrappers.scripted import ScriptedEnv, pool, script

UPRIGHT = Specification(
    "upright", "G !tilted", trigger="true", recovery="F !tilted", limit=Limit("probability", 0.1)
)


def tilted(env: gym.Env[Any, Any]) -> dict[str, Any]:
    state: Any = env.unwrapped.state  # type: ignore[attr-defined]
    return {"tilted": abs(state[2]) > 0.1}


def cartpole(**kwargs: Any) -> ProductMDP:
    return ProductMDP(gym.make("CartPole-v1"), [UPRIGHT], tilted, **kwargs)


def test_three_lines_put_monitors_on_cartpole() -> None:
    env = ProductMDP(
        gym.make("CartPole-v1"),
        [UPRIGHT],
        grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
    )
    _, info = env.reset(seed=0)
    assert info["propositions"] == {"tilted": False}
    terminated, total = False, 0.0
    while not terminated:
        _, reward, terminated, truncated, info = env.step(1)
        assert info["propositions"]["tilted"] is bool(abs(env.unwrapped.state[2]) > 0.1)
        assert reward == 1.0 and truncated is False
        total += info["cost"]
    assert total == 1.0 == info["safety"]["counts"]["V"][0]


@pytest.mark.filterwarnings("ignore")  # it warns that the environment is wrapped, as it is
@pytest.mark.parametrize("features", ["one_hot", "index", None])
def test_gymnasium_checker(features: Any) -> None:
    check_env(cartpole(features=features), skip_render_check=True)


@pytest.mark.filterwarnings("ignore")
def test_stable_baselines3_checker() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(cartpole(), warn=True, skip_render_check=True)
    checker.check_env(ProductMDP(ScriptedEnv([script("- a b c a b")]), pool()))


def test_infos_have_the_documented_shapes() -> None:
    specs = pool()
    env = ProductMDP(ScriptedEnv([script("- a b")]), specs)
    _, info = env.reset()
    instances, limits = len(specs.instances), len(specs.constraints)
    assert set(info) == {"propositions", "safety"}
    for ended in (False, True):
        *_, info = env.step(0)
        assert type(info["cost"]) is float
        assert info["costs"].shape == (len(specs),) and info["costs"].dtype == np.float64
        assert info["constraint_costs"].shape == (limits,)
        assert info["safety"]["events"].codes.shape == (instances,)
        assert info["safety"]["states"].shape == (instances,)
        assert info["safety"]["happened"].violated.shape == (instances,)
        assert ("counts" in info["safety"]) is ended
        assert info["success"] is ended  # the environment's own facts stay
    assert set(info["safety"]["counts"]) == {"N", "V", "U", "pending", "verdict"}


def test_constraints_follow_the_specifications() -> None:
    env = ProductMDP(ScriptedEnv([script("- a")]), pool())
    assert [c.id for c in env.constraints] == [s.id for s in pool().constraints]
    assert env.get_wrapper_attr("constraints") == env.constraints


def test_the_spec_rebuilds_the_stack() -> None:
    env = TimeLimit(cartpole(features="index"), 7)
    assert env.spec is not None
    again = gym.make(env.spec)
    product = again
    while not isinstance(product, ProductMDP):
        product = product.env  # type: ignore[attr-defined]
    assert list(product.specs) == [UPRIGHT]
    first, second = env.reset(seed=3)[0], again.reset(seed=3)[0]
    assert first.tolist() == second.tolist()


# What is wrong with a grounding is an error, and never reads as false.


def broken(_: Any) -> dict[str, Any]:
    raise ZeroDivisionError("no contact")


def test_a_grounding_that_raises_is_chained() -> None:
    env = ProductMDP(ScriptedEnv([script("- a")]), pool(), broken)
    with pytest.raises(GroundingError, match=r"broken raised ZeroDivisionError: no contact") as e:
        env.reset()
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_a_grounding_that_fails_later_stops_the_episode() -> None:
    def late(env: Any) -> dict[str, Any]:
        return {} if env.unwrapped.position else {"a": 0, "b": 0, "c": 0}

    env = ProductMDP(ScriptedEnv([script("- - -")]), pool(), late)
    env.reset()
    with pytest.raises(GroundingError, match="lacks propositions 'a'"):
        env.step(0)


def test_temprl_41_a_missing_proposition_is_an_error() -> None:
    """https://github.com/whitemech/temprl/issues/41"""
    env = ProductMDP(ScriptedEnv([script("- a")], names=("a", "b")), pool())
    with pytest.raises(GroundingError, match="'c'"):
        env.reset()


def test_values_that_are_not_boolean() -> None:
    env = ProductMDP(ScriptedEnv([script("-")]), pool(), lambda _: {"a": 0.3, "b": 0, "c": 0})
    with pytest.raises(GroundingError, match=r"'a' must be true or false, but is 0.3 \(float\)"):
        env.reset()


def test_a_grounding_must_return_a_mapping() -> None:
    env = ProductMDP(ScriptedEnv([script("-")]), pool(), lambda _: {"a"})  # type: ignore[arg-type]
    with pytest.raises(GroundingError, match="must return a mapping"):
        env.reset()


def test_no_source_of_letters() -> None:
    env = ProductMDP(gym.make("CartPole-v1"), [UPRIGHT])
    with pytest.raises(GroundingError, match="pass grounding="):
        env.reset()


def test_temprl_pr_26_the_label_of_the_initial_state_is_consumed_by_reset() -> None:
    """https://github.com/whitemech/temprl/pull/26"""
    env = ProductMDP(ScriptedEnv([script("b - -")]), pool().select(["next"]))
    _, info = env.reset()
    assert info["safety"]["events"].triggered.tolist() == [True]
    assert env.step(0)[-1]["costs"].tolist() == [1.0]  # G(b -> WX c), from the first letter on


def test_a_grounding_with_a_memory_is_told_of_resets() -> None:
    class Rising:
        """True where the step number grows past one; remembers the highest."""

        def __init__(self) -> None:
            self.highest = 0

        def reset(self) -> None:
            self.highest = 0

        def __call__(self, env: Any) -> dict[str, bool]:
            self.highest = max(self.highest, env.unwrapped.position)
            return {"a": self.highest > 1, "b": False, "c": False}

    env = ProductMDP(ScriptedEnv([script("- - -")]), pool(), Rising())
    for _ in range(2):
        letters = [env.reset()[1]["propositions"]["a"]]
        letters += [env.step(0)[-1]["propositions"]["a"] for _ in range(2)]
        assert letters == [False, False, True]


# Steps out of turn.


def test_step_before_reset_and_after_the_end() -> None:
    env = ProductMDP(ScriptedEnv([script("- a")]), pool())
    with pytest.raises(ResetNeededError, match=r"call reset\(\) first"):
        env.step(0)
    env.reset()
    assert env.step(0)[2]
    with pytest.raises(ResetNeededError, match="the last one has ended"):
        env.step(0)


def test_arguments_out_of_range() -> None:
    env = ScriptedEnv([script("- a")])
    with pytest.raises(ConfigurationError, match="gate_attempts"):
        ProductMDP(env, pool(), gate_attempts=0)
    with pytest.raises(ConfigurationError, match="no specifications"):
        ProductMDP(env, [])
    with pytest.raises(ConfigurationError, match="callable"):
        ProductMDP(env, pool(), {"a": True})  # type: ignore[arg-type]
    rule = Specification("held", "G !dropped(o)", trigger="true", forall={"o": "graspable"})
    with pytest.raises(SpecificationError, match="no objects are given"):
        ProductMDP(env, [rule])


# Exact resume.


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 11), st.sampled_from(["terminated", "truncated"]))
def test_resume_at_any_moment(moment: int, end: Any) -> None:
    scripts = [script("- a b - a", end), script("a c b a", end), script("b b - a a", end)]

    def play(env: ProductMDP, steps: int, over: bool) -> tuple[list[Any], bool]:
        seen = []
        for _ in range(steps):
            if over:
                observation, info = env.reset()
                seen.append((observation.tolist(), info["safety"]["events"].codes.tolist()))
                over = False
            observation, reward, terminated, truncated, info = env.step(0)
            over = terminated or truncated
            counts = info["safety"].get("counts", {})
            seen.append(
                (
                    observation.tolist(),
                    info["cost"],
                    info["constraint_costs"].tolist(),
                    info["safety"]["events"].codes.tolist(),
                    {key: value.tolist() for key, value in counts.items()},
                )
            )
        return seen, over

    env = ProductMDP(ScriptedEnv(scripts), pool())
    _, over = play(env, moment, True)
    saved = pickle.dumps(env.get_state())
    right, _ = play(env, 12, over)
    resumed = ProductMDP(ScriptedEnv(scripts), pool())
    resumed.set_state(pickle.loads(saved))
    found, _ = play(resumed, 12, over)
    assert found == right


def test_resume_keeps_the_time_limit_and_the_random_generator() -> None:
    def make() -> ProductMDP:
        return ProductMDP(TimeLimit(ScriptedEnv([script("- a b - a b")]), 3), pool())

    env = make()
    env.reset(seed=5)
    env.step(0)
    saved = env.get_state()
    drawn = env.unwrapped.np_random.random()
    resumed = make()
    resumed.reset(seed=99)
    resumed.set_state(saved)
    assert resumed.unwrapped.np_random.random() == drawn
    assert resumed.step(0)[3] is False
    assert resumed.step(0)[3] is True


def test_a_state_of_other_specifications_or_another_stack_is_refused() -> None:
    env = ProductMDP(ScriptedEnv([script("- a")]), pool())
    env.reset()
    saved = env.get_state()
    with pytest.raises(CheckpointError, match="other specifications"):
        ProductMDP(ScriptedEnv([script("- a")]), pool()[:2]).set_state(saved)
    with pytest.raises(CheckpointError, match="TimeLimit"):
        ProductMDP(TimeLimit(ScriptedEnv([script("- a")]), 3), pool()).set_state(saved)
