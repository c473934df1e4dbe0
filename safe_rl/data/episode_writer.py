"""Writing our own files of episodes while a recording goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from safe_rl.data.episode import Episode
from safe_rl.data.store import SUFFIX, save_episodes
from safe_rl.errors import RecordingError


class EpisodeWriter:
    """Writes episodes as they end, so many to a file, into one folder.

    The files of an earlier recording in the folder are removed first: a folder is one recording.
    """

    def __init__(self, folder: str | Path, per_file: int = 50) -> None:
        """Begin a recording in ``folder``, which is made if need be.

        Raises:
            RecordingError: ``per_file`` is less than 1.
        """
        if per_file < 1:
            raise RecordingError(f"a file holds at least one episode, got per_file={per_file}")
        self.folder = Path(folder)
        self.paths: list[Path] = []
        self._per_file = per_file
        self._waiting: list[Episode] = []
        for old in self.folder.glob(f"part_*{SUFFIX}"):
            old.unlink()

    def add(self, episode: Episode) -> None:
        """Take in an episode; a full file is written at once."""
        self._waiting.append(episode)
        if len(self._waiting) >= self._per_file:
            self.flush()

    def extend(self, episodes: Iterable[Episode]) -> None:
        """Take in several."""
        for episode in episodes:
            self.add(episode)

    def flush(self) -> None:
        """Write what is waiting. The last file is written by the last call."""
        if self._waiting:
            path = self.folder / f"part_{len(self.paths):05d}{SUFFIX}"
            self.paths.append(save_episodes(path, self._waiting))
            self._waiting = []
