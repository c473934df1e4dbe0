"""The one place where VirtualHome's executor is imported, and where its programs are found.

The distribution ``eai-eval`` (Embodied Agent Interface, arXiv:2410.07166) carries the executor of
VirtualHome's programs, 342 programs and temporal goals for them. Installed with what it requires
it would bring a package ``bddl`` that replaces LIBERO's, so it is a second step without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

from safe_rl.errors import ConfigurationError, MissingDependencyError

VERSION: Final = "1.0.5"
"""The version of eai-eval that is accepted."""

INSTALL: Final = f"pip install --no-deps eai-eval=={VERSION}"
"""The second step of the installation."""

_SCENE: Final = "TrimmedTestScene1_graph/results_intentions_march-13-18"
_PROGRAMS: Final = "dataset/programs_processed_precond_nograb_morepreconds"


class Libraries(NamedTuple):
    """What is used of eai-eval.

    Attributes:
        executors: VirtualHome's action to what carries it out.
        graph: Makes a graph from JSON.
        state: Makes a state from a graph; states are not changed by actions, which return others.
        info: Collects the messages of one action.
        line, thing, script: Make a program of one line.
        relations: The relations between nodes.
        synonyms: Class of objects to other names for it.
    """

    executors: Mapping[Any, Any]
    graph: Any
    state: Any
    info: Any
    line: Any
    thing: Any
    script: Any
    relations: tuple[Any, ...]
    synonyms: Mapping[str, list[str]]


@cache
def folder() -> Path:
    """Return the folder of eai-eval's package for VirtualHome; imports nothing.

    Raises:
        MissingDependencyError: it is not installed.
        ConfigurationError: it is another version than the one that was tried.
    """
    try:
        found = distribution("eai-eval")
    except PackageNotFoundError:
        error = MissingDependencyError("eai-eval", "virtualhome", "A task of VirtualHome")
        error.msg = f"{error.msg} && {INSTALL}"
        raise error from None
    if found.version != VERSION:
        raise ConfigurationError(
            f"eai-eval {found.version} is installed, but {VERSION} is needed; run: {INSTALL}"
        )
    return Path(str(found.locate_file("virtualhome_eval")))


@cache
def libraries() -> Libraries:
    """Import the executor, once.

    Raises:
        MissingDependencyError: it is not installed.
        ConfigurationError: it is another version than the one that was tried.
    """
    folder()
    from virtualhome_eval.simulation.evolving_graph import environment, execution, scripts

    return Libraries(
        executors=execution.ScriptExecutor._action_executors,
        graph=environment.EnvironmentGraph,
        state=environment.EnvironmentState,
        info=execution.ExecutionInfo,
        line=scripts.ScriptLine,
        thing=scripts.ScriptObject,
        script=scripts.Script,
        relations=tuple(environment.Relation),
        synonyms=_json(folder() / "resources" / "class_name_equivalence.json"),
    )


@cache
def temporal_goals() -> Mapping[str, tuple[str, str]]:
    """Return each program's title and temporal goal, for those that have a goal, in order.

    Raises:
        MissingDependencyError, ConfigurationError: as for :func:`folder`.
    """
    path = folder() / "resources" / "virtualhome" / "task_state_LTL_formula_accurate.json"
    return {
        program: (title, entry["tl_goal"])
        for title, programs in _json(path)["scene_1"].items()
        for program, entry in programs.items()
        if entry["tl_goal"]
    }


def program_text(program: str) -> str:
    """Return a program as VirtualHome writes it: title, description, lines."""
    path = folder() / _PROGRAMS / "executable_programs" / _SCENE / f"file{program}.txt"
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def start_graph(program: str) -> dict[str, list[dict[str, Any]]]:
    """Return the graph in which a program begins: ``nodes`` and ``edges``."""
    path = folder() / _PROGRAMS / "init_and_final_graphs" / _SCENE / f"file{program}.json"
    return _json(path)["init_graph"]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
