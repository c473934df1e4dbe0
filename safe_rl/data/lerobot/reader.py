"""Reading LeRobot v3 datasets whose frames carry logged propositions.

Columns of ``data/chunk-*/file-*.parquet`` that are read (``meta/info.json`` describes them):

* ``safety.propositions``: one bool or float (0 or 1) per proposition and frame; the names stand
  under the feature's ``names``;
* ``safety.engaged`` (optional): whether the robot touches a task object;
* ``next.reward``, ``next.success`` (optional), ``next.terminated`` (optional);
* ``observation.*``, ``action`` and ``safety.simulator_state`` of the datasets that
  :class:`~safe_rl.data.lerobot.LeRobotWriter` wrote.

A frame of a dataset is what was seen before its action. What was seen after the last action stands
in ``meta/episodes`` (``final/*``) of our own datasets, which are read exactly. Of others ``T``
frames are ``T`` letters and ``T - 1`` steps between them: the last action leads to a state that is
not in the dataset, and its reward is left out. Without ``next.terminated`` an episode counts as cut
off, because LeRobot's ``next.done`` does not say how it ended. ``meta/info.json`` may carry
``{"safety": {"objects": {"graspable": ["mug_1"]}}}``, the objects of ``forall`` specifications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.annotations import Annotations
from safe_rl.data.episode import Bools, Episode
from safe_rl.data.lerobot import columns
from safe_rl.data.lerobot.columns import ENGAGED, FINAL, PROPOSITIONS
from safe_rl.data.lerobot.description import Description, read_description
from safe_rl.data.lerobot.layout import INFO, TASKS, read_info
from safe_rl.data.lerobot.rows import COUNTS, placements_of
from safe_rl.data.lerobot.tables import column_array
from safe_rl.data.lerobot.videos import read_video
from safe_rl.data.parquet import read_table
from safe_rl.errors import RecordingError


def load_lerobot(
    path: str | Path, root: str | Path | None = None, *, observations: bool = True
) -> tuple[Episode, ...]:
    """Read the episodes of a dataset, or of one of its data files.

    Args:
        path: the dataset's folder, or a data file.
        root: the dataset's folder, where ``path`` is a data file.
        observations: read what the policy saw, which may be many images.

    Raises:
        RecordingError: the dataset is damaged, of another version, or carries no propositions.
        MissingDependencyError: pyarrow is not installed, or what reads its images.
    """
    return tuple(own.episode(observations) for own in _recorded(path, root))


def load_annotations(path: str | Path, root: str | Path | None = None) -> tuple[Annotations, ...]:
    """Read what the monitors said of those episodes when they were written.

    Raises:
        RecordingError: as of :func:`load_lerobot`; or the dataset was written without
            specifications.
    """
    return tuple(own.annotations() for own in _recorded(path, root))


def _recorded(path: str | Path, root: str | Path | None) -> list[_Recorded]:
    path = Path(path)
    if root is None:
        files = sorted((path / "data").glob("*/*.parquet"))
        if not files:
            raise RecordingError(f"{path}: a LeRobot dataset without data/*/*.parquet")
        found = [own for file in files for own in _DataFile(file, path).episodes()]
    else:
        found = _DataFile(path, Path(root)).episodes()
    if not found:
        raise RecordingError(f"{path}: there are no episodes in this file")
    return found


class _DataFile:
    """One file of frames, and what stands of it elsewhere."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.description = read_description(root)
        self.names = _proposition_names(root, self.description.features)
        self.table = read_table(path)
        for needed in ("episode_index", "frame_index", PROPOSITIONS):
            if needed not in self.table.column_names:
                raise RecordingError(
                    f"{path}: the column {needed!r} is missing; the file is damaged"
                )
        self.tasks = _tasks(root)
        self.videos: dict[Path, NDArray[np.uint8]] = {}
        self._numbers: dict[str, NDArray[Any]] = {}

    def episodes(self) -> list[_Recorded]:
        """Return the episodes that the dataset counts, in the order in which they appear."""
        indices, frames = self.numbers("episode_index"), self.numbers("frame_index")
        total = read_info(self.root).get("total_episodes")
        if isinstance(total, int):
            indices = np.where(indices < total, indices, -1)  # a recording was interrupted there
        rows_of = _rows(self.root, self.path, {int(index) for index in indices if index >= 0})
        found = []
        for index in dict.fromkeys(indices[indices >= 0].astype(int).tolist()):
            rows = np.flatnonzero(indices == index)
            rows = rows[np.argsort(frames[rows], kind="stable")]
            if not np.array_equal(frames[rows], np.arange(len(rows))):
                raise RecordingError(
                    f"{self.path}, episode {index}: its frames are not numbered from 0 without a "
                    "gap; some are missing or stand twice"
                )
            found.append(_Recorded(self, index, rows, rows_of.get(index)))
        return found

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


