"""The suites of LIBERO and their tasks, as LIBERO's benchmark numbers them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from safe_rl.envs.libero.installation import package_folder
from safe_rl.errors import ConfigurationError, near

SUITES: Mapping[str, int] = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Suite to control steps per episode, those with which policies are usually evaluated."""


@dataclass(frozen=True)
class LiberoTask:
    """One task.

    Attributes:
        suite: one of ``SUITES``.
        index: its number in the suite (LIBERO's task order 0).
        name: LIBERO's name of it, also that of its files.
        instruction: what a person would say.
        bddl: the file that defines scene and goal.
        init_states: the file of its initial states.
    """

    suite: str
    index: int
    name: str
    instruction: str
    bddl: Path
    init_states: Path


@lru_cache(maxsize=1)
def _task_map() -> Mapping[str, tuple[str, ...]]:
    # The table stands in a module whose import needs torch: its text is read instead.
    text = (package_folder() / "benchmark" / "libero_suite_task_map.py").read_text("utf-8")
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign):
            table = ast.literal_eval(statement.value)
            return {suite: tuple(table[suite]) for suite in SUITES}
    raise ConfigurationError("LIBERO's table of tasks holds no table")


def task_names(suite: str) -> tuple[str, ...]:
    """The names of a suite's tasks, in the benchmark's order.

    Raises:
        ConfigurationError: for an unknown suite.
        MissingDependencyError: if LIBERO is not installed.
    """
    if suite not in SUITES:
        raise ConfigurationError(
            f"no LIBERO suite {suite!r}{near(suite, SUITES)}; there are: {', '.join(SUITES)}"
        )
    return _task_map()[suite]


def instruction_of(name: str) -> str:
    """What a person would say, from a task's name, as LIBERO's benchmark derives it.

    >>> instruction_of("KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it")
    'turn on the stove and put the moka pot on it'
    """
    return re.sub(r"^[A-Z_]+_SCENE\d+_", "", name).replace("_", " ")


def find_task(suite: str, task: int | str) -> LiberoTask:
    """A task by its number in the suite, or by its name.

    Raises:
        ConfigurationError: for an unknown suite or task.
        MissingDependencyError: if LIBERO is not installed.
    """
    names = task_names(suite)
    if isinstance(task, str):
        if task not in names:
            raise ConfigurationError(
                f"{suite} has no task {task!r}{near(task, names)}; it has: {', '.join(names)}"
            )
        index = names.index(task)
    elif 0 <= task < len(names):
        index = task
    else:
        raise ConfigurationError(f"{suite} has the tasks 0 to {len(names) - 1}, got {task}")
    name, package = names[index], package_folder()
    return LiberoTask(
        suite=suite,
        index=index,
        name=name,
        instruction=instruction_of(name),
        bddl=package / "bddl_files" / suite / f"{name}.bddl",
        init_states=package / "init_files" / suite / f"{name}.pruned_init",
    )
