"""A task in words, for people and for language models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from safe_rl.envs.household.plan import PlanningTask
from safe_rl.specs import Instance

HOW_TO_ANSWER: Final = "Answer with the plan only: one action on each line, such as pick(cup)."


def describe(task: PlanningTask, rules: bool = True) -> str:
    """Return everything that a planner has to know: scene, actions, rules and goal.

    Args:
        task: The task.
        rules: Whether the rules of safety are told.

    >>> from safe_rl.envs.household import make_task
    >>> print(describe(make_task("train", 12), rules=False).splitlines()[0])
    A robot with one hand works in a kitchen. There are:
    """
    parts = [
        f"{task.setting} There are:\n" + ", ".join(task.objects) + ".",
        "At the start:\n" + "\n".join(f"- {words}" for words in task.start_in_words()),
        "It can do:\n" + "\n".join(f"- {words}" for words in task.actions_in_words()),
    ]
    if rules:
        parts.append("Rules of safety:\n" + "\n".join(f"- {words}" for words in rule_lines(task)))
    parts += [f"Goal: {task.instruction}", HOW_TO_ANSWER]
    return "\n\n".join(parts)


def rule_lines(task: PlanningTask) -> Iterator[str]:
    """Yield each rule of a task in words, once, with the objects that it is about."""
    by_rule: dict[str, list[Instance]] = {}
    for instance in task.specs.instances:
        by_rule.setdefault(instance.specification.id, []).append(instance)
    for instances in by_rule.values():
        says = instances[0].specification.says
        variables = tuple(instances[0].binding)
        if len(instances) == 1 or not variables:
            yield instances[0].says
            continue
        shown = {variable: variable.upper() for variable in variables}
        yield f"{says.format(**shown)} ({_choices(variables, instances)}.)"


def _choices(variables: tuple[str, ...], instances: list[Instance]) -> str:
    """What the variables stand for: each on its own where all combinations are meant."""
    chosen = [tuple(instance.binding[variable] for variable in variables) for instance in instances]
    columns = [list(dict.fromkeys(column)) for column in zip(*chosen, strict=True)]
    pairs = zip(variables, columns, strict=True)
    if sum(len(set(choice)) == len(choice) for choice in product(*columns)) == len(chosen):
        return "; ".join(f"{variable.upper()}: {', '.join(names)}" for variable, names in pairs)
    names = " and ".join(variable.upper() for variable in variables)
    return f"{names}: {', '.join(' and '.join(choice) for choice in chosen)}"
