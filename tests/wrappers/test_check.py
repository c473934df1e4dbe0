"""check_grounding finds each kind of mistake, and says how to mend it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.specs import Specification
from safe_rl.wrappers import ProductMDP, Report, check_grounding
from tests.wrappers.scripted import Script, ScriptedEnv, pool, script

CLEAN = [
    script("- a ab c b abc -", "truncated"),
    script("- c a b b -", "truncated"),
    script("- b a", "truncated"),
]


def check(
    specs: Any, grounding: Any = None, scripts: list[Script] = CLEAN, **kwargs: Any
) -> Report:
    kwargs = {"steps": 60, "verbose": False, **kwargs}
    return check_grounding(ScriptedEnv(scripts), specs, grounding=grounding, **kwargs)


def kinds(report: Report) -> list[tuple[str, str, str]]:
    return [(p.severity, p.kind, p.subject) for p in report.problems]


def test_nothing_to_find() -> None:
    report = check(pool())
    assert report.ok and report.problems == ()
    assert report.steps == 60
    assert [p.name for p in report.propositions] == ["a", "b", "c"]
    assert all(p.changes > 0 for p in report.propositions)
    by_id = {row.id: row for row in report.instances}
    assert by_id["answered"].N > 0 and by_id["never"].V > 0
    assert "no problems found" in str(report)


def test_all_missing_propositions_at_once_with_near_names() -> None:
    rules = [
        Specification("x", "G(grasped -> held)"),
        Specification("y", "G(open -> F closed)"),
    ]
    report = check(rules, lambda _: {"graspd": True, "held": False, "open": True})
    missing = report.of_kind("missing_proposition")
    assert [p.subject for p in missing] == ["grasped", "closed"]
    assert "did you mean 'graspd'" in missing[0].message
    assert not report.ok and report.instances == ()
    unused = report.of_kind("unused_proposition")
    assert [(p.severity, p.subject) for p in unused] == [("note", "graspd")]


def test_values_that_are_not_boolean() -> None:
    report = check(pool(), lambda env: {**env.unwrapped.propositions(), "a": 0.25})
    (problem,) = report.of_kind("not_boolean")
    assert problem.subject == "a" and "0.25 (float)" in problem.message
    assert not report.ok
    assert check(pool(), lambda _: {"a": 1, "b": 0, "c": False}).of_kind("not_boolean") == ()


def test_propositions_that_never_change() -> None:
    report = check(pool(), lambda env: {**env.unwrapped.propositions(), "c": True})
    (problem,) = report.of_kind("never_changes")
    assert problem.subject == "c" and problem.severity == "warning"
    assert "true in all" in problem.message
    assert report.ok


def test_a_trigger_that_never_was_true_and_one_that_cannot_be() -> None:
    rules = [
        Specification("seldom", "G(a -> b)", trigger="a & b & c & Y(a & b & c)"),
        Specification("never", "G(a -> b)", trigger="a & !a"),
        Specification("past", "G(a -> b)", trigger="a & Y a & H !a"),
    ]
    report = check(rules)
    assert [p.subject for p in report.of_kind("never_triggered")] == ["seldom", "never", "past"]
    assert [p.subject for p in report.of_kind("cannot_trigger")] == ["never", "past"]
    assert not report.ok


def test_a_formula_that_no_trace_satisfies() -> None:
    report = check([Specification("impossible", "F(a & !a)", trigger="a")])
    assert [p.subject for p in report.of_kind("unsatisfiable")] == ["impossible"]
    assert not report.ok


def test_specifications_violated_at_reset() -> None:
    report = check([Specification("always_bad", "G b", trigger="true")])
    assert [p.subject for p in report.of_kind("violated_at_reset")] == ["always_bad"]
    assert not report.ok
    some = [script("b -", "truncated"), script("- -", "truncated")]
    report = check([Specification("bad", "G b", trigger="true")], scripts=some)
    (problem,) = report.of_kind("sometimes_violated_at_reset")
    assert problem.severity == "warning" and "mark it initial" in problem.message
    assert report.ok


def test_a_grounding_that_raises() -> None:
    def late(env: Any) -> dict[str, bool]:
        if env.unwrapped.position == 3:
            raise IndexError("no such geom")
        return env.unwrapped.propositions()

    report = check(pool(), late)
    (problem,) = report.of_kind("grounding_failed")
    assert "at step 3" in problem.message and "IndexError: no such geom" in problem.message
    assert not report.ok and report.steps == 3


def test_keys_that_come_and_go() -> None:
    def moody(env: Any) -> dict[str, bool]:
        letter = dict(env.unwrapped.propositions())
        if env.unwrapped.position == 2:
            letter["extra"] = True
            del letter["c"]
        return letter

    report = check(pool(), moody)
    assert {p.subject for p in report.of_kind("keys_change")} == {"c", "extra"}
    assert "'extra' appears at step 2" in str(report)
    assert [p.subject for p in report.of_kind("missing_proposition")] == ["c"]


def test_errors_come_first() -> None:
    rules = [*pool(), Specification("lost", "G z", trigger="z")]
    report = check(rules, lambda env: {**env.unwrapped.propositions(), "c": True, "q": False})
    order = [p.severity for p in report.problems]
    assert order == sorted(order, key=["error", "warning", "note"].index)


def test_strict_raises_and_verbose_prints(capsys: Any) -> None:
    rules = [Specification("lost", "G z", trigger="z")]
    with pytest.raises(GroundingError, match="does not give 'z'"):
        check(rules, strict=True, verbose=True)
    printed = capsys.readouterr().out
    assert "missing_proposition" in printed and "proposition  " in printed
    check(rules)
    assert capsys.readouterr().out == ""


def test_a_product_brings_its_own() -> None:
    env = ProductMDP(gym.make("CartPole-v1"), pool(), lambda _: dict(a=True, b=True, c=False))
    report = check_grounding(env, steps=20, verbose=False)
    assert len(report.instances) == len(pool())
    with pytest.raises(ConfigurationError, match="needs specs"):
        check_grounding(gym.make("CartPole-v1"))


def test_the_seed_decides_the_run() -> None:
    rules = [Specification("upright", "G !tilted", trigger="tilted", recovery="F !tilted")]

    def run(seed: int) -> Report:
        return check_grounding(
            gym.make("CartPole-v1"),
            rules,
            grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
            steps=200,
            seed=seed,
            verbose=False,
        )

    assert str(run(1)) == str(run(1)) != str(run(2))


def test_arguments() -> None:
    with pytest.raises(ConfigurationError, match="steps must be at least 1"):
        check(pool(), steps=0)
    envs = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(ConfigurationError, match="one environment"):
        check_grounding(envs, pool())  # type: ignore[arg-type]
