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

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.annotations import Annotations
from safe_rl.data.episode import Bools, Episode
from safe_rl.data.lerobot.columns import (
    ACTION,
    COST,
    COSTS,
    ENGAGED,
    OBSERVATION,
    PER_INSTANCE,
    PROPOSITIONS,
    REWARD,
    SIMULATOR,
    STATE,
    SUCCESS,
    TERMINATED,
)
from safe_rl.data.lerobot.data_file import DataFile
from safe_rl.data.lerobot.episode_row import EpisodeRow, rows_beside
from safe_rl.data.lerobot.layout import data_files
from safe_rl.data.lerobot.rows import COUNTS, placements_of
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
    files = data_files(path) if root is None else [path]
    found = []
    for each in files:
        file = DataFile(each, path if root is None else Path(root))
        rows = file.episodes()
        own = rows_beside(file.root, each, set(rows))
        found += [_Recorded(file, index, rows[index], own.get(index)) for index in rows]
    if not found:
        raise RecordingError(f"{path}: there are no episodes in this file")
    return found


class _Recorded:
    """One episode in a data file, with its row if what was seen last stands there."""

    def __init__(
        self, file: DataFile, index: int, rows: NDArray[np.intp], row: EpisodeRow | None
    ) -> None:
        self._file, self._index, self._rows = file, index, rows
        self._row = row if row is not None and row.has_final else None

    def episode(self, with_observations: bool) -> Episode:
        """Return it."""
        file, rows, row = self._file, self._rows, self._row
        known: Mapping[str, Any] = {} if row is None else row.values
        steps = len(rows) - (row is None)
        letters = file.letters[rows]
        if row is not None:
            letters = np.concatenate([letters, row.final(PROPOSITIONS)[None]])
        terminated = file.has(TERMINATED) and bool(file.truths(TERMINATED)[rows[-1]])
        return Episode(
            propositions=file.names,
            letters=letters,
            rewards=file.numbers(REWARD)[rows[:steps]] if file.has(REWARD) else np.zeros(steps),
            terminated=terminated,
            truncated=bool(known.get("safety.truncated", not terminated)),
            success=self._success(),
            engaged=self._engaged(),
            objects={kind: tuple(map(str, own)) for kind, own in file.description.objects.items()},
            env_id=file.description.env_id,
            instruction=file.instruction(int(rows[0])),
            seed=known.get("safety.seed"),
            actions=file.column(ACTION, rows[:steps]) if self._described(ACTION) else None,
            states=self._seen(SIMULATOR) if self._described(SIMULATOR) else None,
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
        frames = len(self._rows) + 1
        found: dict[str, Any] = {"costs": self._seen(COSTS), "cost": self._seen(COST)}
        for own, column in PER_INSTANCE.items():
            found[own] = (
                self._seen(column)
                if self._described(column)
                else np.zeros((frames, 0), np.bool_)  # there are no instances
            )
        for name in COUNTS:
            found[name] = np.array(self._row.values[f"safety.{name}"], np.int64)
        return Annotations(specs=specs, **found)

    def _success(self) -> bool | None:
        if self._row is not None:
            return self._row.values["safety.success"]
        if not self._file.has(SUCCESS):
            return None
        return bool(self._file.truths(SUCCESS)[self._rows].any())

    def _engaged(self) -> Bools | None:
        if not self._file.has(ENGAGED):
            return None
        engaged = self._file.truths(ENGAGED)[self._rows]
        if self._row is None:
            return engaged
        known = self._row.values["safety.engaged_known"]
        return np.concatenate([engaged, self._row.final(ENGAGED)[None]]) if known else None

    def _observations(self) -> dict[str, NDArray[Any]]:
        """What the policy saw; of others' datasets their state and their images."""
        features = self._file.description.features
        named = [name for name in features if name.startswith(OBSERVATION)]
        if self._row is None:
            named = [n for n in named if n == STATE or features[n]["dtype"] == "image"]
            named = [n for n in named if self._file.has(n)]
        return {name.removeprefix(OBSERVATION): self._seen(name) for name in named}

    def _described(self, name: str) -> bool:
        return self._file.has(name) and name in self._file.description.features

    def _seen(self, name: str) -> NDArray[Any]:
        """A column of what was seen: ``[T + 1, ...]``, or of others' datasets ``[T, ...]``."""
        if self._row is None:
            return self._file.column(name, self._rows)
        is_video = self._file.description.features[name]["dtype"] == "video"
        frames = self._film(name) if is_video else self._file.column(name, self._rows)
        return np.concatenate([frames, self._row.final(name)[None]])

    def _film(self, name: str) -> NDArray[np.uint8]:
        """The images of a camera that is kept as a video, ``[T, H, W, 3]``."""
        assert self._row is not None
        path = self._row.video(name)
        begin = self._row.values[f"videos/{name}/from_timestamp"] * self._file.description.fps
        found = self._file.film(path)[round(begin) :][: len(self._rows)]
        if len(found) < len(self._rows):
            raise RecordingError(
                f"{path}: {len(found)} images of the {len(self._rows)} of episode {self._index}; "
                "the file is cut short"
            )
        return found
