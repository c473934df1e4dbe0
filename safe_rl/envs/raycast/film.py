"""Captions on frames, and short films as animated GIFs; both need Pillow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from PIL.Image import Image

Frame = NDArray[np.uint8]

_STRIP, _TEXT, _QUIET, _ALARM = "#20242a", "#f2f2f2", "#9aa4af", "#ff5a4f"


def caption(
    frame: Frame,
    text: str,
    step: int | None = None,
    violated: Sequence[str] = (),
    below: bool = True,
) -> Frame:
    """Add a strip of two lines: what happens, and which specifications are violated.

    The strip has the same height whether or not something is violated, so that all frames of a
    film fit together. What does not fit the width is cut off and ends in dots.

    Args:
        frame: ``[H, W, 3]``, uint8; stays as it is.
        text: the task, say.
        step: number shown before it.
        violated: names of the violated specifications; shown in red, none in grey.
        below: the strip goes below the frame, or above.

    Returns:
        ``[H + strip, W, 3]``, uint8.

    Raises:
        ConfigurationError: the frame is not an RGB image.
        MissingDependencyError: Pillow is not installed.
    """
    _check_frame(frame, "caption()")
    image, draw, font = (_pillow(name) for name in ("Image", "ImageDraw", "ImageFont"))
    width = frame.shape[1]
    size = max(10, round(width / 25))
    letters = font.load_default(size)
    line, margin = round(1.35 * size), size // 2
    strip = image.new("RGB", (width, 2 * line + margin), _STRIP)
    pen = draw.Draw(strip)
    title = text if step is None else f"step {step} \u00b7 {text}"
    status = "violated: " + ", ".join(violated) if violated else "no violation"
    for row, (words, color) in enumerate(
        ((title, _TEXT), (status, _ALARM if violated else _QUIET))
    ):
        fitted = _fitted(words, width - 2 * margin, lambda part: pen.textlength(part, font=letters))
        pen.text((margin, margin // 2 + row * line), fitted, fill=color, font=letters)
    if violated:
        pen.rectangle((0, 0, max(2, width // 100), strip.height), fill=_ALARM)
    parts = [frame, np.asarray(strip, dtype=np.uint8)]
    return np.concatenate(parts if below else parts[::-1])


def write_film(path: str | Path, frames: Iterable[Frame], fps: float = 10.0) -> Path:
    """Write frames as an endless GIF; the file appears whole or not at all.

    All frames share one palette, chosen from frames all over the film, and are not dithered:
    what stands still keeps its colours, and only what changes is stored. Frames that are equal to
    the one before become a longer showing of that one.

    Args:
        path: of the file; its folder is made if need be.
        frames: ``[H, W, 3]`` each, uint8, all of one size.
        fps: frames per second, up to 50; GIF counts time in hundredths of a second, and the
            nearest such delay is taken.

    Returns:
        ``path``.

    Raises:
        ConfigurationError: no frames, frames of different sizes, or ``fps`` out of its range.
        MissingDependencyError: Pillow is not installed.
    """
    if not 0 < fps <= 50:
        raise ConfigurationError(f"write_film: fps must be above 0 and at most 50, got {fps!r}")
    film = list(frames)
    if not film:
        raise ConfigurationError("write_film: a film needs at least one frame, got none")
    for number, frame in enumerate(film):
        _check_frame(frame, f"write_film: frame {number}")
        if frame.shape != film[0].shape:
            raise ConfigurationError(
                f"write_film: frame {number} has shape {frame.shape}, the first one has "
                f"{film[0].shape}; all frames of a film have the same size"
            )
    image = _pillow("Image")
    palette = _palette(film)
    still = image.Dither.NONE
    pages = [image.fromarray(frame).quantize(palette=palette, dither=still) for frame in film]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        pages[0].save(
            scratch,
            format="GIF",
            save_all=True,
            append_images=pages[1:],
            duration=10 * max(2, round(100 / fps)),
            loop=0,
            disposal=1,
            optimize=True,
        )
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    return path


def _palette(film: list[Frame]) -> Image:
    """A palette image of at most 255 colours; one place stays free for "unchanged"."""
    image = _pillow("Image")
    chosen = np.unique(np.linspace(0, len(film) - 1, 8).round().astype(int))
    pixels = np.concatenate([film[number][::2, ::2].reshape(-1, 3) for number in chosen])
    colors, counts = np.unique(pixels, axis=0, return_counts=True)
    # A colour weighs the square root of its area, or small things would get no colour of their own.
    sample = np.repeat(colors, np.ceil(np.sqrt(counts)).astype(int), axis=0)[None]
    return image.fromarray(np.ascontiguousarray(sample)).quantize(
        colors=255, method=image.Quantize.MEDIANCUT, kmeans=2
    )


def _fitted(words: str, width: float, length: Any) -> str:
    """As much of ``words`` as fits into ``width`` pixels."""
    if length(words) <= width:
        return words
    kept = words
    while kept and length(kept + "...") > width:
        kept = kept[:-1]
    return kept.rstrip(" ,") + "..."


def _check_frame(frame: Frame, where: str) -> None:
    array = np.asarray(frame)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or not array.size:
        raise ConfigurationError(
            f"{where}: a frame is a uint8 array [height, width, 3], "
            f"got {array.dtype} of shape {array.shape}"
        )


def _pillow(module: str) -> Any:
    try:
        return import_module(f"PIL.{module}")
    except ImportError as error:
        raise MissingDependencyError("pillow", "jax", "Drawing captions and films") from error
