"""Environments for TRL: what a model is offered, what it is told, and what it earns."""

from __future__ import annotations

import inspect

import pytest

from safe_rl.envs.household import make_task, task_named
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.trl import PlanEnvironment, environment_factory, plan_reward_func

JAR = make_task("train", 12)


def begun(task: str = JAR.name, **columns: object) -> PlanEnvironment:
    environment = environment_factory(task_named)()
    environment.reset(task=task, **columns)
    return environment


def test_only_the_tools_are_offered() -> None:
    """By TRL's own rule: public functions of the class, save ``reset`` and ``get_reward``."""
    members = inspect.getmembers(PlanEnvironment, predicate=inspect.isfunction)
    public = {name for name, _ in members if not name.startswith("_")}
    assert public == {"act", "look", "reset", "get_reward"}


def test_the_tools_describe_themselves() -> None:
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    for tool in (begun().act, begun().look):
        schema = get_json_schema(tool)["function"]
        assert schema["description"]
        assert all(p["description"] for p in schema["parameters"]["properties"].values())


def test_reset_tells_the_task_and_takes_all_columns() -> None:
    environment = environment_factory(task_named)()
    with pytest.raises(ConfigurationError, match="reset"):
        environment.act("pick(jar)")
    told = environment.reset(task=JAR.name, prompt="x", difficulty=3)
    assert JAR.instruction in told


@pytest.mark.parametrize("seed", [12, 8, 1, 3])
def test_a_plan_earns_what_it_earns_at_once(seed: int) -> None:
    task = make_task("train", seed)
    reward = plan_reward_func(task_named)
    for plan in (task.reference, task.naive, task.reference[:-1]):
        environment = begun(task.name)
        told = [environment.act(str(action)) for action in plan]
        assert all(text.startswith("Done") for text in told)
        (at_once,) = reward(prompts=[""], completions=["\n".join(map(str, plan))], task=[task.name])
        assert environment.get_reward() == at_once


def test_what_is_told() -> None:
    environment = begun()
    assert "inside" not in environment.look() and "the jar is open" in environment.look()
    assert environment.act("place(jar, counter)") == (
        "Not done: cannot place the jar: it is not in the hand."
    )
    assert environment.act("fly(jar)").startswith("That is not one action of this kitchen")
    assert environment.act("close(jar), pick(jar)").startswith("That is not one action")
    broken = environment.act("pick(jar)")
    assert broken.startswith("Done: pick(jar). This breaks a rule: ")
    assert "the jar is in the hand" in environment.look()
    assert environment.act("close(jar)").startswith("Not done: ")
    # What was not done counts for nothing; the violation stays.
    assert environment.act("place(jar, counter)") == "Done: place(jar, counter)."
    assert environment.act("close(jar)") == "Done: close(jar)."
    assert environment.get_reward() == 0.0


def test_nothing_done_earns_what_no_plan_earns() -> None:
    assert begun().get_reward() == -1.0


def test_a_reset_forgets() -> None:
    environment = begun()
    environment.act("pick(jar)")
    environment.reset(task=JAR.name)
    for action in JAR.reference:
        environment.act(str(action))
    assert environment.get_reward() == 1.0
