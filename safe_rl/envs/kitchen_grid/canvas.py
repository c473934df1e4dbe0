"""A tiny drawing surface in numpy: smooth shapes by supersampling, and capital letters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]

SAMPLES = 3  # per pixel and axis

# 5 rows of 3 pixels per letter, top row first.
_GLYPHS = {
    "A": "010101111101101",
    "B": "110101110101110",
    "C": "011100100100011",
    "D": "110101101101110",
    "E": "111100110100111",
    "F": "111100110100100",
    "G": "011100101101011",
    "H": "101101111101101",
    "I": "111010010010111",
    "K": "101101110101101",
    "L": "100100100100111",
    "N": "110101101101101",
    "O": "010101101101010",
    "P": "110101110100100",
    "R": "110101110101101",
    "S": "011100010001110",
    "T": "111010010010010",
    "U": "101101101101111",
    "V": "101101101101010",
    "W": "101101111111101",
    "Y": "101101010010010",
    " ": "000000000000000",
}


class Canvas:
    """Shapes on a picture of ``height`` x ``width`` pixels; coordinates are pixels, y downwards."""

    def __init__(self, height: int, width: int, background: Colour) -> None:
        self._pixels = np.empty((height * SAMPLES, width * SAMPLES, 3), np.float32)
        self._pixels[:] = background

    def box(
        self, x: float, y: float, width: float, height: float, colour: Colour, radius: float = 0.0
    ) -> None:
        """Fill a rectangle whose upper left corner is (x, y), with rounded corners."""
        pixels, xs, ys = self._window(x, y, x + width, y + height)
        across = np.maximum(np.abs(xs - (x + width / 2)) - (width / 2 - radius), 0.0)
        down = np.maximum(np.abs(ys - (y + height / 2)) - (height / 2 - radius), 0.0)
        pixels[across**2 + down**2 <= radius**2] = colour

    def disc(self, x: float, y: float, radius: float, colour: Colour, hole: float = 0.0) -> None:
        """Fill a disc around (x, y), or a ring where ``hole`` is the inner radius."""
        pixels, xs, ys = self._window(x - radius, y - radius, x + radius, y + radius)
        distance = (xs - x) ** 2 + (ys - y) ** 2
        pixels[(distance <= radius**2) & (distance >= hole**2)] = colour

    def line(
        self, x0: float, y0: float, x1: float, y1: float, colour: Colour, width: float
    ) -> None:
        """Draw a line with round ends."""
        half = width / 2
        pixels, xs, ys = self._window(
            min(x0, x1) - half, min(y0, y1) - half, max(x0, x1) + half, max(y0, y1) + half
        )
        dx, dy = x1 - x0, y1 - y0
        along = ((xs - x0) * dx + (ys - y0) * dy) / max(dx * dx + dy * dy, 1e-9)
        along = np.clip(along, 0.0, 1.0)
        distance = (xs - x0 - along * dx) ** 2 + (ys - y0 - along * dy) ** 2
        pixels[distance <= half**2] = colour

    def text(self, x: float, y: float, words: str, colour: Colour, size: float = 1.5) -> None:
        """Write capital letters; ``size`` is the side of one of a letter's 3 x 5 squares."""
        for position, character in enumerate(words.upper()):
            for square, lit in enumerate(_GLYPHS[character]):
                if lit == "1":
                    row, column = divmod(square, 3)
                    left = x + (4 * position + column) * size
                    self.box(left, y + row * size, size, size, colour)

    def _window(
        self, x0: float, y0: float, x1: float, y1: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        """The samples that a shape can touch, and their coordinates (columns, rows)."""
        height, width = self._pixels.shape[:2]
        left, right = (int(np.clip(v * SAMPLES, 0, width)) for v in (x0 - 1, x1 + 1))
        top, bottom = (int(np.clip(v * SAMPLES, 0, height)) for v in (y0 - 1, y1 + 1))
        xs = (np.arange(left, right) + 0.5)[None, :] / SAMPLES
        ys = (np.arange(top, bottom) + 0.5)[:, None] / SAMPLES
        return self._pixels[top:bottom, left:right], xs, ys

    def picture(self) -> NDArray[np.uint8]:
        """The picture, ``uint8 [height, width, 3]``."""
        height, width = self._pixels.shape[0] // SAMPLES, self._pixels.shape[1] // SAMPLES
        blocks = self._pixels.reshape(height, SAMPLES, width, SAMPLES, 3)
        picture: NDArray[np.uint8] = np.rint(blocks.mean(axis=(1, 3))).astype(np.uint8)
        return picture
