"""The log of a run as one JSON object per iteration, which a resumed run continues."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import KVWriter

__all__ = ["ProgressLog", "read_progress"]


class ProgressLog(KVWriter):
    """An output format for SB3's logger, beside its CSV and TensorBoard ones.

    SB3's CSV writer empties its file when it opens it. This one keeps it: with ``resume_at`` it
    drops the rows that a killed run wrote after its last checkpoint, so that the file of a run that
    was killed and resumed equals that of one left alone, but for the clock (``time/fps``).

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

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        """Append one row: the numbers and texts logged since the last one."""
        row: dict[str, Any] = {"step": step}
        for key, value in sorted(key_values.items()):
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
