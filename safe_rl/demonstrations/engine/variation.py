"""What is drawn for each attempt, and how the draws are distributed.

A family names parameters: choices (such as the manner) and ranges (such as the speed, in equal
cells). A ``Mixture`` gives each option or cell a weight; steering changes the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near

CELLS = 4
"""Cells of a range."""

Draw = Mapping[str, str | float]


@dataclass(frozen=True)
class Choice:
    """One of several options; ``weights`` are those of an unsteered draw."""

    name: str
    options: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many options there are."""
        return len(self.options)

    def cell(self, value: str | float) -> int:
        """The number of an option."""
        return self.options.index(str(value))

    def value(self, cell: int, rng: np.random.Generator) -> str | float:
        """The option of that number."""
        return self.options[cell]

    def label(self, cell: int) -> str:
        """The option, for tables."""
        return self.options[cell]


@dataclass(frozen=True)
class Range:
    """A number between two bounds, uniform within each of ``CELLS`` cells."""

    name: str
    low: float
    high: float

    size = CELLS
    weights = (1.0,) * CELLS

    def cell(self, value: str | float) -> int:
        """The cell that a value lies in."""
        part = (float(value) - self.low) / (self.high - self.low)
        return int(np.clip(part * CELLS, 0, CELLS - 1))

    def value(self, cell: int, rng: np.random.Generator) -> str | float:
        """A value from a cell."""
        part = (cell + float(rng.uniform())) / CELLS
        return self.low + part * (self.high - self.low)

    def label(self, cell: int) -> str:
        """The cell's bounds, for tables."""
        width = (self.high - self.low) / CELLS
        return f"{self.low + cell * width:.3g} to {self.low + (cell + 1) * width:.3g}"


Parameter = Choice | Range


@dataclass(frozen=True)
class Mixture:
    """A distribution over a family's parameters, each drawn by itself.

    Attributes:
        parameters: in the order in which they are drawn.
        weights: parameter to its options' or cells' weights, each summing to 1.
    """

    parameters: tuple[Parameter, ...]
    weights: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(
        cls, parameters: Sequence[Parameter], changed: Mapping[str, Mapping[str, float]] | None
    ) -> Mixture:
        """The parameters' own weights, but for the choices whose weights are ``changed``.

        Raises:
            ConfigurationError: an unknown choice or option, or weights that are no weights.
        """
        weights = {}
        choices = {p.name: p for p in parameters if isinstance(p, Choice)}
        for name in changed or {}:
            if name not in choices:
                raise ConfigurationError(
                    f"the family has no choice {name!r}{near(name, choices)}; it has: "
                    f"{', '.join(choices)}"
                )
        for parameter in parameters:
            found = np.array(parameter.weights, np.float64)
            given = (changed or {}).get(parameter.name)
            if given is not None and isinstance(parameter, Choice):
                for option in given:
                    if option not in parameter.options:
                        raise ConfigurationError(
                            f"{parameter.name} has no option {option!r}"
                            f"{near(option, parameter.options)}; it has: "
                            f"{', '.join(parameter.options)}"
                        )
                found = np.array([float(given.get(option, 0.0)) for option in parameter.options])
            if not np.isfinite(found).all() or (found < 0).any() or found.sum() <= 0:
                raise ConfigurationError(
                    f"the weights of {parameter.name} must be at least 0, and one above it, but "
                    f"are {found.tolist()}"
                )
            weights[parameter.name] = found / found.sum()
        return cls(tuple(parameters), weights)

    def draw(self, rng: np.random.Generator) -> dict[str, str | float]:
        """Draw a value for every parameter."""
        found = {}
        for parameter in self.parameters:
            cell = int(rng.choice(parameter.size, p=self.weights[parameter.name]))
            found[parameter.name] = parameter.value(cell, rng)
        return found
