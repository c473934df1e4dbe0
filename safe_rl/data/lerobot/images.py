"""Images as PNG files in memory. The one place of the data where Pillow is imported."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import MissingDependencyError, RecordingError

Image = NDArray[np.uint8]


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError as error:
        raise MissingDependencyError("pillow", "data", "images in LeRobot datasets") from error


def encode_png(image: Image) -> bytes:
    """Return an image, uint8 ``[H, W, 3]``, as PNG: every pixel is kept."""
    file = BytesIO()
    _pillow().fromarray(np.ascontiguousarray(image)).save(file, "PNG", compress_level=1)
    return file.getvalue()


def decode_image(content: bytes, where: str) -> Image:
    """Return the pixels of an image file, uint8 ``[H, W, 3]``.

    Raises:
        RecordingError: it is no image; ``where`` names it.
    """
    pillow = _pillow()
    try:
        with pillow.open(BytesIO(content), formats=["PNG", "JPEG"]) as image:
            return np.asarray(image.convert("RGB"), np.uint8)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise RecordingError(f"{where}: not a PNG or JPEG image ({error})") from None
