"""A task in words, for people and for language models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.plan import Action
from safe_rl.envs.household.task import Task
from safe_rl.envs.household.vocabulary import in_words
from safe_rl.specs import Instance

HOW_TO_ANSWER = "Answer with the plan only: one action on each line, such as pick(cup)."


def describe(task: Task, rules: bool = True) -> str:
    """Return everything that a planner has to know: scene, actions, rules and goal.

    Args:
        task: The task.
        rules: Whether the rules of safety are told.

    >>> from safe_rl.envs.household import make_task
    >>> print(describe(make_task("train", 12), rules=False).splitlines()[0])
    A robot with one hand works in a kitchen. There are:
    """
    parts = [
        "A robot with one hand works in a kitchen. There are:\n" + ", ".join(task.objects) + ".",
        "At the start:\n" + "\n".join(f"- {words}" for words in _start(task)),
        "It can do:\n" + "\n".join(f"- {words}" for words in action_lines()),
    ]
    if rules:
        parts.append("Rules of safety:\n" + "\n".join(f"- {words}" for words in rule_lines(task)))
    parts += [f"Goal: {task.instruction}", HOW_TO_ANSWER]
    return "\n\n".join(parts)


def action_lines() -> Iterator[str]:
    """Yield each action with what it does: ``pick(o): take o into the empty hand``."""
    for schema in ACTIONS.values():
        words = schema.says.format(**{name: name for name in schema.parameters})
        yield f"{Action(schema.name, schema.parameters)}: {words}"


def rule_lines(task: Task) -> Iterator[str]:
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


def _start(task: Task) -> Iterator[str]:
    """The facts at the start, and which doors are closed."""
    simulator = task.simulator
    for fact in simulator.true_facts(simulator.start):
        yield in_words(fact)
    for door in simulator.scene.members["door"]:
        if not simulator.holds(simulator.start, f"open({door})"):
            yield f"the {door.replace('_', ' ')} is closed"
