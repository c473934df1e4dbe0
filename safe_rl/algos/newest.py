"""Which checkpoint of a folder a run goes on from: the newest that can be read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from safe_rl.errors import CheckpointError

__all__ = ["newest_readable"]


def newest_readable(
    folder: str | Path, paths: Sequence[Path], read: Callable[[Path], object]
) -> Path | None:
    """Return the last of ``paths`` that can be read, or None if there are none.

    A damaged one is passed over with a warning, and the one before it is taken.

    Args:
        folder: where they are, for the message.
        paths: the checkpoints, oldest first.
        read: raises :class:`~safe_rl.errors.CheckpointError` for a damaged one.

    Raises:
        CheckpointError: there are checkpoints, and all are damaged.
    """
    for path in reversed(paths):
        try:
            read(path)
        except CheckpointError as error:
            warnings.warn(f"passing over a damaged checkpoint: {error}", stacklevel=3)
        else:
            return path
    if paths:
        raise CheckpointError(
            f"all {len(paths)} checkpoints in {folder} are damaged; start the run again in an "
            f"empty folder"
        )
    return None
