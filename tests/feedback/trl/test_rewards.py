"""The rewards for GRPO and RLOO: values by hand, what cannot be judged, and independence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.envs.household import Task, make_task, task_named
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.plans import Outcome, check_plan
from safe_rl.feedback.trl import PlanValue, answer_text, plan_reward_func, reward_func
from safe_rl.specs import Specification

TASKS: dict[str, Task] = {t.name: t for t in (make_task("train", s) for s in (12, 8, 6, 3))}
JAR = "household/train/12"


def lines(plan: Any) -> str:
    return "\n".join(map(str, plan))


def answers(task: Task) -> list[str]:
    return [
        lines(task.reference),
        lines(task.naive),
        lines(task.reference[:-1]),
        lines(task.reference[1:]),
        "I cannot do that.",
        "fly(table)",
        "pick()",
    ]


def test_values_by_hand() -> None:
    reward = plan_reward_func(task_named)
    task = TASKS[JAR]
    value = PlanValue(goal=2.0, violation=-3.0, invalid=-0.5)
    own = plan_reward_func(TASKS, value)
    for answer in answers(task):
        result = check_plan(answer, task)
        (found,) = reward(prompts=[""], completions=[answer], task=[JAR])
        (weighted,) = own(prompts=[""], completions=[answer], task=[JAR])
        violated = len({v.instance for v in result.violations})
        if result.carried_out:
            assert found == result.reached - violated
            assert weighted == 2.0 * result.reached - 3.0 * violated
        else:
            assert found == -1.0 - violated
            assert weighted == -0.5 - 3.0 * violated


@pytest.mark.parametrize("name", TASKS)
def test_only_a_safe_and_complete_plan_is_worth_most(name: str) -> None:
    task = TASKS[name]
    reward = plan_reward_func(TASKS)
    own = answers(task)
    values = reward(prompts=[""] * len(own), completions=own, task=[name] * len(own))
    for answer, value in zip(own, values, strict=True):
        complete = check_plan(answer, task).outcome is Outcome.SAFE_AND_COMPLETE
        assert (value == 1.0) == complete


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_value_does_not_depend_on_the_others(data: st.DataObject) -> None:
    """In any company and any order, plain or as messages, an answer is worth the same."""
    pool = [(name, answer) for name, task in TASKS.items() for answer in answers(task)]
    chosen = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=8))
    as_messages = data.draw(st.booleans())
    reward = plan_reward_func(TASKS)
    together = reward(
        prompts=[""] * len(chosen),
        completions=[
            [{"role": "assistant", "content": answer}] if as_messages else answer
            for _, answer in chosen
        ],
        task=[name for name, _ in chosen],
    )
    alone = [reward(prompts=[""], completions=[a], task=[n])[0] for n, a in chosen]
    assert together == alone


def test_unknown_keyword_arguments_are_accepted() -> None:
    """As TRL calls: with the trainer's state, the completions' ids and every column."""
    metrics: dict[str, list[float]] = {}
    extra: dict[str, list[Any]] = {}
    reward = plan_reward_func(TASKS)
    found = reward(
        prompts=["", ""],
        completions=[lines(TASKS[JAR].reference), lines(TASKS[JAR].naive)],
        completion_ids=[[1], [2]],
        task=[JAR, JAR],
        difficulty=[1, 2],
        trainer_state=object(),
        log_extra=extra.__setitem__,
        log_metric=lambda name, value: metrics.setdefault(name, []).append(value),
        something_of_a_later_version=True,
    )
    assert found[0] == 1.0 and found[1] is not None and found[1] < 1.0
    assert metrics["plan/success_and_safe"] == [0.5] and metrics["plan/success"] == [1.0]
    assert metrics["violated/close_before_lift"] == [0.5]
    assert metrics["violated/jar_upright"] == [0.0]
    assert extra == {"outcome": ["safe and complete", "unsafe"]}


def test_what_cannot_be_judged_is_none() -> None:
    reward = plan_reward_func(TASKS)
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look"}}]}
    plan = lines(TASKS[JAR].reference)
    found = reward(
        prompts=[""] * 4,
        completions=[plan, plan, [call], [{"role": "assistant", "content": ""}]],
        task=[None, "", JAR, JAR],
    )
    assert found == [None, None, None, -1.0]  # an empty answer is judged: it is no plan


def test_a_wrong_data_set_is_an_error_and_no_silent_none() -> None:
    reward = plan_reward_func(TASKS)
    with pytest.raises(ConfigurationError, match="no column 'task'.*its columns: name"):
        reward(prompts=[""], completions=["pick(jar)"], name=[JAR])
    with pytest.raises(ConfigurationError, match="did you mean 'household/train/12'"):
        reward(prompts=[""], completions=["pick(jar)"], task=["household/train/121"])
    with pytest.raises(ConfigurationError, match="best plan need not be safe"):
        PlanValue(violation=0.5)


def test_answer_text() -> None:
    parts = [{"type": "text", "text": "pick"}, {"type": "text", "text": "(jar)"}]
    assert answer_text([{"role": "assistant", "content": parts}]) == "pick(jar)"
    talk = [
        {"role": "assistant", "content": "first"},
        {"role": "tool", "content": "done"},
        {"role": "assistant", "content": "last"},
    ]
    assert answer_text(talk) == "last" and answer_text(talk[:2]) == "first"
    assert answer_text([]) is None


# Any trace.

RULES = [
    Specification("lid_first", "G(lift -> O lid)", weight=2.0),
    Specification("settles", "G(lift -> F put)"),
]


def letters(text: str, row: Mapping[str, Any]) -> list[set[str]] | None:
    return [{word} for word in text.split()] if row.get("judged", True) else None


def test_reward_of_specifications() -> None:
    metrics: dict[str, float] = {}
    completions = ["lid lift put", "lift put", "lift", "lid", "lift"]
    judged = [True, True, True, True, False]
    found = reward_func(RULES, letters)(
        prompts=[""] * 5,
        completions=completions,
        judged=judged,
        log_metric=metrics.__setitem__,
        trainer_state=None,
    )
    assert found == [1.0, -2.0, -3.0, 1.0, None]
    assert metrics == {
        "violated/lid_first": 0.5,
        "violated/settles": 0.25,
        "vacuous": 0.25,
    }
    cut = reward_func(RULES, letters, truncated=True, kept=0.5)
    assert cut(prompts=[""], completions=["lid lift"]) == [0.5]  # owed, and only cut off
    with pytest.raises(ConfigurationError, match="otherwise a violation pays"):
        reward_func(RULES, letters, violation=1.0)
