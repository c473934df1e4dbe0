"""The log of a run: a file of JSON lines that a killed run leaves behind and a new one continues.

The first line holds the run's settings, every further one a round. A line is appended in one write,
so that a kill can tear at most the last one, which is then dropped.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.feedback.refinement.rounds import Round, round_from_json

FORMAT = 1
_BEGINNING = b'{"format": '  # of what this module writes: nothing else is ever cut
_OTHER_FILE = "name another file, or remove it"


class RunLog:
    """An open log, locked against other processes.

    Args:
        path: the file; it and its folder are made where they are missing.
        settings: what decides the rounds, as plain data. A log of other settings is not continued.

    Attributes:
        rounds: problem to the rounds that the file already held, in order.

    Raises:
        ConfigurationError: the file is of another run, or another process writes it.
        RecordingError: the file is damaged before its last line, or no log.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._lock_file()
            found = self.path.read_bytes()
            kept = _whole_lines(found, self.path)
            if not kept and not _BEGINNING.startswith(found[: len(_BEGINNING)]):
                raise RecordingError(f"{self.path} is no log of refinement rounds; {_OTHER_FILE}")
            self.rounds = self._continued(kept, settings) if kept else {}
            os.ftruncate(self._file, sum(len(line) for line in kept))
            if not kept:
                self._write({"format": FORMAT, "settings": dict(settings)})
        except BaseException:
            os.close(self._file)
            raise

    def append(self, new: Round) -> None:
        """Write one round; many threads may."""
        self._write(new.to_json())

    def close(self) -> None:
        """Flush to the disk and release the file."""
        os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, data: Mapping[str, Any]) -> None:
        line = json.dumps(data, allow_nan=False).encode() + b"\n"
        with self._lock:
            while line:  # a regular file takes all at once, save on a full disk, which raises next
                line = line[os.write(self._file, line) :]

    def _lock_file(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"{self.path} is being written by another run; wait for it, or name another file"
            ) from None

    def _continued(self, lines: list[bytes], settings: Mapping[str, Any]) -> dict[str, list[Round]]:
        head = json.loads(lines[0])
        if not isinstance(head, dict) or head.get("format") != FORMAT or "settings" not in head:
            raise RecordingError(f"{self.path} is no log of refinement rounds; {_OTHER_FILE}")
        wanted = json.loads(json.dumps(dict(settings)))
        found = head["settings"]
        other = sorted(
            key for key in {*wanted, *found} if wanted.get(key, ...) != found.get(key, ...)
        )
        if other:
            shown = "; ".join(
                f"{key}: {found.get(key)!r:.60} there, {wanted.get(key)!r:.60} now" for key in other
            )
            raise ConfigurationError(
                f"{self.path} is of a run with other settings ({shown}); "
                "repeat those settings to continue it, or name another file"
            )
        return _rounds(lines, self.path)


def read_log(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, list[Round]]]:
    """Return the settings and the rounds of each problem of a log, without changing it.

    Raises:
        RecordingError: there is no such file, it is damaged before its last line, or it is no log.
    """
    try:
        lines = _whole_lines(Path(path).read_bytes(), Path(path))
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    head = json.loads(lines[0]) if lines else None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise RecordingError(f"{path} is no log of refinement rounds")
    return dict(head["settings"]), _rounds(lines, Path(path))


def _whole_lines(data: bytes, path: Path) -> list[bytes]:
    """The lines that hold JSON; a last one that is torn is left out."""
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            whole = line.endswith(b"\n") and json.loads(line) is not None
        except ValueError:
            whole = False
        if not whole:
            if number < len(lines):
                raise RecordingError(
                    f"{path}, line {number}: no JSON; the file is damaged, name another one"
                )
            return lines[:-1]
    return lines


def _rounds(lines: list[bytes], path: Path) -> dict[str, list[Round]]:
    rounds: dict[str, list[Round]] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            one = round_from_json(json.loads(line))
        except (RecordingError, TypeError, AttributeError) as error:
            raise RecordingError(f"{path}, line {number}: {error}") from None
        earlier = rounds.setdefault(one.problem, [])
        if one.number != len(earlier) + 1 or (earlier and earlier[-1].stopped):
            raise RecordingError(
                f"{path}, line {number}: round {one.number} of {one.problem} does not follow "
                f"the {len(earlier)} before it"
            )
        earlier.append(one)
    return rounds
