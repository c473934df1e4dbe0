"""What all episodes of a dataset have in common: ``meta/info.json`` and ``meta/safety.json``.

``info.json`` is LeRobot's. ``safety.json`` holds what LeRobot has no place for: the environment,
the objects, the specifications as they were, and the shapes of what is kept as flat vectors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

from safe_rl.data.annotations import Annotations
from safe_rl.data.episode import Episode
from safe_rl.data.lerobot import columns
from safe_rl.data.lerobot.layout import (
    CHUNK_SIZE,
    CODEBASE_VERSION,
    DATA_PATH,
    INFO,
    SAFETY,
    VIDEO_PATH,
    read_info,
    read_json,
)
from safe_rl.data.lerobot.rules import specs_from_json, specs_to_json
from safe_rl.errors import RecordingError
from safe_rl.specs import SpecSet

FORMAT: Final = "safe-rl lerobot"
VERSION: Final = 1
INDICES: Final = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}


@dataclass(frozen=True)
class Description:
    """What every episode of a dataset has to fit.

    Attributes:
        fps: frames in a second.
        robot_type: LeRobot's name of the robot.
        env_id: Gymnasium id, or whatever names the environment.
        objects: property to objects, for ``forall``.
        features: column to its type, shape and names, as in ``info.json``.
        shapes: column to the shape of what it holds at a frame, which a vector cannot tell.
        specs: the specifications behind the ``safety.*`` columns, as plain data, or ``None``.
    """

    fps: int
    robot_type: str
    env_id: str
    objects: Mapping[str, list[str]]
    features: Mapping[str, Mapping[str, Any]]
    shapes: Mapping[str, list[int]]
    specs: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        episode: Episode,
        annotations: Annotations | None,
        *,
        fps: int,
        robot_type: str,
        video: bool,
    ) -> Description:
        """Describe a dataset of which this is an episode."""
        arrays = {**columns.seen(episode, annotations), **columns.done(episode)}
        shapes = {name: list(array.shape[1:]) for name, array in arrays.items()}
        features: dict[str, dict[str, Any]] = {}
        for name, array in arrays.items():
            camera = columns.is_image(name)
            features[name] = {
                "dtype": ("video" if video else "image") if camera else str(array.dtype),
                "shape": shapes[name] if camera else [prod(shapes[name])],
                "names": columns.names_of(name, episode, annotations),
            }
            if camera and video:
                features[name]["info"] = _video_info(fps, shapes[name])
        for name, dtype in INDICES.items():
            features[name] = {"dtype": dtype, "shape": [1], "names": None}
        return cls(
            fps=fps,
            robot_type=robot_type,
            env_id=episode.env_id,
            objects={kind: list(names) for kind, names in episode.objects.items()},
            features=features,
            shapes=shapes,
            specs=None if annotations is None else specs_to_json(annotations.specs),
        )

    @property
    def videos(self) -> tuple[str, ...]:
        """The columns that are kept as videos."""
        return tuple(name for name, own in self.features.items() if own["dtype"] == "video")

    def info(self, episodes: int, frames: int, tasks: int) -> dict[str, Any]:
        """Return ``meta/info.json`` of a dataset with so many episodes."""
        return {
            "codebase_version": CODEBASE_VERSION,
            "robot_type": self.robot_type,
            "fps": self.fps,
            "total_episodes": episodes,
            "total_frames": frames,
            "total_tasks": tasks,
            "chunks_size": CHUNK_SIZE,
            "splits": {"train": f"0:{episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self.videos else None,
            "features": self.features,
        }

    def safety(self) -> dict[str, Any]:
        """Return ``meta/safety.json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "env_id": self.env_id,
            "objects": self.objects,
            "shapes": self.shapes,
            "specs": self.specs,
        }

    def spec_set(self) -> SpecSet | None:
        """Return the specifications, or ``None``."""
        return None if self.specs is None else specs_from_json(self.specs)

    def check(self, other: Description, where: str) -> None:
        """Raise unless an episode described by ``other`` belongs to this dataset.

        Raises:
            RecordingError: names the first difference.
        """
        for name in ("fps", "robot_type", "env_id", "objects", "features", "shapes", "specs"):
            one, two = _plain(getattr(self, name)), _plain(getattr(other, name))
            if one != two:
                raise RecordingError(
                    f"{where}: {name} differ from those of the dataset: {_difference(one, two)}; "
                    "record them into another folder"
                )


def read_description(root: Path) -> Description:
    """Read how a dataset describes itself.

    Raises:
        RecordingError: it is damaged, or of a later version.
    """
    info, path = read_info(root), root / SAFETY
    safety = read_json(path) if path.is_file() else dict(info.get("safety") or {})
    if safety.get("format", FORMAT) != FORMAT or safety.get("version", VERSION) != VERSION:
        raise RecordingError(
            f"{path}: {safety.get('format')!r}, version {safety.get('version')!r}, but this "
            f"program reads {FORMAT!r}, version {VERSION}"
        )
    where = path if path.is_file() else root / INFO
    return Description(
        fps=_fps(root, info),
        robot_type=str(info.get("robot_type") or ""),
        env_id=str(safety.get("env_id") or info.get("robot_type") or ""),
        objects=_lists(where, safety.get("objects", {})),
        features=info["features"],
        shapes=_lists(where, safety.get("shapes", {}), "shapes"),
        specs=safety.get("specs"),
    )


def _fps(root: Path, info: Mapping[str, Any]) -> int:
    fps = info.get("fps")
    if not isinstance(fps, int) or fps < 1:
        raise RecordingError(f"{root / INFO}: fps must be a whole number from 1 on, but is {fps!r}")
    return fps


def _lists(where: Path, found: Any, key: str = "objects") -> dict[str, list[Any]]:
    if not isinstance(found, dict) or not all(isinstance(v, list) for v in found.values()):
        raise RecordingError(
            f"{where}: safety.{key} must map names to lists, but is {str(found)[:60]}"
        )
    return {str(name): list(values) for name, values in found.items()}


def _plain(value: Any) -> Any:
    """The value as a file would give it back."""
    return json.loads(json.dumps(value))


def _difference(one: Any, two: Any) -> str:
    if isinstance(one, dict) and isinstance(two, dict):
        for key in dict.fromkeys([*one, *two]):
            if one.get(key) != two.get(key):
                return f"{key!r} is {_short(two.get(key))}, there {_short(one.get(key))}"
    return f"{_short(two)}, there {_short(one)}"


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value))
    return "absent" if value is None else text if len(text) <= 80 else text[:77] + "..."


def _video_info(fps: int, shape: list[int]) -> dict[str, Any]:
    return {
        "video.height": shape[0],
        "video.width": shape[1],
        "video.codec": "mpeg4",
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": shape[2],
        "has_audio": False,
    }
