"""The log of a run (:mod:`safe_rl.algos.progress`) as an output format of SB3's logger."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.logger import KVWriter

from safe_rl.algos.progress import ProgressFile, read_progress

__all__ = ["ProgressLog", "read_progress"]


class ProgressLog(ProgressFile, KVWriter):
    """An output format beside SB3's CSV and TensorBoard ones; its arguments are those of the file.

    SB3's CSV writer empties its file when it opens it. This one keeps it.
    """

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        """Append one row: the numbers and texts logged since the last one."""
        self.append(key_values, step)
