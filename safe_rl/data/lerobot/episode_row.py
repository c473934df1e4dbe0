"""An episode's own row in ``meta/episodes``, with what was seen after its last action."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from safe_rl.data.lerobot.columns import FINAL, PROPOSITIONS
from safe_rl.data.lerobot.description import Description, read_description
from safe_rl.data.lerobot.layout import read_info
from safe_rl.data.lerobot.tables import column_array
from safe_rl.data.parquet import read_table
from safe_rl.errors import RecordingError


class EpisodeRow:
    """The row of one episode.

    Attributes:
        values: its columns, but for statistics and what was seen last.
        has_final: whether the row has what was seen last, as the rows of our own datasets have.
    """

    def __init__(self, root: Path, path: Path, table: Any, number: int) -> None:
        self._root, self._path = root, path
        self._table = table.slice(number, 1)
        plain = [n for n in table.column_names if not n.startswith((FINAL, "stats/"))]
        (self.values,) = self._table.select(plain).to_pylist()
        self.has_final = FINAL + PROPOSITIONS in table.column_names

    def final(self, name: str) -> NDArray[Any]:
        """What was seen after the last action."""
        feature = dict(self._description.features[name])
        if feature["dtype"] == "video":
            feature["dtype"] = "image"
        if FINAL + name not in self._table.column_names:
            raise RecordingError(f"{self._path}: the column {FINAL + name!r} is missing")
        shape = self._description.shapes.get(name)
        values = column_array(str(self._path), self._table, FINAL + name, feature, shape)
        return values[0]

    @cached_property
    def _description(self) -> Description:
        return read_description(self._root)

    def video(self, name: str) -> Path:
        """Where the images of a camera are."""
        template = str(read_info(self._root).get("video_path"))
        chunk, file = (self.values[f"videos/{name}/{key}_index"] for key in ("chunk", "file"))
        return self._root / template.format(video_key=name, chunk_index=chunk, file_index=file)


def rows_beside(root: Path, data: Path, wanted: set[int]) -> dict[int, EpisodeRow]:
    """Find the rows of some episodes: beside the data file as we write them, or anywhere."""
    folder = root / "meta" / "episodes"
    beside = folder / data.parent.name / data.name
    others: Sequence[Path] = sorted(folder.glob("*/*.parquet"))
    found: dict[int, EpisodeRow] = {}
    for path in [beside, *others] if beside in others else others:
        if wanted <= found.keys():
            break
        table = read_table(path)
        if "episode_index" in table.column_names:
            for number, index in enumerate(table.column("episode_index").to_pylist()):
                if index in wanted:
                    found[index] = EpisodeRow(root, path, table, number)
    return found
