"""VectorProductMDP as a vector environment: letters, modes, errors, exact resume."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import safe_rl.envs  # noqa: F401 - registers the kitchen
from safe_rl.errors import CheckpointError, ConfigurationError, GroundingError, ResetNeededError
from safe_rl.specs import Specification
from safe_rl.wrappers import GroundingInfo, ProductMDP, Savable, VectorProductMDP
from tests.wrappers.scripted import ScriptedEnv, ScriptedVectorEnv, pool, script
from tests.wrappers.test_product import UPRIGHT, tilted

MODES = list(AutoresetMode)
ROWS = [[script("- a b a"), script("a c")], [script("- b", "truncated"), script("b - - a")]]


def zeros(n: int) -> Any:
    return np.zeros(n, int)


def test_native_cartpole_equals_single_ones() -> None:
    """Where one seed fixes one row, native and single products see the same."""
    envs = VectorProductMDP(
        gym.make_vec("CartPole-v1", num_envs=1, vectorization_mode="vector_entry_point"),
        [UPRIGHT],
        grounding=lambda envs: {"tilted": abs(envs.unwrapped.state[2]) > 0.1},
    )
    single = ProductMDP(gym.make("CartPole-v1"), [UPRIGHT], tilted)
    observations, _ = envs.reset(seed=4)
    right, _ = single.reset(seed=4)
    for _ in range(8):
        assert observations[0] == pytest.approx(right, abs=1e-5)
        observations, _, _, _, infos = envs.step(np.ones(1, int))
        right, *_, info = single.step(1)
        assert infos["costs"][0].tolist() == info["costs"].tolist()


def test_sub_environments_under_the_same_seeds_give_the_same_traces() -> None:
    envs = VectorProductMDP(
        SyncVectorEnv([lambda: GroundingInfo(gym.make("CartPole-v1"), tilted)] * 3), [UPRIGHT]
    )
    singles = [ProductMDP(gym.make("CartPole-v1"), [UPRIGHT], tilted) for _ in range(3)]
    observations, _ = envs.reset(seed=11)
    rights = [single.reset(seed=11 + i)[0] for i, single in enumerate(singles)]
    generator = np.random.default_rng(0)
    over = np.zeros(3, bool)
    for _ in range(120):
        assert observations.tolist() == [right.tolist() for right in rights]
        actions = generator.integers(0, 2, 3)
        observations, _, terminations, truncations, infos = envs.step(actions)
        for i, single in enumerate(singles):
            if over[i]:
                rights[i], info = single.reset()
                assert infos["cost"][i] == 0.0
            else:
                rights[i], _, _, _, info = single.step(actions[i])
                assert infos["cost"][i] == info["cost"]
                assert infos["constraint_costs"][i].tolist() == info["constraint_costs"].tolist()
            codes = infos["safety"]["events"].codes[i]
            assert codes.tolist() == info["safety"]["events"].codes.tolist()
        over = terminations | truncations


@pytest.mark.parametrize("mode", MODES)
def test_infos_have_the_documented_shapes(mode: AutoresetMode) -> None:
    specs = pool()
    envs = VectorProductMDP(ScriptedVectorEnv(ROWS, mode), specs)
    _, infos = envs.reset()
    assert set(infos) == {"propositions", "_propositions", "safety", "_safety"}
    *_, infos = envs.step(zeros(2))
    n, s, i, k = 2, len(specs), len(specs.instances), len(specs.constraints)
    assert infos["cost"].shape == (n,) and infos["cost"].dtype == np.float64
    assert infos["costs"].shape == (n, s)
    assert infos["constraint_costs"].shape == (n, k)
    assert infos["safety"]["events"].codes.shape == (n, i)
    assert infos["safety"]["states"].shape == (n, i)
    counts = infos["safety"]["counts"]
    assert infos["safety"]["_counts"].tolist() == [False, True]
    assert set(counts) == {"N", "V", "U", "pending", "verdict"}
    for value in counts.values():
        assert value.shape == (n, i) and not value[0].any()
    assert counts["pending"][1].any()


# A label that cannot be seen.


def test_a_callable_cannot_see_the_last_state_in_same_step() -> None:
    envs = ScriptedVectorEnv(ROWS, AutoresetMode.SAME_STEP)
    with pytest.raises(ConfigurationError, match=r"already left the last state.*GroundingInfo"):
        VectorProductMDP(envs, pool(), lambda envs: envs.propositions())


@pytest.mark.parametrize("native", [True, False])
def test_same_step_without_the_last_letter_is_an_error(native: bool) -> None:
    if native:

        class Silent(ScriptedVectorEnv):
            def step(self, actions: Any) -> Any:
                *rest, infos = super().step(actions)
                infos.pop("final_info", None)
                return *rest, infos

        envs: Any = Silent(ROWS, AutoresetMode.SAME_STEP)
        envs = VectorProductMDP(envs, pool())
        envs.reset()
        with pytest.raises(GroundingError, match=r"environments \[1\].*GroundingInfo"):
            envs.step(zeros(2))
    else:
        envs = SyncVectorEnv(
            [lambda: ScriptedEnv(ROWS[0])] * 2, autoreset_mode=AutoresetMode.SAME_STEP
        )
        with pytest.raises(GroundingError, match="neither a method propositions"):
            VectorProductMDP(envs, pool()).reset()


def test_an_unknown_autoreset_mode_is_an_error() -> None:
    envs = ScriptedVectorEnv(ROWS, AutoresetMode.NEXT_STEP)
    envs.metadata = {}
    with pytest.raises(ConfigurationError, match="autoreset_mode="):
        VectorProductMDP(envs, pool())
    assert VectorProductMDP(envs, pool(), autoreset_mode="NextStep").reset()
    envs.metadata = {"autoreset_mode": AutoresetMode.DISABLED}
    with pytest.raises(ConfigurationError, match="leave the argument out"):
        VectorProductMDP(envs, pool(), autoreset_mode="NextStep")


def test_grounding_errors() -> None:
    def envs() -> ScriptedVectorEnv:
        return ScriptedVectorEnv(ROWS, AutoresetMode.NEXT_STEP)

    def fails(_: Any) -> Any:
        raise KeyError("gripper")

    good = {"a": np.zeros(2, bool), "b": np.zeros(2, bool), "c": np.zeros(2, bool)}
    cases: list[tuple[Any, str]] = [
        (fails, "raised KeyError: 'gripper'"),
        (
            lambda _: {"a": good["a"], "B": good["b"]},
            "lacks the propositions 'b'; did you mean 'B'",
        ),
        (lambda _: {**good, "a": np.array([0.2, 1.0])}, r"'a' Boolean values, but one is 0.2"),
        (lambda _: {**good, "a": True}, r"'a' the shape \(2,\)"),
        (lambda _: {**good, "a": np.zeros((2, 1), bool)}, r"its shape is \(2, 1\)"),
        (lambda _: [True, False], "a mapping"),
    ]
    for grounding, message in cases:
        with pytest.raises(GroundingError, match=message):
            VectorProductMDP(envs(), pool(), grounding).reset()
    wrapped = VectorProductMDP(envs(), pool(), lambda _: {**good, "a": np.array([0, 1])})
    assert wrapped.reset()[1]["propositions"]["a"].tolist() == [False, True]


def test_a_proposition_that_some_rows_lack() -> None:
    envs = SyncVectorEnv(
        [
            lambda: GroundingInfo(ScriptedEnv(ROWS[0])),
            lambda: GroundingInfo(ScriptedEnv(ROWS[0], names=("a", "b"))),
        ]
    )
    with pytest.raises(GroundingError, match=r"lacks 'c' in environments \[1\]"):
        VectorProductMDP(envs, pool()).reset()


def test_a_column_array_of_the_wrong_shape() -> None:
    envs = ScriptedVectorEnv(ROWS, AutoresetMode.NEXT_STEP)
    envs.propositions_array = lambda: np.zeros((2, 2), bool)
    with pytest.raises(GroundingError, match=r"bool of shape \(2, 3\)"):
        VectorProductMDP(envs, pool()).reset()


def test_a_grounding_with_a_memory_is_told_which_rows_begin() -> None:
    class Steps:
        def __init__(self) -> None:
            self.seen = np.zeros(2, int)

        def reset(self, rows: Any) -> None:
            self.seen[rows] = 0

        def __call__(self, envs: Any) -> dict[str, Any]:
            self.seen += 1
            return {"a": self.seen > 2, "b": np.zeros(2, bool), "c": np.zeros(2, bool)}

    rows = [[script("- - -")], [script("- - - - -")]]
    envs = VectorProductMDP(ScriptedVectorEnv(rows, AutoresetMode.NEXT_STEP), pool(), Steps())
    letters = [envs.reset()[1]["propositions"]["a"].tolist()]
    letters += [envs.step(zeros(2))[-1]["propositions"]["a"].tolist() for _ in range(5)]
    assert [row[0] for row in letters] == [False, False, True, False, False, True]
    assert [row[1] for row in letters] == [False, False, True, True, True, False]


# Steps out of turn.


def test_step_before_reset_and_on_rows_that_have_ended() -> None:
    envs = VectorProductMDP(ScriptedVectorEnv(ROWS, AutoresetMode.DISABLED), pool())
    with pytest.raises(ResetNeededError, match=r"call reset\(\) first"):
        envs.step(zeros(2))
    with pytest.raises(ResetNeededError, match="every sub-environment"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset()
    *_, truncations, _ = envs.step(zeros(2))
    assert truncations.tolist() == [False, True]
    with pytest.raises(ResetNeededError, match=r"environments \[1\] have ended"):
        envs.step(zeros(2))


def test_reset_mask_is_checked_and_left_as_it_was() -> None:
    envs = VectorProductMDP(ScriptedVectorEnv(ROWS, AutoresetMode.DISABLED), pool())
    envs.reset()
    for mask in (np.array([1, 0]), [True, False], np.array([True]), np.zeros(2, bool)):
        with pytest.raises(ConfigurationError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    options = {"reset_mask": np.array([True, False])}
    envs.reset(options=options)
    assert options["reset_mask"].tolist() == [True, False]  # Gymnasium would have popped it


def test_a_masked_reset_leaves_other_rows_in_their_episode() -> None:
    rows = [[script("a - - -")], [script("- a - -")]]
    envs = VectorProductMDP(
        ScriptedVectorEnv(rows, AutoresetMode.DISABLED), pool().select(["never"])
    )
    envs.reset()
    assert envs.step(zeros(2))[-1]["cost"].tolist() == [1.0, 1.0]
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.step(zeros(2))[-1]["cost"].tolist() == [1.0, 0.0]
    *_, infos = envs.step(zeros(2))
    assert infos["safety"]["counts"]["V"].tolist() == [[0], [1]]


# Exact resume.


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("moment", range(7))
def test_resume_at_any_moment(mode: AutoresetMode, native: bool, moment: int) -> None:
    def make() -> VectorProductMDP:
        if native:
            return VectorProductMDP(Saved(ROWS, mode), pool())
        sub_envs = [lambda own=own: GroundingInfo(ScriptedEnv(own)) for own in ROWS]
        return VectorProductMDP(SyncVectorEnv(sub_envs, autoreset_mode=mode), pool())

    def play(envs: VectorProductMDP, steps: int) -> list[Any]:
        seen = []
        for _ in range(steps):
            observations, _, terminations, truncations, infos = envs.step(zeros(2))
            seen.append([observations.tolist(), infos["constraint_costs"].tolist()])
            seen[-1].append(infos["safety"]["events"].codes.tolist())
            ended = terminations | truncations
            if ended.any():
                seen[-1].append({k: v.tolist() for k, v in infos["safety"]["counts"].items()})
                if mode is AutoresetMode.DISABLED:
                    envs.reset(options={"reset_mask": ended})
        return seen

    envs = make()
    envs.reset()
    play(envs, moment)
    saved = pickle.dumps(envs.get_state())
    right = play(envs, 8)
    resumed = make()
    resumed.reset()
    resumed.set_state(pickle.loads(saved))
    assert play(resumed, 8) == right


class Saved(ScriptedVectorEnv):
    """A scripted vector environment that can save itself."""

    def get_state(self) -> Any:
        return [row.get_state() for row in self.rows], self._over.copy()

    def set_state(self, state: Any) -> None:
        for row, own in zip(self.rows, state[0], strict=True):
            row.set_state(own)
        self._over = state[1].copy()


def test_states_that_do_not_fit() -> None:
    envs = VectorProductMDP(Saved(ROWS, AutoresetMode.NEXT_STEP), pool())
    envs.reset()
    saved = envs.get_state()
    with pytest.raises(CheckpointError, match="2 environments, but there are 1"):
        VectorProductMDP(Saved(ROWS[:1], AutoresetMode.NEXT_STEP), pool()).set_state(saved)
    with pytest.raises(CheckpointError, match="other specifications"):
        VectorProductMDP(Saved(ROWS, AutoresetMode.NEXT_STEP), pool()[:2]).set_state(saved)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [AutoresetMode.DISABLED, AutoresetMode.SAME_STEP])
def test_processes_say_that_they_cannot_be_saved(mode: AutoresetMode) -> None:
    envs = AsyncVectorEnv([lambda: GroundingInfo(ScriptedEnv(ROWS[0]))], autoreset_mode=mode)
    try:
        product = VectorProductMDP(envs, pool())
        product.reset()
        with pytest.raises(CheckpointError, match="SyncVectorEnv"):
            product.get_state()
        product.step(zeros(1))  # nothing was lost
    finally:
        envs.close()


@pytest.mark.slow
def test_processes_go_on_from_what_was_saved() -> None:
    def kitchens() -> VectorProductMDP:
        make = lambda: Savable(gym.make("safe_rl/KitchenGrid-v0"))  # noqa: E731
        return VectorProductMDP(
            AsyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.DISABLED), "kitchen"
        )

    def steps(product: VectorProductMDP, actions: list[int]) -> list[Any]:
        seen: list[Any] = []
        for action in actions:
            observations, rewards, ended, cut, infos = product.step(np.full(2, action))
            seen.append([str(observations), rewards.tolist(), infos["costs"].tolist()])
            if (over := ended | cut).any():
                seen.append(str(product.reset(options={"reset_mask": over})[0]))
        return seen

    moves = np.random.default_rng(0).integers(6, size=160).tolist()
    first, second = kitchens(), kitchens()
    try:
        first.reset(seed=3)
        steps(first, moves[:50])
        saved = first.get_state()
        second.set_state(saved)  # as a resumed run does: nothing was reset before
        expected = steps(first, moves[50:])
        assert steps(second, moves[50:]) == expected
        second.reset(seed=8)
        assert steps(second, moves[50:]) != expected, "the kitchen does not depend on its state"
        with pytest.raises(CheckpointError, match="2 environments, but there are 1"):
            VectorProductMDP(
                AsyncVectorEnv(
                    [lambda: Savable(gym.make("safe_rl/KitchenGrid-v0"))],
                    autoreset_mode=AutoresetMode.DISABLED,
                ),
                "kitchen",
            ).set_state(saved)
    finally:
        first.close()
        second.close()


@pytest.mark.slow
@pytest.mark.parametrize("asks", [True, False])
def test_processes_tell_their_letters_when_asked(asks: bool) -> None:
    rule = Specification("never", "G !a", trigger="true")
    wrap = (lambda env: env) if asks else GroundingInfo
    envs = AsyncVectorEnv([lambda: wrap(ScriptedEnv([script("- a -")]))] * 2)
    try:
        product = VectorProductMDP(envs, [rule])
        product.reset()
        assert product.step(zeros(2))[-1]["cost"].tolist() == [1.0, 1.0]
    finally:
        envs.close()
