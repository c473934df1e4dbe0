"""The steps of an episode sum to what its monitors counted, whatever ends or resets it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.monitors import Monitor
from safe_rl.specs import Limit, Specification, SpecSet
from safe_rl.wrappers import GroundingInfo, ProductMDP, VectorProductMDP
from tests.wrappers.scripted import (
    NAMES,
    Expected,
    Script,
    ScriptedEnv,
    ScriptedVectorEnv,
    Summed,
    expected,
    play_single,
    play_vector,
    pool,
    script,
)

MODES = list(AutoresetMode)
SPECS = pool()

letters = st.frozensets(st.sampled_from(NAMES))
scripts = st.builds(
    Script,
    st.lists(letters, min_size=2, max_size=7).map(tuple),
    st.sampled_from(["terminated", "truncated", "both"]),
)


def assert_sums(found: Summed, episode: Script, right: Expected) -> None:
    assert found.length == len(episode.letters) - 1
    assert np.asarray(found.costs).tolist() == right.costs
    assert found.cost == pytest.approx(right.cost, abs=1e-12)
    assert np.asarray(found.constraint_costs).tolist() == pytest.approx(
        right.constraint_costs, abs=1e-9
    )
    assert found.counts == right.counts


@settings(max_examples=150, deadline=None)
@given(st.lists(scripts, min_size=1, max_size=3))
def test_single(episodes: list[Script]) -> None:
    env = ProductMDP(ScriptedEnv(episodes), SPECS)
    for found, episode in zip(play_single(env, len(episodes)), episodes, strict=True):
        assert_sums(found, episode, expected(SPECS, episode))
        reference = Monitor(SPECS)
        events = reference.run(episode.letters, truncated=episode.truncated)
        assert [c.tolist() for c in found.codes[:-1]] == [e.codes.tolist() for e in events[:-2]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["array", "mapping", "sub_env", "sub_env_writes"])
@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(scripts, min_size=1, max_size=3), min_size=1, max_size=3))
def test_vector(mode: AutoresetMode, source: str, rows: list[list[Script]]) -> None:
    envs: Any
    if source in ("array", "mapping"):
        envs = ScriptedVectorEnv(rows, mode, array=source == "array")
    else:
        writes = source == "sub_env_writes" or mode is AutoresetMode.SAME_STEP
        wrap = GroundingInfo if writes else lambda env: env
        envs = SyncVectorEnv(
            [lambda own=own: wrap(ScriptedEnv(own)) for own in rows], autoreset_mode=mode
        )
    envs = VectorProductMDP(envs, SPECS)
    for found, own in zip(play_vector(envs, 3), rows, strict=True):
        for i, episode in enumerate(found):
            played = own[i % len(own)]
            assert_sums(episode, played, expected(SPECS, played))


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(scripts, min_size=1, max_size=2), min_size=1, max_size=3))
def test_single_and_vector_give_identical_traces(
    mode: AutoresetMode, rows: list[list[Script]]
) -> None:
    envs = VectorProductMDP(ScriptedVectorEnv(rows, mode), SPECS)
    for found, own in zip(play_vector(envs, 2), rows, strict=True):
        singles = play_single(ProductMDP(ScriptedEnv(own), SPECS), len(found))
        for one, other in zip(singles, found, strict=True):
            assert [c.tolist() for c in one.codes] == [c.tolist() for c in other.codes]
            assert one.cost == pytest.approx(other.cost, abs=1e-12)


OBJECTS = {"graspable": ["mug", "bowl"], "lid": []}
PARAMETRIC = SpecSet(
    [
        Specification(
            "released",
            "G(grasped(o) -> F free(o))",
            forall={"o": "graspable"},
            recovery="F free(o)",
            limit=Limit("per_trigger", 0.25, cap=1),
        ),
        Specification(
            "apart",
            "G !touch(o,p)",
            trigger="grasped(o)",
            forall={"o": "graspable", "p": "graspable"},
            limit=Limit("probability", 0.1),
            weight=0.5,
        ),
        Specification("lids", "G !open(l)", trigger="true", forall={"l": "lid"}),
        Specification("calm", "G !shaking", trigger="true", limit=Limit("episode", 1.0)),
    ],
    OBJECTS,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            Script,
            st.lists(
                st.frozensets(st.sampled_from(PARAMETRIC.propositions)), min_size=2, max_size=6
            ).map(tuple),
            st.sampled_from(["terminated", "truncated", "both"]),
        ),
        min_size=1,
        max_size=2,
    )
)
def test_parametric_specifications_sum_over_their_instances(episodes: list[Script]) -> None:
    names = PARAMETRIC.propositions
    env = ProductMDP(ScriptedEnv(episodes, names, OBJECTS), list(PARAMETRIC))
    assert env.specs == PARAMETRIC  # the environment named its objects
    singles = play_single(env, len(episodes))
    vector = ScriptedVectorEnv([episodes], AutoresetMode.NEXT_STEP, names)
    (row,) = play_vector(VectorProductMDP(vector, PARAMETRIC), len(episodes))
    for one, other, episode in zip(singles, row, episodes, strict=False):
        assert_sums(one, episode, expected(PARAMETRIC, episode))
        assert_sums(other, episode, expected(PARAMETRIC, episode))


@settings(max_examples=50, deadline=None)
@given(scripts)
def test_exposure_as_cost(episode: Script) -> None:
    env = ProductMDP(ScriptedEnv([episode]), SPECS, cost="exposure")
    (found,) = play_single(env, 1)
    assert np.asarray(found.costs).tolist() == expected(SPECS, episode).exposure


@pytest.mark.slow
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_processes(mode: AutoresetMode) -> None:
    rows = [[script("- a b a", "truncated")], [script("a - c b"), script("b -", "truncated")]]
    envs = AsyncVectorEnv(
        [lambda own=own: GroundingInfo(ScriptedEnv(own)) for own in rows], autoreset_mode=mode
    )
    try:
        for found, own in zip(play_vector(VectorProductMDP(envs, SPECS), 3), rows, strict=True):
            for i, episode in enumerate(found):
                played = own[i % len(own)]
                assert_sums(episode, played, expected(SPECS, played))
    finally:
        envs.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_envs", [1, 3])
def test_cleanrl_499_and_gymnasium_pr_1624_sums_are_exact_at_autoreset(
    mode: AutoresetMode, num_envs: int
) -> None:
    """Each episode's sum has its own last step, and no step of the next one.

    https://github.com/vwxyzjn/cleanrl/issues/499
    https://github.com/Farama-Foundation/Gymnasium/pull/1624
    """
    # Violated in the last step only, and in the first letter of the next episode only.
    rows = [[script("- - - a"), script("a - -")]] * num_envs
    envs = VectorProductMDP(ScriptedVectorEnv(rows, mode), SPECS.select(["never"]))
    for found in play_vector(envs, 4):
        assert [episode.cost for episode in found[:4]] == [1.0, 1.0, 1.0, 1.0]
        assert [episode.length for episode in found[:4]] == [3, 2, 3, 2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_envs", [1, 4])
def test_omnisafe_161_and_127_the_last_cost_is_kept_at_autoreset(
    mode: AutoresetMode, num_envs: int
) -> None:
    """The cost of an episode's last step stands in the step that reports its end.

    https://github.com/PKU-Alignment/omnisafe/issues/161
    https://github.com/PKU-Alignment/omnisafe/issues/127
    """
    rows = [[script("- - a")]] * num_envs
    envs = VectorProductMDP(ScriptedVectorEnv(rows, mode), SPECS.select(["never"]))
    envs.reset()
    envs.step(np.zeros(num_envs, int))
    observations, _, terminations, _, infos = envs.step(np.zeros(num_envs, int))
    assert terminations.all()
    assert infos["cost"].tolist() == [1.0] * num_envs
    last = infos["final_obs"] if mode is AutoresetMode.SAME_STEP else observations
    for row in last:  # and so is its last observation
        assert row[:2].tolist() == [0.0, 2.0]


def test_what_the_end_decides_is_charged_with_the_last_step() -> None:
    specs = SPECS.select(["answered"])
    for end, charged in (("terminated", 1.0), ("both", 1.0), ("truncated", 0.0)):
        env = ProductMDP(ScriptedEnv([script("- a -", end)]), specs)  # type: ignore[arg-type]
        env.reset()
        assert env.step(0)[-1]["costs"].tolist() == [0.0]
        info = env.step(0)[-1]
        assert info["costs"].tolist() == [charged]
        # Credit for the event was given when it was triggered; a truncation takes it back.
        back = 1.0 if end != "truncated" else 0.25
        assert info["constraint_costs"].tolist() == pytest.approx([back])


def test_what_the_first_letter_decides_is_charged_with_the_first_step() -> None:
    env = ProductMDP(ScriptedEnv([script("a - -")]), SPECS.select(["never"]))
    _, info = env.reset()
    assert info["safety"]["events"].violated.tolist() == [True]
    assert env.step(0)[-1]["costs"].tolist() == [1.0]
    assert env.step(0)[-1]["costs"].tolist() == [0.0]
