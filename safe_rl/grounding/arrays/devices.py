"""The smoothing devices of SafeManip (appendix F.2, table 5) on arrays.

Each function takes the device's state and this frame's reading, arrays of one shape, and returns
``(state, value)``. They compute, element by element, what the classes of
:mod:`safe_rl.grounding.devices` compute. Counts keep the integer type that they are given.

The first frame of an episode: a debounce starts from ``Debounce(reading, 0)``, an age counter and a
timeout from 0, an edge from the first level. Stepping that state with the same first reading gives
what the scalar ``reset`` returns, so the first frame needs no case of its own.

>>> import numpy as np
>>> held = Debounce(np.array([True]), np.array([0], np.int16))
>>> for reading in (False, True, False, False):
...     held, value = symmetric_debounce(held, np.array([reading]), window=2)
...     print(bool(value[0]), end=" ")
True True True False
"""

from __future__ import annotations

from typing import NamedTuple

from safe_rl.grounding.arrays.scene import Array


class Debounce(NamedTuple):
    """State of a debounce.

    Attributes:
        value: bool, the level.
        count: integer, frames in a row that spoke against it.
    """

    value: Array
    count: Array


def symmetric_debounce(state: Debounce, raw: Array, window: int) -> tuple[Debounce, Array]:
    """The level flips once ``raw`` has differed from it for ``window`` frames in a row."""
    count = (state.count + 1) * (raw != state.value)
    flips = count >= window
    value = state.value ^ flips
    return Debounce(value, count * ~flips), value


def sticky_true_debounce(state: Debounce, raw: Array, window: int) -> tuple[Debounce, Array]:
    """The level rises at once, and falls once ``raw`` was false for ``window`` frames in a row."""
    count = (state.count + 1) * (~raw & state.value)
    falls = count >= window
    value = (raw | state.value) & ~falls
    return Debounce(value, count * ~falls), value


def age_counter(age: Array, raw: Array, tolerance: int) -> tuple[Array, Array]:
    """True once ``raw`` has held for more than ``tolerance`` frames in a row; ``age`` counts."""
    age = (age + (age <= tolerance)) * raw
    return age, age > tolerance


def timeout_counter(
    elapsed: Array, started: Array, resolved: Array, limit: int
) -> tuple[Array, Array]:
    """True once ``limit`` frames have passed since ``started`` without ``resolved``.

    ``elapsed`` is 0 while idle, else one more than the frames since the start. (The scalar device
    counts from -1, so that its state is this one less 1.)
    """
    running = elapsed + ((elapsed > 0) & (elapsed <= limit))
    elapsed = (running * ~started + started) * ~resolved
    return elapsed, elapsed > limit


def edge(level_before: Array, level: Array, rising: bool = True) -> tuple[Array, Array]:
    """True where the level rises (or falls) at this frame; the state is the level itself."""
    return level, (level & ~level_before) if rising else (level_before & ~level)


def latch(value: Array, set_: Array, clear: Array) -> tuple[Array, Array]:
    """A level that ``set_`` raises and ``clear`` lowers; where both happen, it is lowered."""
    value = (value | set_) & ~clear
    return value, value


def approach_counter(age: Array, approaching: Array, window: int) -> tuple[Array, Array]:
    """True from the ``window``-th frame of an approach until it is given up (F.1, phi 5).

    An approach is confirmed after ``window`` frames in a row. From then on it survives up to
    ``window`` frames in a row without coming nearer, and ends with the next one.

    Args:
        age: integer; below ``window`` the frames so far, then ``window`` plus the idle frames.
        approaching: bool, this frame came nearer.
        window: frames.
    """
    confirmed = age >= window
    nearer = age + 1 - (age + 1 - window) * confirmed
    idle = (age + 1) * (confirmed & (age < 2 * window))
    age = nearer * approaching + idle * ~approaching
    return age, age >= window
