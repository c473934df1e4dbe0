"""SafetyReward: its terms by hand, and the vector twin against the single one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError, GroundingError, ResetNeededError
from safe_rl.specs import Specification, SpecSet
from safe_rl.wrappers import (
    GroundingInfo,
    ProductMDP,
    SafetyReward,
    TaskFormula,
    VectorProductMDP,
    VectorSafetyReward,
)
from tests.wrappers.scripted import NAMES, Script, ScriptedEnv, ScriptedVectorEnv, pool, script

MODES = list(AutoresetMode)


def rewards(env: Any, count: int) -> list[float]:
    env.reset()
    return [env.step(0)[1] for _ in range(count)]


def wrapped(text: str, specs: Any, end: Any = "terminated", **kwargs: Any) -> SafetyReward:
    return SafetyReward(ProductMDP(ScriptedEnv([script(text, end)]), specs), **kwargs)


HEALS = [Specification("heals", "G(a -> F b)", recovery="F c")]
NEVER = Specification("never", "G !a", trigger="b", recovery="F c")


def test_a_weight_per_event() -> None:
    #         letters:  -   a     ab    c     b  : violated, exposed twice, recovered at c
    specs = [NEVER]
    assert rewards(wrapped("- a ab c b", specs, violation=-5.0), 4) == [-4.0, 1.0, 1.0, 1.0]
    assert rewards(wrapped("- a ab c b", specs, exposure=-2.0), 4) == [-1.0, -1.0, 1.0, 1.0]
    assert rewards(wrapped("- a ab c b", specs, recovery=0.5), 4) == [1.0, 1.0, 1.5, 1.0]
    # b triggers while in violation (not counted) and at the end, where G !a accepts at once.
    assert rewards(wrapped("- a ab c b", specs, fulfilled=3.0), 4) == [1.0, 1.0, 1.0, 4.0]


def test_events_of_the_end_and_of_the_first_letter() -> None:
    assert rewards(wrapped("a - -", [NEVER], violation=-1.0), 2) == [0.0, 1.0]
    late = "- - a"
    assert rewards(wrapped(late, HEALS, violation=-1.0), 2) == [1.0, 0.0]
    assert rewards(wrapped(late, HEALS, "truncated", violation=-1.0), 2) == [1.0, 1.0]
    assert rewards(wrapped("- a - b", HEALS, fulfilled=2.0), 3) == [1.0, 1.0, 3.0]


def test_weights_by_specification() -> None:
    specs = [NEVER, Specification("twin", "G !a", trigger="b")]
    assert rewards(wrapped("- a -", specs, violation={"twin": -3.0}), 2) == [-2.0, 1.0]
    with pytest.raises(ConfigurationError, match="no specification has the id 'twins'"):
        wrapped("- a", specs, violation={"twins": -3.0})


def test_the_own_reward_is_kept() -> None:
    env = wrapped("- a -", [NEVER], violation=-5.0)
    env.reset()
    assert env.step(0)[-1]["task_reward"] == 1.0


# Potential-based shaping.


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from(NAMES)), min_size=2, max_size=7).map(tuple),
    st.sampled_from(["accepting", "doomed"]),
    st.sampled_from([1.0, 0.9]),
    st.booleans(),
)
def test_shaping_telescopes(letters: Any, target: Any, gamma: float, truncated: bool) -> None:
    """The discounted sum of the shaping is -phi(s0), plus what a truncation leaves to bootstrap."""
    end: Any = "truncated" if truncated else "terminated"
    env = SafetyReward(
        ProductMDP(ScriptedEnv([Script(letters, end)]), pool()),
        shaping=2.0,
        potential=target,
        gamma=gamma,
    )
    _, info = env.reset()
    assert env._potential is not None
    first = float(env._potential.of(info["safety"]["states"]))
    total, discount = 0.0, 1.0
    for _ in letters[1:]:
        _, reward, _, _, info = env.step(0)
        total += discount * (reward - info["task_reward"])
        discount *= gamma
    last = float(env._potential.of(info["safety"]["states"])) if truncated else 0.0
    assert total == pytest.approx(discount * last - first)


def test_potential_values() -> None:
    specs = SpecSet([Specification("two", "G(a -> X X b)")])
    env = wrapped("- a - b -", specs, shaping=1.0, gamma=1.0)
    phi = []
    _, info = env.reset()
    for step in range(5):
        phi.append(float(env._potential.of(info["safety"]["states"])))  # type: ignore[union-attr]
        if step < 4:
            info = env.step(0)[-1]
    # Accepting; two steps away; one step away; accepting again.
    assert phi == pytest.approx([0.0, -2 / 3, -1 / 3, 0.0, 0.0])


def test_gamma_must_be_given_for_a_potential() -> None:
    with pytest.raises(ConfigurationError, match="give gamma="):
        wrapped("- a", [NEVER], shaping=1.0)
    with pytest.raises(ConfigurationError, match="give gamma="):
        wrapped("- a", [NEVER], task=TaskFormula("F a", progress=1.0))
    with pytest.raises(ConfigurationError, match=r"gamma must lie in \(0, 1\]"):
        wrapped("- a", [NEVER], shaping=1.0, gamma=1.5)
    with pytest.raises(ConfigurationError, match="did you mean 'accepting'"):
        wrapped("- a", [NEVER], shaping=1.0, gamma=1.0, potential="accept")


# Ending the episode at a violation.


def test_termination_at_a_violation() -> None:
    specs = [NEVER, *HEALS]
    env = wrapped("- a - b", specs, violation=-5.0, terminate=["never"])
    env.reset()
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (-4.0, True, False)
    counts = info["safety"]["counts"]
    assert counts["V"].tolist() == [1, 0]
    # The other rule's event was cut off: pending, neither kept nor violated.
    assert counts["N"].tolist() == [0, 0] and counts["pending"].tolist() == [0, 1]
    with pytest.raises(ResetNeededError):
        env.step(0)
    assert env.reset()


def test_termination_pays_the_potential_of_a_terminal_state() -> None:
    env = wrapped("- a - b", [NEVER], terminate=True, shaping=1.0, gamma=1.0, potential="doomed")
    _, info = env.reset()
    assert env._potential is not None
    phi = float(env._potential.of(info["safety"]["states"]))
    _, reward, terminated, _, _ = env.step(0)
    assert terminated and reward == pytest.approx(1.0 - phi)


def test_other_violations_do_not_terminate() -> None:
    env = wrapped("- a - b", [NEVER, *HEALS], terminate="heals")
    env.reset()
    assert env.step(0)[2] is False


def test_there_must_be_a_product() -> None:
    with pytest.raises(ConfigurationError, match="no ProductMDP among its wrappers"):
        SafetyReward(ScriptedEnv([script("- a")]))
    inside = TimeLimit(ProductMDP(ScriptedEnv([script("- a")]), [NEVER]), 5)
    assert SafetyReward(inside).product is inside.env


# A task formula as the reward.


def test_acceptance_is_paid_once_when_nothing_can_undo_it() -> None:
    task = TaskFormula("F(a & X F b)", acceptance=10.0)
    assert rewards(wrapped("- a - b b -", [NEVER], task=task), 5) == [0.0, 0.0, 10.0, 0.0, 0.0]
    kept = TaskFormula("F(a & X F b)", acceptance=10.0, keep_reward=True)
    assert rewards(wrapped("- a - b -", [NEVER], task=kept), 4) == [1.0, 1.0, 11.0, 1.0]


def test_acceptance_at_a_termination_but_not_at_a_truncation() -> None:
    always = TaskFormula("G !c", acceptance=4.0)
    assert rewards(wrapped("- a b", [NEVER], task=always), 2) == [0.0, 4.0]
    assert rewards(wrapped("- a b", [NEVER], "truncated", task=always), 2) == [0.0, 0.0]
    assert rewards(wrapped("- c b", [NEVER], task=always), 2) == [0.0, 0.0]


def test_a_task_that_the_first_letter_fulfils() -> None:
    assert rewards(wrapped("a - -", [NEVER], task="F a"), 2) == [1.0, 0.0]


def test_progress_pays_for_coming_nearer() -> None:
    task = TaskFormula("F(a & X F b)", acceptance=0.0, progress=3.0)
    # Distances 2, 2, 1, 1, 0: the potential rises by 1/3 of the scale with each step nearer.
    found = rewards(wrapped("- - a - b -", [NEVER], "truncated", task=task, gamma=1.0), 5)
    assert found == pytest.approx([0.0, 1.0, 0.0, 1.0, 0.0])


def test_the_task_ends_the_episode_either_way() -> None:
    task = TaskFormula("!c U a", ends_episode=True)
    for text, paid in (("- a -", 1.0), ("- c -", 0.0)):
        env = wrapped(text, [NEVER], task=task)
        env.reset()
        _, reward, terminated, _, info = env.step(0)
        assert terminated and reward == paid and "counts" in info["safety"]


def test_the_observation_shows_the_task() -> None:
    env = wrapped("- a - b", [NEVER], task="F(a & X F b)")
    observation, _ = env.reset()
    assert observation in env.observation_space
    before = env.step(0)[0]
    assert before in env.observation_space
    assert before[-3:].tolist() != observation[-3:].tolist()
    assert sum(observation[-3:]) == 1.0


def test_task_errors() -> None:
    with pytest.raises(GroundingError, match="needs the propositions 'z'"):
        wrapped("- a", [NEVER], task="F z").reset()
    with pytest.raises(ConfigurationError, match="no trace satisfies"):
        wrapped("- a", [NEVER], task="a & !a")


# The vector twin.

KWARGS: dict[str, Any] = dict(
    violation=-5.0,
    exposure=-0.5,
    recovery=0.25,
    fulfilled={"answered": 2.0},
    shaping=1.5,
    gamma=0.9,
    task=TaskFormula("F(a & X F b)", acceptance=7.0, progress=2.0, keep_reward=True),
)
letters = st.frozensets(st.sampled_from(NAMES))
scripts = st.builds(
    Script,
    st.lists(letters, min_size=2, max_size=6).map(tuple),
    st.sampled_from(["terminated", "truncated"]),
)


def single_episode(env: SafetyReward) -> list[Any]:
    observation, _ = env.reset()
    trace = [observation.tolist()]
    over = False
    while not over:
        observation, reward, terminated, truncated, info = env.step(0)
        over = terminated or truncated
        counts = info["safety"].get("counts", {})
        trace.append(
            (
                observation.tolist(),
                reward,
                terminated,
                info["task_reward"],
                info["cost"],
                info["constraint_costs"].tolist(),
                {key: value.tolist() for key, value in counts.items()},
            )
        )
    return trace


def vector_episodes(envs: VectorSafetyReward, episodes: int) -> list[list[list[Any]]]:
    """The same traces, row by row, in whatever mode."""
    n, mode = envs.num_envs, envs.product.autoreset_mode
    observations, _ = envs.reset()
    found: list[list[list[Any]]] = [[] for _ in range(n)]
    traces = [[observations[i].tolist()] for i in range(n)]
    over = np.zeros(n, bool)
    for _ in range(200):
        if min(len(own) for own in found) >= episodes:
            return found
        observations, paid, terminations, truncations, infos = envs.step(np.zeros(n, int))
        ended = terminations | truncations
        for i in range(n):
            if mode is AutoresetMode.NEXT_STEP and over[i]:
                assert paid[i] == 0.0 and infos["cost"][i] == 0.0 and not ended[i]
                assert not infos["_cost"][i] and not infos["safety"].get("_counts", over * 0)[i]
                traces[i] = [observations[i].tolist()]
                continue
            same_step = mode is AutoresetMode.SAME_STEP and ended[i]
            observation = infos["final_obs"][i] if same_step else observations[i]
            counts = infos["safety"]["counts"] if ended[i] else {}
            traces[i].append(
                (
                    observation.tolist(),
                    paid[i],
                    bool(terminations[i]),
                    infos["task_reward"][i],
                    infos["cost"][i],
                    infos["constraint_costs"][i].tolist(),
                    {key: value[i].tolist() for key, value in counts.items()},
                )
            )
            if ended[i]:
                found[i].append(traces[i])
                traces[i] = [observations[i].tolist()]
        over = ended
        if mode is AutoresetMode.DISABLED and ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                traces[i] = [observations[i].tolist()]
    raise AssertionError("episodes do not end")


def assert_same(found: list[Any], right: list[Any]) -> None:
    assert len(found) == len(right)
    assert found[0] == pytest.approx(right[0])
    for step, other in zip(found[1:], right[1:], strict=True):
        for value, wanted in zip(step, other, strict=True):
            assert value == (wanted if isinstance(wanted, dict) else pytest.approx(wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cuts", [False, True])
@pytest.mark.parametrize("native", [False, True])
@settings(max_examples=12, deadline=None)
@given(st.lists(scripts, min_size=1, max_size=3))
def test_vector_equals_single(
    mode: AutoresetMode, cuts: bool, native: bool, rows: list[Script]
) -> None:
    kwargs = {**KWARGS, "terminate": ["once", "heals"]} if cuts else KWARGS
    # One script for each row: a row that was cut is stepped along, which may use up scripts.
    inner: Any
    if native:
        inner = ScriptedVectorEnv([[own] for own in rows], mode)
    else:
        inner = SyncVectorEnv(
            [lambda own=own: GroundingInfo(Timeless(own)) for own in rows], autoreset_mode=mode
        )
    envs = VectorSafetyReward(VectorProductMDP(inner, pool()), **kwargs)
    for found, own in zip(vector_episodes(envs, 3), rows, strict=True):
        env = SafetyReward(ProductMDP(ScriptedEnv([own]), pool()), **kwargs)
        for trace in found:
            right = single_episode(env)
            for entry in (trace[0], *(step[0] for step in trace[1:])):
                entry[0] = 0.0  # the number of the episode, which a row stepped along may skip
            for entry in (right[0], *(step[0] for step in right[1:])):
                entry[0] = 0.0
            assert_same(trace, right)


class Timeless(ScriptedEnv):
    """A scripted environment of one script."""

    def __init__(self, own: Script) -> None:
        super().__init__([own])


@pytest.mark.parametrize("mode", MODES)
def test_vector_pays_what_each_first_letter_fulfils(mode: AutoresetMode) -> None:
    inner = ScriptedVectorEnv([[script("a - -"), script("- a -")]], mode)
    envs = VectorSafetyReward(VectorProductMDP(inner, [NEVER]), task="F a")
    for trace, paid in zip(vector_episodes(envs, 4)[0], [[1, 0], [1, 0]] * 2, strict=False):
        assert [step[1] for step in trace[1:]] == paid


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("moment", range(6))
def test_vector_resume(mode: AutoresetMode, moment: int) -> None:
    rows = [script("- a b - a", "truncated"), script("b a c")]

    def make() -> VectorSafetyReward:
        inner = SyncVectorEnv(
            [lambda own=own: GroundingInfo(Timeless(own)) for own in rows], autoreset_mode=mode
        )
        return VectorSafetyReward(VectorProductMDP(inner, pool()), **KWARGS, terminate=["once"])

    def play(envs: VectorSafetyReward, steps: int) -> list[Any]:
        seen = []
        for _ in range(steps):
            observations, paid, terminations, truncations, _ = envs.step(np.zeros(2, int))
            seen.append((observations.tolist(), paid.tolist(), terminations.tolist()))
            ended = terminations | truncations
            if mode is AutoresetMode.DISABLED and ended.any():
                envs.reset(options={"reset_mask": ended})
        return seen

    envs = make()
    envs.reset()
    play(envs, moment)
    saved = pickle.dumps(envs.get_state())
    right = play(envs, 7)
    resumed = make()
    resumed.reset()
    resumed.set_state(pickle.loads(saved))
    assert play(resumed, 7) == right


def test_single_resume() -> None:
    text = "- a - b c a"
    env = wrapped(text, pool(), **KWARGS)
    env.reset()
    env.step(0)
    env.step(0)
    saved = pickle.dumps(env.get_state())
    right = [env.step(0)[1] for _ in range(3)]
    resumed = wrapped(text, pool(), **KWARGS)
    resumed.set_state(pickle.loads(saved))
    assert [resumed.step(0)[1] for _ in range(3)] == right


def test_vector_needs_a_product() -> None:
    with pytest.raises(ConfigurationError, match="no VectorProductMDP"):
        VectorSafetyReward(ScriptedVectorEnv([[script("- a")]], AutoresetMode.NEXT_STEP))
