"""Planning tasks as environments that a model acts in by tools, for TRL's ``environment_factory``.

TRL offers every public method of an environment's class to the model as a tool, save ``reset`` and
``get_reward``. So there are two, :meth:`PlanEnvironment.act` and :meth:`PlanEnvironment.look`, and
all else is private.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from safe_rl.envs.household import Task, describe, in_words
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.counterexamples.explaining import explain
from safe_rl.feedback.plans import Outcome, check_plan
from safe_rl.feedback.trl.rewards import PlanValue


def environment_factory(
    tasks: Callable[[str], Task], value: PlanValue | None = None
) -> Callable[[], PlanEnvironment]:
    """Return what TRL's ``environment_factory`` takes: a maker of environments.

    Args:
        tasks: finds a task by its name, such as :func:`safe_rl.envs.household.task_named`.
        value: what the row of actions is worth in the end.

    >>> from safe_rl.envs.household import task_named
    >>> environment = environment_factory(task_named)()
    >>> request = environment.reset(task="household/train/12")
    >>> environment.act("close(jar)")
    'Done: close(jar).'
    >>> environment.get_reward()
    0.0
    """
    return lambda: PlanEnvironment(tasks, value or PlanValue())


class PlanEnvironment:
    """One task under way; everything goes as intended, unless the row has a ``seed``."""

    def __init__(self, tasks: Callable[[str], Task], value: PlanValue) -> None:
        self._tasks = tasks
        self._value = value
        self._task: Task | None = None
        self._seed: int | None = None
        self._done: list[str] = []

    def reset(self, *, task: str, seed: int | None = None, **columns: Any) -> str:
        """Begin a task; TRL appends what is returned to the last message of the prompt.

        Args:
            task: the task's name, from the data set's column ``task``.
            seed: what chance is drawn from, from the column ``seed``; without it everything goes as
                intended.
            columns: the other columns, which are not read.

        Raises:
            ConfigurationError: there is no such task.
        """
        self._task = self._tasks(task)
        self._seed = seed
        self._done = []
        return describe(self._task)

    def act(self, action: str) -> str:
        """Do one action in the kitchen.

        Args:
            action: The action with its objects, such as pick(cup) or place(cup, table).

        Returns:
            What came of it: that it was done, why it cannot be done, or which rule it breaks.
        """
        task = self._started()
        found = check_plan("\n".join([*self._done, action]), task, self._seed)
        if found.outcome in _UNREADABLE or len(found.actions) != len(self._done) + 1:
            return f"That is not one action of this kitchen: {found.words}"
        steps = len(found.trace) - 1
        if steps < len(found.actions):
            failure = task.run(found.actions, self._seed).failure
            return f"Not done: {failure.words if failure else found.words}."
        done = str(found.actions[-1])
        self._done.append(done)
        feedback = explain(task.specs, found.trace, truncated=True)
        broken = [c.rule or c.formula for c in feedback.violations if c.step == steps]
        told = " ".join(dict.fromkeys(broken))
        return f"Done: {done}." + (f" This breaks a rule: {told}" if told else "")

    def look(self) -> str:
        """Look at the kitchen.

        Returns:
            What is so now, one fact on each line.
        """
        task = self._started()
        letter = check_plan("\n".join(self._done), task, self._seed).trace if self._done else ()
        facts = sorted(letter[-1] if letter else task.initial)
        return "\n".join(in_words(fact) for fact in facts if fact not in task.derived)

    def get_reward(self) -> float:
        """Return what the actions done are worth, as a plan that ends here."""
        task = self._started()
        if not self._done:
            return self._value.invalid
        return self._value.of(check_plan("\n".join(self._done), task, self._seed), task)

    def _started(self) -> Task:
        if self._task is None:
            raise ConfigurationError("no task has begun; call reset(task=...) first")
        return self._task


_UNREADABLE = frozenset(
    {
        Outcome.PARSE_ERROR,
        Outcome.UNKNOWN_ACTION,
        Outcome.WRONG_ARITY,
        Outcome.UNKNOWN_OBJECT,
    }
)
