"""Writing LeRobot v3.0 datasets so that a killed recording leaves a dataset that opens.

A file of frames is never changed: each call of ``flush`` adds one, with the episodes' rows beside
it. Everything of an episode is in place before ``meta/info.json`` counts it, and that file is
replaced in one move. What it does not count is not there, for LeRobot and for us, and is removed
when the recording is taken up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.annotations import Annotations, annotate
from safe_rl.data.episode import Episode
from safe_rl.data.lerobot import columns, layout
from safe_rl.data.lerobot.description import Description, read_description
from safe_rl.data.lerobot.rows import (
    EpisodeSummary,
    read_rows,
    safety_row,
    stats_in,
    stats_row,
    summary,
)
from safe_rl.data.lerobot.stats import Stats, column_stats, joined_stats
from safe_rl.data.lerobot.tables import episodes_table, frames_table, tasks_table
from safe_rl.data.lerobot.videos import write_video
from safe_rl.data.parquet import write_table
from safe_rl.errors import RecordingError
from safe_rl.specs import Specs, load_specs

Columns = dict[str, NDArray[Any]]


class _Waiting(NamedTuple):
    """An episode that is not yet in a file: its frames, and its row so far."""

    frames: Columns
    row: dict[str, Any]


class LeRobotWriter:
    """Writes episodes of one environment into the folder of a dataset.

    The first episode says what columns there are; every other one has to fit. It is a context
    manager, and holds the folder for itself until it is closed.

    Attributes:
        root: the folder.
        episodes: what was said of each episode that is stored or waits to be, in their order.

    >>> import tempfile
    >>> from safe_rl.specs import Specification
    >>> letters = np.array([[False, True], [True, True], [True, False]])
    >>> pot = Episode(("lifted", "lid_on"), letters, np.zeros(2), False, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rule = Specification("lid_first", "G(lifted -> lid_on)")
    ...     with LeRobotWriter(f"{folder}/pots", fps=20, specs=rule) as writer:
    ...         writer.add(pot, reason="spilled")
    ...     writer.episodes[0].safe
    0
    False
    """

    def __init__(
        self,
        root: str | Path,
        *,
        fps: int,
        specs: Specs | None = None,
        robot_type: str = "",
        video: bool = False,
        resume: bool = False,
        per_file: int = 1,
    ) -> None:
        """Begin a dataset, or take one up again.

        Args:
            root: the folder; made if need be.
            fps: control steps in a second.
            specs: under which the episodes are annotated, as :func:`safe_rl.data.annotate` takes
                them; without any there are letters and no ``safety.*`` events.
            robot_type: LeRobot's name of the robot.
            video: keep cameras as videos, small and not exact, instead of PNG images.
            resume: go on after the last complete episode of a dataset that is there.
            per_file: episodes in a file. With 1, an episode is on disk when ``add`` returns.

        Raises:
            RecordingError: there is a dataset and ``resume`` is not given, it is of another kind,
                another program writes to it, or a number is less than 1.
            MissingDependencyError: pyarrow is not installed.
        """
        if fps < 1 or per_file < 1:
            raise RecordingError(
                f"fps and per_file are whole numbers from 1 on, got {fps}, {per_file}"
            )
        self.root = Path(root)
        self.episodes: list[EpisodeSummary] = []
        self._fps, self._robot_type, self._video, self._per_file = fps, robot_type, video, per_file
        loaded = None if specs is None else load_specs(specs)
        self._specs = loaded or None  # a set of no rules labels nothing
        self._description: Description | None = None
        self._waiting: list[_Waiting] = []
        self._frames = 0
        self._files = 0
        self._tasks: list[str] = []
        self._stats: dict[str, Stats] = {}
        if (self.root / layout.INFO).exists() and not resume:
            raise RecordingError(
                f"{self.root}: there is a dataset already; give resume=True to go on with it, or "
                "another folder"
            )
        self._lock = layout.hold(self.root)
        try:
            self._take_up()
        except BaseException:
            self._lock.close()
            raise

    def add(
        self, episode: Episode, *, reason: str = "", labels: Mapping[str, Any] | None = None
    ) -> int:
        """Store an episode, and return its number in the dataset.

        Args:
            episode: with at least one step.
            reason: why it ended as it did, such as ``"dropped"``.
            labels: whatever else is to be noted of it, as JSON can hold it.

        Raises:
            RecordingError: it does not fit the dataset's other episodes.
            GroundingError: it was recorded without a proposition that the specifications use.
        """
        index = len(self.episodes)
        where = f"{self.root}, episode {index}"
        if episode.steps == 0:
            raise RecordingError(f"{where}: it has no steps, and LeRobot keeps none without frames")
        annotations = None if self._specs is None else annotate(episode, self._specs)
        described = Description.of(
            episode, annotations, fps=self._fps, robot_type=self._robot_type, video=self._video
        )
        if self._description is None:
            self._description = described
        self._description.check(described, where)
        waiting = self._prepare(index, episode, annotations, reason, labels or {})
        self._waiting.append(waiting)
        self.episodes.append(summary(waiting.row))
        self._frames += episode.steps
        if len(self._waiting) >= self._per_file:
            self.flush()
        return index

    def flush(self) -> None:
        """Put what is waiting on disk."""
        if not self._waiting or self._description is None:
            return
        waiting, number = self._waiting, self._files
        frames = {
            name: np.concatenate([own.frames[name] for own in waiting])
            for name in self._description.features
        }
        place = layout.place(number)
        for own in waiting:
            own.row.update({f"data/{key}": value for key, value in place.items()})
            own.row.update({f"meta/episodes/{key}": value for key, value in place.items()})
        for key in self._description.videos:
            write_video(layout.video_path(self.root, key, number), frames[key], self._fps)
            self._note_video(key, place)
        rows = [own.row for own in waiting]
        if number == 0:
            layout.write_json(self.root / layout.SAFETY, self._description.safety())
        write_table(
            layout.episodes_path(self.root, number), episodes_table(self._description, rows)
        )
        write_table(layout.data_path(self.root, number), frames_table(self._description, frames))
        write_table(self.root / layout.TASKS, tasks_table(self._tasks))
        for row in rows:
            self._count_stats(row)
        stats = {
            column: {name: value.tolist() for name, value in own.items()}
            for column, own in self._stats.items()
        }
        layout.write_json(self.root / layout.STATS, stats)
        info = self._description.info(len(self.episodes), self._frames, len(self._tasks))
        layout.write_json(self.root / layout.INFO, info)  # from here on the episodes are there
        self._files += 1
        self._waiting = []

    def close(self) -> None:
        """Put what is waiting on disk, and let the folder go."""
        try:
            self.flush()
        finally:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; what was added before an error is kept."""
        self.close()

    def _prepare(
        self,
        index: int,
        episode: Episode,
        annotations: Annotations | None,
        reason: str,
        labels: Mapping[str, Any],
    ) -> _Waiting:
        seen, steps = columns.seen(episode, annotations), episode.steps
        if episode.instruction not in self._tasks:
            self._tasks.append(episode.instruction)
        frames = {name: value[:-1] for name, value in seen.items()} | columns.done(episode)
        numbers = np.arange(steps)
        frames |= {
            "timestamp": (numbers / self._fps).astype(np.float32),
            "frame_index": numbers,
            "episode_index": np.full(steps, index),
            "index": self._frames + numbers,
            "task_index": np.full(steps, self._tasks.index(episode.instruction)),
        }
        row = {
            "episode_index": index,
            "tasks": [episode.instruction],
            "length": steps,
            "dataset_from_index": self._frames,
            "dataset_to_index": self._frames + steps,
            **safety_row(episode, annotations, reason, labels),
            **{columns.FINAL + name: value[-1] for name, value in seen.items()},
            **stats_row({name: column_stats(value) for name, value in frames.items()}),
        }
        return _Waiting(frames, row)

    def _note_video(self, key: str, place: Mapping[str, int]) -> None:
        """Say in each waiting episode's row where its images are."""
        begin = 0
        for own in self._waiting:
            end = begin + int(own.row["length"])
            own.row.update({f"videos/{key}/{name}": value for name, value in place.items()})
            own.row[f"videos/{key}/from_timestamp"] = begin / self._fps
            own.row[f"videos/{key}/to_timestamp"] = end / self._fps
            begin = end

    def _count_stats(self, row: Mapping[str, Any]) -> None:
        for column, own in stats_in(row).items():
            before = self._stats.get(column)
            self._stats[column] = own if before is None else joined_stats(before, own)

    def _take_up(self) -> None:
        """Read what is complete, and remove what is not."""
        rows: list[dict[str, Any]] = []
        if (self.root / layout.INFO).exists():
            if not (self.root / layout.SAFETY).exists():
                raise RecordingError(
                    f"{self.root}: a dataset that another program wrote (it has no "
                    f"{layout.SAFETY}); record into another folder"
                )
            self._description = read_description(self.root)
            rows = read_rows(self.root, stats=True)
        for row in rows:
            self.episodes.append(summary(row))
            self._frames += int(row["length"])
            for task in row["tasks"]:
                if task not in self._tasks:
                    self._tasks.append(task)
            self._count_stats(row)
            number = int(row["data/chunk_index"]) * layout.CHUNK_SIZE + int(row["data/file_index"])
            self._files = max(self._files, number + 1)
        keys = () if self._description is None else self._description.videos
        layout.remove_beyond(self.root, self._files, keys)
