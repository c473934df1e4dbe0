"""LeRobot v3 datasets whose frames carry logged propositions.

Columns of ``data/chunk-*/file-*.parquet`` that are read (``meta/info.json`` describes them):

* ``safety.propositions``: one bool or float (0 or 1) per proposition and frame; the names stand
  under the feature's ``names``;
* ``safety.engaged`` (optional): whether the robot touches a task object;
* ``next.reward``, ``next.success`` (optional), ``next.terminated`` (optional).

A frame of a dataset is what was seen before its action, so ``T`` frames are ``T`` letters and
``T - 1`` steps between them: the last action leads to a state that is not in the dataset, and its
reward is left out. Without ``next.terminated`` an episode counts as cut off, because LeRobot's
``next.done`` does not say how it ended. ``meta/info.json`` may carry
``{"safety": {"objects": {"graspable": ["mug_1"]}}}``, the objects of ``forall`` specifications.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools, Episode
from safe_rl.data.parquet import read_table
from safe_rl.data.sources import INFO
from safe_rl.errors import RecordingError

PROPOSITIONS: Final = "safety.propositions"
ENGAGED: Final = "safety.engaged"


def load_lerobot(path: Path, root: Path) -> tuple[Episode, ...]:
    """Read the episodes of one data file of a dataset.

    Args:
        path: the data file.
        root: the dataset's folder.

    Raises:
        RecordingError: the dataset is damaged, of another version, or carries no propositions.
        MissingDependencyError: pyarrow is not installed.
    """
    info = _info(root)
    names = _proposition_names(root, info)
    table = read_table(path)
    columns = set(table.column_names)
    for needed in ("episode_index", "frame_index", PROPOSITIONS):
        if needed not in columns:
            raise RecordingError(f"{path}: the column {needed!r} is missing; the file is damaged")
    indices = _numbers(path, table, "episode_index")
    frames = _numbers(path, table, "frame_index")
    letters = _letters(path, table, names)
    rewards = _numbers(path, table, "next.reward") if "next.reward" in columns else None
    flags = {
        name: _truths(path, name, _numbers(path, table, name))
        for name in ("next.success", "next.terminated", ENGAGED)
        if name in columns
    }
    tasks = _tasks(root) if "task_index" in columns else {}
    task_of = _numbers(path, table, "task_index") if "task_index" in columns else None
    objects = _objects(root, info)
    episodes = []
    for index in dict.fromkeys(indices.tolist()):
        rows = np.flatnonzero(indices == index)
        rows = rows[np.argsort(frames[rows], kind="stable")]
        if not np.array_equal(frames[rows], np.arange(len(rows))):
            raise RecordingError(
                f"{path}, episode {int(index)}: its frames are not numbered from 0 without a gap; "
                "some are missing or stand twice"
            )
        success, terminated = flags.get("next.success"), flags.get("next.terminated")
        ended = bool(terminated[rows[-1]]) if terminated is not None else False
        episodes.append(
            Episode(
                propositions=names,
                letters=letters[rows],
                rewards=np.zeros(len(rows) - 1) if rewards is None else rewards[rows[:-1]],
                terminated=ended,
                truncated=not ended,
                success=None if success is None else bool(success[rows].any()),
                engaged=flags[ENGAGED][rows] if ENGAGED in flags else None,
                objects=objects,
                env_id=str(info.get("robot_type") or ""),
                instruction="" if task_of is None else tasks.get(int(task_of[rows[0]]), ""),
            )
        )
    if not episodes:
        raise RecordingError(f"{path}: there are no episodes in this file")
    return tuple(episodes)


def _info(root: Path) -> Mapping[str, Any]:
    path = root / INFO
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from None
    version = str(info.get("codebase_version", "")) if isinstance(info, dict) else ""
    if not version.startswith("v3"):
        raise RecordingError(
            f"{path}: codebase_version is {version!r}, but version 3 is read; convert the dataset "
            "with LeRobot's own converter"
        )
    found: Mapping[str, Any] = info
    return found


def _proposition_names(root: Path, info: Mapping[str, Any]) -> tuple[str, ...]:
    features = info.get("features", {})
    feature = features.get(PROPOSITIONS) if isinstance(features, dict) else None
    if not isinstance(feature, dict):
        raise RecordingError(
            f"{root / INFO}: no feature {PROPOSITIONS!r}; log the propositions of each frame into "
            "that column, with their names in the feature's names"
        )
    names = feature.get("names")
    if isinstance(names, dict) and len(names) == 1:  # {"propositions": [...]}, as motors are named
        (names,) = names.values()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecordingError(
            f"{root / INFO}: the names of {PROPOSITIONS!r} must be a list of texts, but are "
            f"{str(names)[:60]}"
        )
    return tuple(names)


def _objects(root: Path, info: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found = (info.get("safety") or {}).get("objects", {})
    if not isinstance(found, dict) or not all(isinstance(v, list) for v in found.values()):
        raise RecordingError(
            f"{root / INFO}: safety.objects must map properties to lists of names, but is "
            f"{str(found)[:60]}"
        )
    return {str(kind): tuple(map(str, names)) for kind, names in found.items()}


def _numbers(path: Path, table: Any, name: str) -> NDArray[Any]:
    """One number or truth value per frame; LeRobot writes shape (1,) as a scalar or a list of 1."""
    try:
        values = np.array(table.column(name).to_pylist())
        return values.reshape(len(table)).astype(np.float64)
    except (TypeError, ValueError):
        raise RecordingError(f"{path}: the column {name!r} is not one number per frame") from None


def _truths(path: Path, name: str, values: NDArray[Any]) -> Bools:
    strange = values[~np.isin(values, (0.0, 1.0))]
    if strange.size:
        raise RecordingError(
            f"{path}: the column {name!r} holds {strange.flat[0]}, which is neither 0 nor 1; a "
            "proposition is true or false"
        )
    return values.astype(np.bool_)


def _letters(path: Path, table: Any, names: tuple[str, ...]) -> Bools:
    try:
        values = np.array(table.column(PROPOSITIONS).to_pylist(), np.float64)
        values = values.reshape(len(table), len(names))
    except (TypeError, ValueError):
        raise RecordingError(
            f"{path}: {PROPOSITIONS!r} does not hold {len(names)} numbers in every frame, one for "
            "each of the feature's names"
        ) from None
    return _truths(path, PROPOSITIONS, values)


def _tasks(root: Path) -> dict[int, str]:
    """Read ``meta/tasks.parquet``: the instruction of each task index."""
    path = root / "meta" / "tasks.parquet"
    if not path.is_file():
        return {}
    table = read_table(path)
    texts = [name for name in table.column_names if name != "task_index"]
    if "task_index" not in table.column_names or not texts:
        raise RecordingError(f"{path}: needs the columns task_index and task")
    words = table.column(texts[0]).to_pylist()
    return dict(zip(map(int, table.column("task_index").to_pylist()), map(str, words), strict=True))
