"""Where the parts of a LeRobot v3.0 dataset lie, and how they are put there as a whole."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from safe_rl.data.parquet import least_value
from safe_rl.errors import RecordingError
from safe_rl.files import write_whole

CODEBASE_VERSION: Final = "v3.0"
CHUNK_SIZE: Final = 1000
"""Files in a folder ``chunk-000``."""
META: Final = Path("meta")
INFO: Final = META / "info.json"
STATS: Final = META / "stats.json"
TASKS: Final = META / "tasks.parquet"
SAFETY: Final = META / "safety.json"
DATA_PATH: Final = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH: Final = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH: Final = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


def place(number: int) -> dict[str, int]:
    """Chunk and file of the ``number``-th file."""
    return {"chunk_index": number // CHUNK_SIZE, "file_index": number % CHUNK_SIZE}


def data_path(root: Path, number: int) -> Path:
    """The ``number``-th file of frames."""
    return root / DATA_PATH.format(**place(number))


def episodes_path(root: Path, number: int) -> Path:
    """What is known of the episodes in the ``number``-th file of frames."""
    return root / EPISODES_PATH.format(**place(number))


def video_path(root: Path, key: str, number: int) -> Path:
    """The images of a camera for the ``number``-th file of frames."""
    return root / VIDEO_PATH.format(video_key=key, **place(number))


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        RecordingError: it is missing, or something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise RecordingError(f"{path}: a JSON object is expected, but this is {str(found)[:60]}")
    return found


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON object so that a reader, and a killed program, leave no half of it."""
    write_whole(path, json.dumps(document, indent=2, ensure_ascii=False))


def read_info(root: Path) -> dict[str, Any]:
    """Read ``meta/info.json``.

    Raises:
        RecordingError: it is missing or damaged, or of another version than 3.
    """
    info = read_json(root / INFO)
    version = str(info.get("codebase_version", ""))
    if not version.startswith("v3"):
        raise RecordingError(
            f"{root / INFO}: codebase_version is {version!r}, but version 3 is read; convert the "
            "dataset with LeRobot's own converter"
        )
    if not isinstance(info.get("features"), dict):
        raise RecordingError(f"{root / INFO}: no features; the file is damaged")
    return info


def data_files(root: Path) -> list[Path]:
    """Return the files of frames of a dataset, without one that an interrupted recording left.

    Raises:
        RecordingError: there are none.
    """
    files = sorted((root / "data").rglob("*.parquet"))
    if not files:
        raise RecordingError(f"{root}: a LeRobot dataset without data/*/*.parquet")
    if not (root / SAFETY).is_file():
        return files
    least = least_value(files[-1], "episode_index")
    try:
        counted = int(read_info(root).get("total_episodes", 0))
    except RecordingError:  # whoever reads a file will say so
        return files
    return files if least is None or least < counted else files[:-1]


def beside(root: Path, data: Path) -> list[Path]:
    """Return the files that say more about a file of frames: its description and its episodes."""
    own = root / META / "episodes" / data.parent.name / data.name
    episodes = [own] if own.is_file() else sorted((root / META / "episodes").glob("*/*.parquet"))
    return [
        path for path in (root / INFO, root / SAFETY, root / TASKS) if path.is_file()
    ] + episodes


def remove_beyond(root: Path, number: int, videos: tuple[str, ...]) -> None:
    """Remove what an interrupted recording left: halves of files, and files from ``number`` on."""
    kept = {_names(data_path(root, own)) for own in range(number)}
    for path in (root / META).glob("*.tmp"):
        path.unlink()
    for folder in (root / "data", root / META / "episodes", *(root / "videos" / v for v in videos)):
        for path in folder.glob("chunk-*/file-*"):
            if _names(path) not in kept or ".tmp" in path.name:
                path.unlink()


def _names(path: Path) -> tuple[str, str]:
    """Of the folder and of the file, without its suffixes."""
    return path.parent.name, path.name.partition(".")[0]


def hold(root: Path) -> IO[str]:
    """Hold a folder until the file that is returned is closed, or the process ends.

    Raises:
        RecordingError: another program holds it.
    """
    root.mkdir(parents=True, exist_ok=True)
    file = (root / ".recording").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise RecordingError(f"{root}: another program is recording into this folder") from None
    return file