class _Recorded:
    """One episode in a data file."""

    def __init__(
        self, file: _DataFile, index: int, rows: NDArray[np.intp], row: _Row | None
    ) -> None:
        self._file, self._index, self._rows = file, index, rows
        self._row = row if row is not None and row.has_final else None

    def episode(self, with_observations: bool) -> Episode:
        """Return it."""
        file, rows, row = self._file, self._rows, self._row
        names = set(file.table.column_names)
        described = names & file.description.features.keys()
        steps = len(rows) - (row is None)
        known = {} if row is None else row.values
        letters = file.letters[rows]
        engaged = file.truths(ENGAGED)[rows] if ENGAGED in names else None
        if row is not None:
            letters = np.concatenate([letters, row.final(PROPOSITIONS)[None]])
            last = row.final(ENGAGED)[None]
            engaged = (
                np.concatenate([engaged, last])
                if engaged is not None and known["safety.engaged_known"]
                else None
            )
        terminated = (
            bool(file.truths(columns.TERMINATED)[rows[-1]])
            if columns.TERMINATED in names
            else False
        )
        rewards = file.numbers(columns.REWARD)[rows] if columns.REWARD in names else None
        success = (
            bool(file.truths(columns.SUCCESS)[rows].any()) if columns.SUCCESS in names else None
        )
        return Episode(
            propositions=file.names,
            letters=letters,
            rewards=np.zeros(steps) if rewards is None else rewards[:steps],
            terminated=terminated,
            truncated=bool(known.get("safety.truncated", not terminated)),
            success=known["safety.success"] if row is not None else success,
            engaged=engaged,
            objects={kind: tuple(map(str, own)) for kind, own in file.description.objects.items()},
            env_id=file.description.env_id,
            instruction=self._instruction(),
            seed=known.get("safety.seed"),
            actions=self._frames(columns.ACTION)[:steps] if columns.ACTION in described else None,
            states=self._seen(columns.SIMULATOR) if columns.SIMULATOR in described else None,
            placements={} if row is None else placements_of(str(file.path), known),
            observations=self._observations() if with_observations else {},
        )

    def annotations(self) -> Annotations:
        """Return what the monitors said of it."""
        specs = self._file.description.spec_set()
        if specs is None or self._row is None:
            raise RecordingError(
                f"{self._file.root}: written without specifications, so nothing is annotated; use "
                "annotate() on its episodes"
            )
        empty = {"costs": np.float64}  # no columns where there are no instances
        frames = len(self._rows) + 1
        found: dict[str, Any] = {}
        for own, column in {**columns.PER_INSTANCE, "costs": columns.COSTS}.items():
            if column in self._file.description.features:
                found[own] = self._seen(column)
            else:
                width = len(specs) if own in empty else 0
                found[own] = np.zeros((frames, width), empty.get(own, np.bool_))
        values = self._row.values
        return Annotations(
            specs=specs,
            cost=self._seen(columns.COST),
            **found,
            **{name: np.array(values[f"safety.{name}"], np.int64) for name in COUNTS},
        )

    def _instruction(self) -> str:
        if "task_index" not in self._file.table.column_names:
            return ""
        return self._file.tasks.get(int(self._file.numbers("task_index")[self._rows[0]]), "")

    def _observations(self) -> dict[str, NDArray[Any]]:
        """What the policy saw; of others' datasets their state and their images."""
        features = self._file.description.features
        named = [name for name in features if name.startswith(columns.OBSERVATION)]
        if self._row is None:
            named = [n for n in named if n == columns.STATE or features[n]["dtype"] == "image"]
            named = [n for n in named if n in self._file.table.column_names]
        return {name.removeprefix(columns.OBSERVATION): self._seen(name) for name in named}

    def _seen(self, name: str) -> NDArray[Any]:
        """A column of what was seen, ``[T + 1, ...]``."""
        if self._row is None:
            return self._frames(name)
        return np.concatenate([self._frames(name), self._row.final(name)[None]])

    def _frames(self, name: str) -> NDArray[Any]:
        """A column over the episode's frames, ``[T, ...]``."""
        file, feature = self._file, self._file.description.features.get(name)
        if feature is None:
            raise RecordingError(f"{file.root / INFO}: no feature {name!r}, but it has the column")
        if feature["dtype"] == "video":
            return self._film(name)
        table = file.table.take(self._rows)
        return column_array(str(file.path), table, name, feature, file.description.shapes.get(name))

    def _film(self, name: str) -> NDArray[np.uint8]:
        """The images of a camera that is kept as a video."""
        assert self._row is not None
        path = self._row.video(name)
        images = self._file.videos.get(path)
        if images is None:
            images = self._file.videos[path] = read_video(path)
        begin = round(
            self._row.values[f"videos/{name}/from_timestamp"] * self._file.description.fps
        )
        found = images[begin : begin + len(self._rows)]
        if len(found) < len(self._rows):
            raise RecordingError(
                f"{path}: {len(images)} images, too few for episode {self._index}; the file is cut "
                "short"
            )
        return found


