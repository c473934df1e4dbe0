"""The row of an episode in ``meta/episodes``: LeRobot's columns, and ours under ``safety.``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from safe_rl.data.annotations import Annotations
from safe_rl.data.episode import Episode, Placements
from safe_rl.data.lerobot.layout import read_info
from safe_rl.data.lerobot.stats import Stats
from safe_rl.data.parquet import read_table
from safe_rl.errors import RecordingError

COUNTS: Final = ("N", "V", "U", "pending")


@dataclass(frozen=True)
class EpisodeSummary:
    """What a dataset says of one of its episodes, without its frames.

    Attributes:
        index: its number in the dataset.
        steps: its actions.
        instruction: the words that the policy was given.
        seed: of the reset that began it, or ``None``.
        success: whether the task was achieved, or ``None``.
        safe: whether nothing was violated; ``None`` where the dataset has no specifications.
        counts: ``N``, ``V``, ``U`` and ``pending``, each by specification; empty without any.
        reason: why it ended as it did, in the words of whoever recorded it.
        labels: whatever else was noted of it.
    """

    index: int
    steps: int
    instruction: str
    seed: int | None
    success: bool | None
    safe: bool | None
    counts: Mapping[str, tuple[int, ...]]
    reason: str
    labels: Mapping[str, Any]


def safety_row(
    episode: Episode, annotations: Annotations | None, reason: str, labels: Mapping[str, Any]
) -> dict[str, Any]:
    """Return our columns of an episode's row."""
    row: dict[str, Any] = {
        "safety.seed": episode.seed,
        "safety.success": episode.success,
        "safety.terminated": episode.terminated,
        "safety.truncated": episode.truncated,
        "safety.engaged_known": episode.engaged is not None,
        "safety.reason": reason,
        "safety.labels": json.dumps(dict(labels)),
        "safety.placements": json.dumps({k: list(v) for k, v in episode.placements.items()}),
    }
    if annotations is not None:
        row["safety.safe"] = annotations.safe
        row |= {f"safety.{name}": getattr(annotations, name).tolist() for name in COUNTS}
    return row


def placements_of(where: str, row: Mapping[str, Any]) -> Placements:
    """Read where an episode's start placed bodies."""
    found = _object(where, row, "safety.placements")
    return {body: tuple(place) for body, place in found.items()}


def summary(row: Mapping[str, Any]) -> EpisodeSummary:
    """Read a row of ``meta/episodes``."""
    where = f"episode {row['episode_index']}"
    tasks = row.get("tasks") or [""]
    counted = [name for name in COUNTS if row.get(f"safety.{name}") is not None]
    return EpisodeSummary(
        index=int(row["episode_index"]),
        steps=int(row["length"]),
        instruction=str(tasks[0]),
        seed=row.get("safety.seed"),
        success=row.get("safety.success"),
        safe=row.get("safety.safe"),
        counts={name: tuple(row[f"safety.{name}"]) for name in counted},
        reason=str(row.get("safety.reason") or ""),
        labels=_object(where, row, "safety.labels"),
    )


def lerobot_episodes(root: str | Path) -> tuple[EpisodeSummary, ...]:
    """Return what a LeRobot dataset says of its episodes, without reading their frames.

    Raises:
        RecordingError: the dataset is damaged.
        MissingDependencyError: pyarrow is not installed.
    """
    return tuple(summary(row) for row in read_rows(Path(root)))


def read_rows(root: Path, *, stats: bool = False) -> list[dict[str, Any]]:
    """Read the rows of a dataset's complete episodes, in their order.

    Args:
        root: the dataset.
        stats: read the statistics of each episode too.

    Raises:
        RecordingError: rows are missing or damaged.
    """
    total = int(read_info(root).get("total_episodes", 0))
    rows: dict[int, dict[str, Any]] = {}
    for path in sorted((root / "meta" / "episodes").glob("*/*.parquet")):
        table = read_table(path)
        if "episode_index" not in table.column_names or "length" not in table.column_names:
            raise RecordingError(f"{path}: needs the columns episode_index and length")
        wanted = [
            name
            for name in table.column_names
            if not name.startswith("final/") and (stats or not name.startswith("stats/"))
        ]
        for row in table.select(wanted).to_pylist():
            if row["episode_index"] < total:  # what lies beyond was not finished
                rows[row["episode_index"]] = row
    missing = next((index for index in range(total) if index not in rows), None)
    if missing is not None:
        raise RecordingError(f"{root}: meta/episodes has no row of episode {missing} of {total}")
    return [rows[index] for index in range(total)]


def stats_row(stats: Mapping[str, Stats]) -> dict[str, Any]:
    """Return the columns of an episode's statistics."""
    return {
        f"stats/{column}/{name}": value.tolist()
        for column, own in stats.items()
        for name, value in own.items()
    }


def stats_in(row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read what :func:`stats_row` returned."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in row.items():
        if key.startswith("stats/"):
            _, column, name = key.split("/")
            found.setdefault(column, {})[name] = np.asarray(value)
    return found


def _object(where: str, row: Mapping[str, Any], key: str) -> dict[str, Any]:
    try:
        found = json.loads(row.get(key) or "{}")
    except (ValueError, TypeError, RecursionError) as error:
        raise RecordingError(f"{where}: {key} is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise RecordingError(f"{where}: {key} must be a JSON object, but is {str(found)[:60]}")
    return found
