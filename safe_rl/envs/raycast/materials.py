"""What a surface is made of, and how its colour is found: palettes, patterns, colour spaces.

Colours are given as people write them, in sRGB; light adds up in linear values, so everything is
converted on the way in and on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

Array: TypeAlias = NDArray[np.float32]
Color: TypeAlias = str | Sequence[float]


@dataclass(frozen=True)
class Material:
    """A surface's look.

    Attributes:
        color: sRGB, ``"#rrggbb"`` or three values in [0, 1].
        gloss: 0 is matt, 1 has the sharp highlights of polished plastic.
        metal: 0 to 1; how much the surroundings show in it, tinted by ``color``.
        opacity: 1 hides what is behind; below 1 it is glass of that tint, which also reflects
            at its edges and throws a fainter shadow.
        pattern: ``"checker"``, ``"wood"`` (grain along the local x axis), ``"tiles"`` (thin joints)
            or ``None``; it is drawn in the shape's own x and y.
        pattern_color: second colour of the pattern.
        pattern_size: side of a square or a tile, or width of a plank, in scene units.
    """

    color: Color = "#b0b0b0"
    gloss: float = 0.2
    metal: float = 0.0
    opacity: float = 1.0
    pattern: Literal["checker", "wood", "tiles"] | None = None
    pattern_color: Color = "#808080"
    pattern_size: float = 0.1

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("gloss", "metal", "opacity"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ConfigurationError(f"Material.{name} must be in [0, 1], got {value!r}")
        if self.pattern not in (None, "checker", "wood", "tiles"):
            raise ConfigurationError(
                f"Material.pattern must be 'checker', 'wood', 'tiles' or None, got {self.pattern!r}"
            )
        if not self.pattern_size > 0:
            raise ConfigurationError(
                f"Material.pattern_size must be positive, got {self.pattern_size!r}"
            )
        linear(self.color)
        linear(self.pattern_color)


def linear(color: Color) -> Array:
    """Convert an sRGB colour to linear values.

    Args:
        color: ``"#rrggbb"`` or three values in [0, 1].

    Returns:
        ``[3]``, float32.

    Raises:
        ConfigurationError: the text or the values are not a colour.
    """
    try:
        if isinstance(color, str):
            text = color.removeprefix("#")
            values = (
                [int(text[at : at + 2], 16) / 255 for at in (0, 2, 4)] if len(text) == 6 else []
            )
        else:
            values = [float(value) for value in color]
    except ValueError:
        values = []
    if len(values) != 3 or not all(0 <= value <= 1 for value in values):
        raise ConfigurationError(
            f"a colour is '#rrggbb' or three values from 0 to 1, got {color!r}"
        )
    srgb = np.asarray(values)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4).astype(
        np.float32
    )


def display(light: Array) -> Array:
    """Convert linear light to sRGB values in [0, 1], with a soft shoulder for bright spots.

    Values up to 0.7 stay exact; above, they approach 1 instead of being cut off, so that a
    highlight keeps its shape.

    Args:
        light: any shape, not negative.
    """
    knee = np.float32(0.7)
    over = np.maximum(light - knee, 0) / (1 - knee)
    value = np.minimum(light, knee) + (1 - knee) * over / (1 + over)
    return np.where(value <= 0.0031308, 12.92 * value, 1.055 * value ** np.float32(1 / 2.4) - 0.055)


def dot(a: Array, b: Array) -> Array:
    """Inner products of columns: ``[3, n]`` and ``[3, n]`` to ``[n]``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def base_color(material: Material, points: Array) -> Array:
    """The colour of a material at points of its surface, before any light.

    Args:
        material: the material.
        points: ``[3, n]``, in the shape's own frame.

    Returns:
        ``[3, n]`` linear, or ``[3, 1]`` where it is the same everywhere.
    """
    first = linear(material.color)[:, None]
    if material.pattern is None:
        return first
    second = linear(material.pattern_color)[:, None]
    x, y = points[0] / material.pattern_size, points[1] / material.pattern_size
    if material.pattern == "checker":
        share = (np.floor(x) + np.floor(y)) % 2
    elif material.pattern == "tiles":
        joint = np.float32(0.04)
        share = ((x % 1 < joint) | (y % 1 < joint)).astype(np.float32)
    else:
        share = _grain(x, y)
    return first + (second - first) * share


def _grain(x: Array, y: Array) -> Array:
    """How dark wood is, 0 to 1, on planks one unit wide that run along x."""
    plank = np.floor(y)
    tone = (np.sin(plank * 12.9898) * 43758.5453) % 1
    across = y - plank
    along = x * 0.35 + tone * 17
    wave = across * 9 + 1.3 * np.sin(along) + 0.6 * np.sin(2.3 * along + 4 * across)
    share = 0.32 + 0.22 * np.sin(wave * 2.1) + 0.10 * np.sin(wave * 5.3 + 2) + 0.25 * (tone - 0.5)
    seam = np.clip(1 - np.minimum(across, 1 - across) / 0.02, 0, 1)
    return np.clip(share + 0.5 * seam, 0, 1).astype(np.float32)
