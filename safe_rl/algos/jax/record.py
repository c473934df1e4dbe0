"""What a run measures on the host: recent episodes, and where its rows are written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.constraint_set import ConstraintSet
from safe_rl.algos.jax.state import EndedEpisodes
from safe_rl.algos.progress import ProgressFile
from safe_rl.errors import ConfigurationError, MissingDependencyError

__all__ = ["ProgressWriter", "RecentEpisodes", "RowWriter", "TensorBoardWriter", "writers_per_run"]


class RowWriter(Protocol):
    """Takes one row per iteration."""

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Write the measurements of the iteration that ended at ``step`` environment steps."""

    def close(self) -> None:
        """Finish writing."""


class ProgressWriter:
    """Rows in a ``.jsonl`` file (:class:`~safe_rl.algos.progress.ProgressFile`)."""

    def __init__(self, path: str | Path, resume_at: int = 0) -> None:
        self._file = ProgressFile(path, resume_at)

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Append a row."""
        self._file.append(values, step)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoardWriter:
    """Scalars in TensorBoard's event files, by TensorBoard itself: PyTorch is not needed.

    Args:
        folder: where the event file goes.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError as error:
            raise MissingDependencyError("tensorboard", "jax", "TensorBoardWriter") from error
        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self._writer = EventFileWriter(str(folder))

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Write every number; texts are left out."""
        scalars = [
            self._summary.Value(tag=name, simple_value=float(value))
            for name, value in values.items()
            if isinstance(value, int | float)
        ]
        summary = self._summary(value=scalars)
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()


class RecentEpisodes:
    """Sums over the last iterations that together ended at least ``window`` episodes.

    The device hands over sums per iteration, so whole iterations enter and leave.

    Args:
        constraints: of the run.
        declared: the product's constraints, which name the specification of a per-trigger limit.
        instance_index: which specification each monitor instance belongs to, ``[I]``.
        window: how many episodes.
    """

    def __init__(
        self,
        constraints: ConstraintSet,
        declared: Sequence[Any],
        instance_index: Sequence[int],
        window: int,
    ) -> None:
        self.constraints = constraints
        self.window = window
        own = np.asarray(instance_index, dtype=np.int64)
        self.columns = {
            str(constraint.id): np.flatnonzero(own == constraint.index)
            for constraint in declared
            if constraint.kind == "per_trigger" and str(constraint.id) in constraints.ids
        }
        self.sums: deque[dict[str, list[float]]] = deque()

    def add(self, ended: EndedEpisodes) -> None:
        """Take the episodes that ended in an iteration."""
        if int(ended.episodes) == 0:
            return
        names = EndedEpisodes._fields
        self.sums.append(
            {
                name: np.atleast_1d(np.asarray(value, np.float64)).tolist()
                for name, value in zip(names, ended, strict=True)
            }
        )
        counts = [entry["episodes"][0] for entry in self.sums]
        while sum(counts[1:]) >= self.window:
            self.sums.popleft()
            counts = counts[1:]

    def triggered(self) -> dict[str, float]:
        """Return N per episode of each constraint per trigger, by name."""
        count = sum(entry["episodes"][0] for entry in self.sums)
        if not count:
            return {}
        total = np.sum([entry["triggers"] for entry in self.sums], axis=0) / count
        return {name: float(total[columns].sum()) for name, columns in self.columns.items()}

    def means(self) -> dict[str, float]:
        """Return the means as they are logged; empty before the first episode has ended."""
        if not self.sums:
            return {}

        def summed(name: str) -> NDArray[np.float64]:
            total: NDArray[np.float64] = np.sum([entry[name] for entry in self.sums], axis=0)
            return total

        count = float(summed("episodes")[0])
        row = {
            "rollout/ep_rew_mean": float(summed("reward")[0]) / count,
            "rollout/ep_len_mean": float(summed("length")[0]) / count,
            "rollout/success_rate": float(summed("success")[0]) / count,
        }
        for name, cost in zip(self.constraints.ids, summed("costs") / count, strict=True):
            row[f"cost/{name}"] = float(cost)
        violated, triggered = summed("violations"), summed("triggers")
        for name, columns in self.columns.items():
            # The ratio of sums, never a mean of ratios: no trigger is no pass.
            if triggered[columns].sum() > 0:
                row[f"ratio/{name}"] = float(violated[columns].sum() / triggered[columns].sum())
        return row


def writers_per_run(writers: Sequence[Any], seeds: int | None) -> list[list[RowWriter]]:
    """Return the writers of each run; ``seeds`` is None for a single run without a list of lists.

    Raises:
        ConfigurationError: there is not one list for each seed.
    """
    if seeds is None:
        return [list(writers)]
    if not writers:
        return [[] for _ in range(seeds)]
    if len(writers) != seeds or not all(isinstance(entry, Sequence) for entry in writers):
        raise ConfigurationError(f"{seeds} seeds need {seeds} lists of writers, one for each")
    return [list(entry) for entry in writers]
