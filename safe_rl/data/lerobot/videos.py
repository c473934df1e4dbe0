"""Images of a camera as a video. The one place of the data where OpenCV is imported.

A video is small and not exact: what is read differs from what was written by a few grey levels.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import MissingDependencyError, RecordingError

CODEC = "mp4v"


def _opencv() -> Any:
    try:
        return import_module("cv2")
    except ImportError as error:
        raise MissingDependencyError(
            "opencv-python-headless", "robosuite", "videos in LeRobot datasets"
        ) from error


def write_video(path: Path, images: NDArray[np.uint8], fps: int) -> None:
    """Write images, uint8 ``[T, H, W, 3]``, as an MPEG-4 video, as a whole.

    Raises:
        RecordingError: OpenCV cannot write it here.
    """
    opencv = _opencv()
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.stem}.tmp{path.suffix}")
    size = (images.shape[2], images.shape[1])
    writer = opencv.VideoWriter(str(scratch), opencv.VideoWriter_fourcc(*CODEC), fps, size)
    if not writer.isOpened():
        raise RecordingError(
            f"{path}: OpenCV cannot write MPEG-4 videos here; record images (video=False)"
        )
    for image in images:
        writer.write(np.ascontiguousarray(image[..., ::-1]))
    writer.release()
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    scratch.replace(path)


def read_video(path: Path) -> NDArray[np.uint8]:
    """Read all images of a video, uint8 ``[T, H, W, 3]``.

    Raises:
        RecordingError: it is missing or damaged.
    """
    opencv = _opencv()
    reader = opencv.VideoCapture(str(path))
    images = []
    try:
        while (found := reader.read())[0]:
            images.append(found[1][..., ::-1])
    finally:
        reader.release()
    if not images:
        raise RecordingError(f"{path}: not a video that OpenCV can read, or missing")
    return np.stack(images)
