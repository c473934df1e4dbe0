"""Finding recordings on disk, and the mark by which one is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from safe_rl.data.demonstrations import load_demonstrations
from safe_rl.data.episode import Episode
from safe_rl.data.lerobot import load_lerobot
from safe_rl.data.lerobot.layout import INFO, beside, data_files
from safe_rl.data.minari import METADATA, is_minari, load_minari
from safe_rl.data.replay import Replay
from safe_rl.data.store import SUFFIX, load_episodes
from safe_rl.errors import RecordingError

Kind = Literal["episodes", "lerobot", "demonstrations", "minari"]
DEMONSTRATIONS: Final = (".hdf5", ".h5")


@dataclass(frozen=True, order=True)
class Recording:
    """One file of recorded episodes.

    Attributes:
        path: the file; of a LeRobot dataset, one of its data files.
        kind: ``"episodes"`` (our own format), ``"lerobot"``, ``"minari"``, or ``"demonstrations"``
            (HDF5 files of robomimic and LIBERO, which hold simulator states).
        root: the folder of a LeRobot dataset.
    """

    path: Path
    kind: Kind
    root: Path | None = None

    def digest(self) -> str:
        """Return a SHA-256 of what the file holds, and of the dataset's description.

        Raises:
            RecordingError: a file cannot be read.
        """
        mark = hashlib.sha256(self.kind.encode())
        paths = [self.path]
        if self.kind == "minari":
            paths.append(self.path.with_name(METADATA))
        if self.root is not None:
            paths += beside(self.root, self.path)
        for path in paths:
            try:
                with path.open("rb") as file:
                    mark.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise RecordingError(f"{path}: cannot be read ({error.strerror})") from None
        return mark.hexdigest()


def find_recordings(paths: Iterable[str | Path]) -> list[Recording]:
    """Return the recordings that the paths name, sorted, each once.

    A file is taken by its suffix; a folder is searched for ``*.episodes.npz``, ``*.hdf5``, ``*.h5``
    and LeRobot datasets (folders with ``meta/info.json``). Minari's ``main_data.hdf5`` is known by
    the ``metadata.json`` beside it.

    Raises:
        RecordingError: a path does not exist, is of no known kind, or holds no recording.
    """
    found: set[Recording] = set()
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise RecordingError(f"{path}: no such file or folder")
        own = _in_folder(path) if path.is_dir() else [_of_file(path)]
        if not own:
            raise RecordingError(
                f"{path}: no recordings in this folder; it is searched for *{SUFFIX} (eval.py "
                "writes them with eval.record=true), *.hdf5, *.h5 and LeRobot datasets"
            )
        found.update(own)
    return sorted(found)


def load_recording(
    recording: Recording, replay: Replay | None = None, *, observations: bool = True
) -> tuple[Episode, ...]:
    """Read the episodes of a recording, whatever wrote it.

    Args:
        recording: from :func:`find_recordings`.
        replay: the simulator that labels demonstrations; without one they have no propositions.
        observations: read what a policy saw, which may be many images.

    Raises:
        RecordingError: the file is damaged.
        MissingDependencyError: what reads it is not installed.
    """
    if recording.kind == "episodes":
        return load_episodes(recording.path)
    if recording.kind == "lerobot":
        return load_lerobot(recording.path, recording.root, observations=observations)
    if recording.kind == "minari":
        return load_minari(recording.path, observations=observations)
    return load_demonstrations(recording.path, replay, observations=observations)


def _of_file(path: Path) -> Recording:
    if path.suffix == ".npz":
        return Recording(path, "episodes")
    if path.suffix in DEMONSTRATIONS:
        return Recording(path, "minari" if is_minari(path) else "demonstrations")
    if path.suffix == ".parquet":
        for root in path.parents:
            if (root / INFO).is_file():
                return Recording(path, "lerobot", root)
        raise RecordingError(f"{path}: belongs to no LeRobot dataset (no {INFO} above it)")
    raise RecordingError(
        f"{path}: of no known kind; recordings are *{SUFFIX}, *.hdf5, *.h5 and LeRobot datasets"
    )


def _in_folder(folder: Path) -> list[Recording]:
    found = [Recording(path, "episodes") for path in folder.rglob(f"*{SUFFIX}")]
    for suffix in DEMONSTRATIONS:
        found += [_of_file(path) for path in folder.rglob(f"*{suffix}")]
    for info in folder.rglob(str(INFO)):
        root = info.parent.parent
        found += [Recording(path, "lerobot", root) for path in data_files(root)]
    return found