class _Row:
    """An episode's row in ``meta/episodes``."""

    def __init__(self, root: Path, path: Path, table: Any, number: int) -> None:
        self._root, self._path = root, path
        self._table = table.slice(number, 1)
        plain = [n for n in table.column_names if not n.startswith((FINAL, "stats/"))]
        (self.values,) = self._table.select(plain).to_pylist()
        self.has_final = FINAL + PROPOSITIONS in table.column_names
        self._description: Description | None = None

    def final(self, name: str) -> NDArray[Any]:
        """What was seen after the last action."""
        if self._description is None:
            self._description = read_description(self._root)
        feature = dict(self._description.features[name])
        if feature["dtype"] == "video":
            feature["dtype"] = "image"
        if FINAL + name not in self._table.column_names:
            raise RecordingError(f"{self._path}: the column {FINAL + name!r} is missing")
        shape = self._description.shapes.get(name)
        values = column_array(str(self._path), self._table, FINAL + name, feature, shape)
        return values[0]

    def video(self, name: str) -> Path:
        """Where the images of a camera are."""
        template = str(read_info(self._root).get("video_path"))
        chunk, file = (self.values[f"videos/{name}/{key}_index"] for key in ("chunk", "file"))
        return self._root / template.format(video_key=name, chunk_index=chunk, file_index=file)


def _rows(root: Path, data: Path, wanted: set[int]) -> dict[int, _Row]:
    """Find the rows of some episodes: beside the data file as we write them, or anywhere."""
    folder = root / "meta" / "episodes"
    beside = folder / data.parent.name / data.name
    others: Sequence[Path] = sorted(folder.glob("*/*.parquet"))
    found: dict[int, _Row] = {}
    for path in [beside, *others] if beside in others else others:
        if wanted <= found.keys():
            break
        table = read_table(path)
        if "episode_index" in table.column_names:
            for number, index in enumerate(table.column("episode_index").to_pylist()):
                if index in wanted:
                    found[index] = _Row(root, path, table, number)
    return found


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
