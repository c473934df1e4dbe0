"""Shortest plans, by breadth-first search over the product of the simulator and the monitors.

Exact and slow: for small tasks, to see how long a plan has to be, with the rules and without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import Final

from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.plan import Action
from safe_rl.envs.household.schema import Schema
from safe_rl.envs.household.task import Task
from safe_rl.errors import ConfigurationError
from safe_rl.monitors import EventMachine, build_machine
from safe_rl.monitors.events import VIOLATED
from safe_rl.monitors.machine import terminated_code
from safe_rl.specs.binding import arguments

MOST_NODES: Final = 50_000


def shortest_plan(
    task: Task, safe: bool = True, most_nodes: int = MOST_NODES
) -> tuple[Action, ...] | None:
    """Return a shortest plan that reaches the goal, if all goes as intended.

    Args:
        task: The task.
        safe: Whether it has to keep every rule, too.
        most_nodes: How many states of the product may be looked at.

    Returns:
        The plan, or ``None`` where there is none.

    Raises:
        ConfigurationError: ``most_nodes`` were looked at without an answer.
    """
    simulator = task.simulator
    actions = list(possible_actions(task))
    wanted = [(fact.removeprefix("!"), not fact.startswith("!")) for fact in task.goal_facts]
    monitors = _Monitors(task) if safe else None
    letter = simulator.letter(simulator.start)
    rows = monitors.move(monitors.initial, letter) if monitors else ()
    if rows is None:
        return None
    start = (simulator.start, rows)
    seen: dict[tuple[int, tuple[int, ...]], tuple[Action, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        state, rows = node
        plan = seen[node]
        at_goal = all(simulator.holds(state, fact) == value for fact, value in wanted)
        if at_goal and (monitors is None or monitors.may_end(rows)):
            return plan
        for action in actions:
            moved = simulator.move(state, action)
            if isinstance(moved, str):
                continue
            following = rows
            if monitors is not None:
                letter = simulator.letter(*moved)
                stepped = monitors.move(rows, letter)
                if stepped is None:
                    continue
                following = stepped
            reached = (moved[0], following)
            if reached not in seen:
                if len(seen) >= most_nodes:
                    raise ConfigurationError(
                        f"{task.name}: no plan among {most_nodes} states; allow more of them"
                    )
                seen[reached] = (*plan, action)
                queue.append(reached)
    return None


def possible_actions(task: Task) -> Iterator[Action]:
    """Yield the actions over a task's objects, without those that their classes rule out."""
    for schema in ACTIONS.values():
        for args in product(*(_fitting(task, schema, name) for name in schema.parameters)):
            if len(set(args)) == len(args):
                yield Action(schema.name, args)


def _fitting(task: Task, schema: Schema, parameter: str) -> tuple[str, ...]:
    """The objects that a parameter may be, as far as needs of one class say."""
    scene = task.simulator.scene
    fitting = scene.members["thing"]
    for need in schema.needs:
        head = need.formula.partition("(")[0]
        if arguments(need.formula) == (parameter,) and head in scene.members:
            fitting = tuple(name for name in fitting if scene.is_a(name, head))
    return fitting


class _Monitors:
    """The states of all monitor instances, as a tuple."""

    def __init__(self, task: Task) -> None:
        self._parts: list[tuple[EventMachine, tuple[str, ...]]] = [
            (build_machine(instance.specification), tuple(instance.atoms.values()))
            for instance in task.specs.instances
        ]
        self.initial = tuple(machine.initial for machine, _ in self._parts)

    def move(self, states: tuple[int, ...], letter: frozenset[str]) -> tuple[int, ...] | None:
        """The states after a letter, or ``None`` at a violation."""
        reached = []
        for (machine, atoms), state in zip(self._parts, states, strict=True):
            following, code = machine.transition(state, [atom in letter for atom in atoms])
            if code & VIOLATED:
                return None
            reached.append(following)
        return tuple(reached)

    def may_end(self, states: tuple[int, ...]) -> bool:
        """Whether a plan that ends here violates nothing."""
        pairs = zip(self._parts, states, strict=True)
        return not any(terminated_code(machine, state) & VIOLATED for (machine, _), state in pairs)
