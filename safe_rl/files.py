"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when the block ends; folders are made.

    A reader, and a program that is killed at any moment, find what was there before or all that is
    new. After an error what was there before stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "new", "words.txt")) as file:
    ...         _ = file.write(b"all of it")
    ...     Path(folder, "new", "words.txt").read_text()
    'all of it'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file; see :func:`replacing`."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
