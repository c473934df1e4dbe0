"""The log of a run as one JSON object per iteration, which a resumed run continues."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ProgressFile", "read_progress"]


class ProgressFile:
    """A file of rows. With ``resume_at`` it keeps the rows that a run wrote up to a checkpoint.

    It drops those that a killed run wrote after its last checkpoint, so that the file of a run that
    was killed and resumed equals that of one left alone, but for the clock (``time/...``).

    Args:
        path: the ``.jsonl`` file.
        resume_at: steps done at the checkpoint that the run goes on from; 0 starts a new file.
    """

    def __init__(self, path: str | Path, resume_at: int = 0) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = [row for row in read_progress(self.path) if row["step"] <= resume_at]
        partial = self.path.with_name(f".{self.path.name}.partial")
        partial.write_text("".join(json.dumps(row) + "\n" for row in kept))
        os.replace(partial, self.path)
        self.file = open(self.path, "a", encoding="utf-8")

    def append(self, values: Mapping[str, Any], step: int) -> None:
        """Append one row: its numbers and texts; other values are left out."""
        row: dict[str, Any] = {"step": step}
        for key, value in sorted(values.items()):
            if isinstance(value, np.generic):
                value = value.item()
            if value is None or isinstance(value, bool | int | float | str):
                row[key] = value
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def read_progress(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a log; a last line that was cut off by a kill is left out.

    A file that does not exist has no rows.
    """
    path = Path(path)
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows
