"""One file of frames, ``data/chunk-*/file-*.parquet``, and its columns of numbers and truths."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools
from safe_rl.data.lerobot.columns import PROPOSITIONS
from safe_rl.data.lerobot.description import read_description
from safe_rl.data.lerobot.layout import INFO, TASKS, read_info
from safe_rl.data.lerobot.tables import column_array
from safe_rl.data.lerobot.videos import read_video
from safe_rl.data.parquet import read_table
from safe_rl.errors import RecordingError


class DataFile:
    """One file of frames.

    Attributes:
        path: the file.
        root: the dataset.
        description: how the dataset describes itself.
        names: the propositions.
        table: the file, as Arrow has it.
    """

    def __init__(self, path: Path, root: Path) -> None:
        """Read the file.

        Raises:
            RecordingError: it is damaged, or carries no propositions.
        """
        self.path, self.root = path, root
        self.description = read_description(root)
        self.names = _proposition_names(root, self.description.features)
        self.table = read_table(path)
        for needed in ("episode_index", "frame_index", PROPOSITIONS):
            if needed not in self.table.column_names:
                raise RecordingError(
                    f"{path}: the column {needed!r} is missing; the file is damaged"
                )
        self._tasks = _tasks(root)
        self._films: dict[Path, NDArray[np.uint8]] = {}
        self._numbers: dict[str, NDArray[Any]] = {}

    def episodes(self) -> dict[int, NDArray[np.intp]]:
        """Return where the frames of each complete episode are, in the order of the frames.

        Raises:
            RecordingError: some are missing, or stand twice.
        """
        indices, frames = self.numbers("episode_index"), self.numbers("frame_index")
        total = read_info(self.root).get("total_episodes")
        counted = indices < total if isinstance(total, int) else np.ones(len(indices), np.bool_)
        found: dict[int, NDArray[np.intp]] = {}
        for index in dict.fromkeys(indices[counted].astype(int).tolist()):
            rows = np.flatnonzero(indices == index)
            rows = found[index] = rows[np.argsort(frames[rows], kind="stable")]
            if not np.array_equal(frames[rows], np.arange(len(rows))):
                raise RecordingError(
                    f"{self.path}, episode {index}: its frames are not numbered from 0 without a "
                    "gap; some are missing or stand twice"
                )
        return found

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.table.column_names

    def column(self, name: str, rows: NDArray[np.intp]) -> NDArray[Any]:
        """The column of a feature at some frames, ``[rows, ...]``."""
        feature, shape = self.description.features[name], self.description.shapes.get(name)
        return column_array(str(self.path), self.table.take(rows), name, feature, shape)

    def film(self, path: Path) -> NDArray[np.uint8]:
        """The images of a video, which is read once."""
        if path not in self._films:
            self._films[path] = read_video(path)
        return self._films[path]

    def instruction(self, frame: int) -> str:
        """The words that the policy was given at a frame."""
        if not self.has("task_index"):
            return ""
        return self._tasks.get(int(self.numbers("task_index")[frame]), "")

    def numbers(self, name: str) -> NDArray[Any]:
        """One number or truth value per frame; LeRobot has them as a scalar or a list of 1."""
        if name in self._numbers:
            return self._numbers[name]
        try:
            values = np.array(self.table.column(name).to_pylist())
            found = self._numbers[name] = values.reshape(len(self.table)).astype(np.float64)
            return found
        except (TypeError, ValueError):
            raise RecordingError(
                f"{self.path}: the column {name!r} is not one number per frame"
            ) from None

    def truths(self, name: str) -> Bools:
        """One truth value per frame."""
        return _truths(self.path, name, self.numbers(name))

    @cached_property
    def letters(self) -> Bools:
        """The propositions of each frame."""
        try:
            values = np.array(self.table.column(PROPOSITIONS).to_pylist(), np.float64)
            values = values.reshape(len(self.table), len(self.names))
        except (TypeError, ValueError):
            raise RecordingError(
                f"{self.path}: {PROPOSITIONS!r} does not hold {len(self.names)} numbers in every "
                "frame, one for each of the feature's names"
            ) from None
        return _truths(self.path, PROPOSITIONS, values)


def _proposition_names(root: Path, features: Mapping[str, Any]) -> tuple[str, ...]:
    feature = features.get(PROPOSITIONS)
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


def _truths(path: Path, name: str, values: NDArray[Any]) -> Bools:
    strange = values[~np.isin(values, (0.0, 1.0))]
    if strange.size:
        raise RecordingError(
            f"{path}: the column {name!r} holds {strange.flat[0]}, which is neither 0 nor 1; a "
            "proposition is true or false"
        )
    return values.astype(np.bool_)


def _tasks(root: Path) -> dict[int, str]:
    """Read ``meta/tasks.parquet``: the instruction of each task index."""
    path = root / TASKS
    if not path.is_file():
        return {}
    table = read_table(path)
    texts = [name for name in table.column_names if name != "task_index"]
    if "task_index" not in table.column_names or not texts:
        raise RecordingError(f"{path}: needs the columns task_index and task")
    words = table.column(texts[0]).to_pylist()
    return dict(zip(map(int, table.column("task_index").to_pylist()), map(str, words), strict=True))
