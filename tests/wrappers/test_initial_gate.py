"""The initial gate, for one environment and for rows of many."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from safe_rl.errors import ConfigurationError
from safe_rl.specs import Specification
from safe_rl.wrappers import GroundingInfo, ProductMDP, VectorProductMDP
from tests.wrappers.scripted import ScriptedEnv, ScriptedVectorEnv, script

MODES = list(AutoresetMode)
EMPTY = Specification("empty", "G !a", trigger="true", initial=True)
OTHER = Specification("other", "G !b", trigger="true")


class Drawn(gym.Env[Any, Any]):
    """Draws at reset whether its first state is bad; nothing changes afterwards."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.draw = 0.0
        self.resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.resets += 1
        self.draw = float(self.np_random.random())
        return np.array([self.draw], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.array([self.draw], np.float32), 0.0, False, False, {}

    def propositions(self) -> dict[str, bool]:
        return {"a": self.draw < 0.5, "b": True}


def test_the_reset_is_drawn_again_until_it_holds() -> None:
    env = ProductMDP(Drawn(), [EMPTY, OTHER])
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        assert info["propositions"] == {"a": False, "b": True}
        assert observation[0] >= 0.5
        # `other` is not gated, so its violation stays.
        assert info["safety"]["events"].violated.tolist() == [False, True]
    assert env.unwrapped.resets > 30  # type: ignore[attr-defined]


def test_the_drawn_reset_is_a_function_of_the_seed() -> None:
    env = ProductMDP(Drawn(), [EMPTY])
    firsts = [env.reset(seed=seed)[0].tolist() for seed in range(10)]
    env.reset()  # whatever came before does not matter
    assert [env.reset(seed=seed)[0].tolist() for seed in range(10)] == firsts


class Placed(Drawn):
    """An environment that its seed places, and that stays there on resets without one."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.draw = float(np.random.default_rng(seed).random())
        return np.array([self.draw], np.float32), {}


def test_each_draw_has_a_seed_of_its_own() -> None:
    env = ProductMDP(Placed(), [EMPTY])
    envs = VectorProductMDP(SyncVectorEnv([Placed] * 8), [EMPTY])
    observations, _ = envs.reset(seed=0)
    singles = [env.reset(seed=seed)[0].tolist() for seed in range(8)]
    assert observations.tolist() == singles
    assert len({tuple(single) for single in singles}) == 8


def test_robocasa_216_success_already_at_reset_is_caught() -> None:
    """https://github.com/robocasa/robocasa/issues/216"""
    rule = Specification("not_done_yet", "!success", trigger="true", initial=True)
    scripts = [script("s -"), script("s -"), script("- -")]
    env = ProductMDP(
        ScriptedEnv(scripts, names=("s",)),
        [rule],
        lambda env: {"success": env.unwrapped.propositions()["s"]},
    )
    _, info = env.reset()
    assert env.unwrapped.episode == 2 and info["propositions"] == {"success": False}  # type: ignore[attr-defined]


def test_giving_up_names_the_specification_and_the_letter() -> None:
    env = ProductMDP(ScriptedEnv([script("a -")]), [OTHER, EMPTY], gate_attempts=4)
    message = r"4 resets in a row violated 'empty'.*first letter was \{a=True\}.*gate_attempts="
    with pytest.raises(ConfigurationError, match=message):
        env.reset()
    assert env.unwrapped.episode == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("native", [True, False])
def test_rows_are_drawn_again_one_by_one(mode: AutoresetMode, native: bool) -> None:
    good, bad = script("- - -"), script("a - -")
    rows = [[bad, good, good], [good, bad, bad, good], [good, good]]
    specs = [EMPTY, OTHER]
    if native:
        envs = VectorProductMDP(ScriptedVectorEnv(rows, mode), specs)
    else:
        sub_envs = [lambda own=own: GroundingInfo(ScriptedEnv(own)) for own in rows]
        envs = VectorProductMDP(SyncVectorEnv(sub_envs, autoreset_mode=mode), specs)
    observations, infos = envs.reset()
    assert observations[:, 0].tolist() == [1.0, 0.0, 0.0]
    assert infos["propositions"]["a"].tolist() == [False] * 3
    for _ in range(2):
        observations, _, terminations, _, infos = envs.step(np.zeros(3, int))
    assert terminations.all()
    if mode is AutoresetMode.NEXT_STEP:
        observations, *_, infos = envs.step(np.zeros(3, int))
    elif mode is AutoresetMode.DISABLED:
        observations, infos = envs.reset(options={"reset_mask": terminations})
    # Row 1 skips two bad resets, the others take the next one.
    assert observations[:, 0].tolist() == [2.0, 3.0, 1.0]
    assert infos["propositions"]["a"].tolist() == [False] * 3
    assert not envs.episodes.tally.V.any()


def test_seeds_of_rows_are_derived_like_those_of_one_environment() -> None:
    envs = VectorProductMDP(SyncVectorEnv([Drawn] * 4), [EMPTY])
    observations, _ = envs.reset(seed=7)
    for i in range(4):
        single, _ = ProductMDP(Drawn(), [EMPTY]).reset(seed=7 + i)
        assert observations[i].tolist() == single.tolist()


def test_an_environment_that_ignores_the_mask_is_found_out() -> None:
    class Deaf(ScriptedVectorEnv):
        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return super().reset()

    rows = [[script("a -"), script("- -")], [script("- -"), script("- -")]]
    envs = VectorProductMDP(Deaf(rows, AutoresetMode.NEXT_STEP), [EMPTY])
    with pytest.raises(ConfigurationError, match=r"ignores options\['reset_mask'\]"):
        envs.reset()


def test_the_time_limit_starts_anew_with_each_draw() -> None:
    env = ProductMDP(TimeLimit(ScriptedEnv([script("a -"), script("- - - -")]), 2), [EMPTY])
    env.reset()
    assert env.step(0)[3] is False and env.step(0)[3] is True
