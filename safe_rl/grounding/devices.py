"""The smoothing and event devices between raw simulator readings and propositions.

Raw contact readings flicker. SafeManip (appendix F.2, table 5) uses a handful of small state
machines to turn them into propositions, and nothing else: every proposition is a composition of
same-frame readings with at most one of them, so no proposition needs unbounded history.

A device is reset with the reading of the first frame and then stepped once per control frame. Its
state is a few small integers; ``features`` gives that state as numbers in [0, 1], so that an
observation which carries them makes the propositions of the next frame Markov.

>>> held = SymmetricDebounce(window=5)
>>> held.reset(True)
True
>>> [held.step(raw) for raw in (True, False, True, True)]  # one lost frame changes nothing
[True, True, True, True]
>>> [held.step(False) for _ in range(5)]  # the fifth lost frame in a row does
[True, True, True, True, False]
"""

from __future__ import annotations

from typing import Protocol

from safe_rl.errors import ConfigurationError


class Device(Protocol):
    """What every device offers besides its own ``reset`` and ``step``."""

    value: bool

    @property
    def features(self) -> tuple[float, ...]:
        """The device's state as numbers in [0, 1]."""
        ...

    def get_state(self) -> tuple[int, ...]:
        """The device's state, exactly."""
        ...

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore what ``get_state`` returned."""
        ...


def _frames(number: int, name: str, least: int = 1) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ConfigurationError(
            f"{name} must be a whole number of frames, at least {least}; got {number!r}"
        )
    return number


class _Debounce:
    """A level and the number of frames that speak against it; subclasses say how it flips."""

    __slots__ = ("count", "value", "window")

    def __init__(self, window: int) -> None:
        """Debounce over ``window`` frames."""
        self.window = _frames(window, "window")
        self.value = False
        self.count = 0

    def reset(self, raw: bool) -> bool:
        """Take the first frame's reading as it stands: there is nothing to smooth it with."""
        self.value, self.count = raw, 0
        return raw

    @property
    def features(self) -> tuple[float, ...]:
        """The level, and how far it is towards flipping."""
        return (float(self.value), self.count / self.window)

    def get_state(self) -> tuple[int, ...]:
        """Level and count."""
        return (int(self.value), self.count)

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore level and count."""
        self.value, self.count = bool(state[0]), state[1]


class SymmetricDebounce(_Debounce):
    """A level that flips only after the new value has held for ``window`` frames in a row.

    SafeManip table 5, "symmetric debounce": in either direction, so neither a stray touch nor a
    one-frame dropout changes it. The flip happens on the ``window``-th frame of the new value.
    """

    __slots__ = ()

    def step(self, raw: bool) -> bool:
        """Return the level after this frame's reading."""
        if raw == self.value:
            self.count = 0
        else:
            self.count += 1
            if self.count >= self.window:
                self.value, self.count = raw, 0
        return self.value


class StickyTrueDebounce(_Debounce):
    """A level that rises at once and falls only after ``window`` false frames in a row.

    SafeManip table 5, "sticky-true debounce": used for stability, where a late rising edge would
    make objects that have settled miss their deadline.

    >>> stable = StickyTrueDebounce(window=3)
    >>> stable.reset(False)
    False
    >>> [stable.step(raw) for raw in (True, False, False, True, False, False, False)]
    [True, True, True, True, True, True, False]
    """

    __slots__ = ()

    def step(self, raw: bool) -> bool:
        """Return the level after this frame's reading."""
        if raw:
            self.value, self.count = True, 0
        elif self.value:
            self.count += 1
            if self.count >= self.window:
                self.value, self.count = False, 0
        return self.value


class AgeCounter:
    """True once a reading has held for more than ``tolerance`` frames in a row.

    SafeManip table 5, "age counter": a tolerance rather than a filter. With a tolerance of 20 it
    becomes true on the 21st frame (F.1, phi 1), and false again on the first frame without it.

    >>> graze = AgeCounter(tolerance=2)
    >>> graze.reset(True)
    False
    >>> [graze.step(raw) for raw in (True, True, True, False, True)]
    [False, True, True, False, False]
    """

    __slots__ = ("count", "tolerance", "value")

    def __init__(self, tolerance: int) -> None:
        """Tolerate ``tolerance`` frames."""
        self.tolerance = _frames(tolerance, "tolerance", least=0)
        self.value = False
        self.count = 0

    def reset(self, raw: bool) -> bool:
        """Count the first frame."""
        self.count = 0
        return self.step(raw)

    def step(self, raw: bool) -> bool:
        """Return whether the reading has now held past the tolerance."""
        # The count stops just past the tolerance: beyond that, it could not change the value.
        self.count = min(self.count + 1, self.tolerance + 1) if raw else 0
        self.value = self.count > self.tolerance
        return self.value

    @property
    def features(self) -> tuple[float, ...]:
        """The age as a fraction of what makes the value true."""
        return (self.count / (self.tolerance + 1),)

    def get_state(self) -> tuple[int, ...]:
        """The age."""
        return (self.count,)

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore the age."""
        self.count = state[0]
        self.value = self.count > self.tolerance


class TimeoutCounter:
    """True once ``limit`` frames have passed since an event without its resolution.

    SafeManip table 5, "timeout counter": it turns an unbounded "eventually" into a bounded one. It
    is idle until started, counts the frames since then, and becomes idle again when resolved; an
    event that is resolved on its own frame never starts. Once true it stays so until resolved or
    started anew.

    >>> overdue = TimeoutCounter(limit=2)
    >>> overdue.reset()
    False
    >>> overdue.step(started=True, resolved=False)
    False
    >>> [overdue.step(started=False, resolved=r) for r in (False, False, False, True)]
    [False, True, True, False]
    """

    __slots__ = ("elapsed", "limit", "value")

    def __init__(self, limit: int) -> None:
        """Time out after ``limit`` frames."""
        self.limit = _frames(limit, "limit")
        self.elapsed = -1  # idle
        self.value = False

    def reset(self) -> bool:
        """Become idle."""
        self.elapsed, self.value = -1, False
        return False

    def step(self, started: bool, resolved: bool) -> bool:
        """Return whether the event is overdue after this frame."""
        if resolved:
            self.elapsed = -1
        elif started:
            self.elapsed = 0
        elif self.elapsed >= 0:
            self.elapsed = min(self.elapsed + 1, self.limit)
        self.value = self.elapsed >= self.limit
        return self.value

    @property
    def features(self) -> tuple[float, ...]:
        """Zero while idle, then growing to one at the limit."""
        return ((self.elapsed + 1) / (self.limit + 1),)

    def get_state(self) -> tuple[int, ...]:
        """Frames elapsed, or -1."""
        return (self.elapsed,)

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore the frames elapsed."""
        self.elapsed = state[0]
        self.value = self.elapsed >= self.limit


class Edge:
    """True on the one frame at which a level rises (or falls).

    SafeManip table 5, "edges". The first frame has no predecessor and so is no edge.

    >>> ends = Edge(rising=False)
    >>> ends.reset(True)
    False
    >>> [ends.step(level) for level in (True, False, False, True)]
    [False, True, False, False]
    """

    __slots__ = ("level", "rising", "value")

    def __init__(self, rising: bool = True) -> None:
        """Fire on rising edges, or on falling ones."""
        self.rising = rising
        self.level = False
        self.value = False

    def reset(self, level: bool) -> bool:
        """Remember the first frame's level."""
        self.level, self.value = level, False
        return False

    def step(self, level: bool) -> bool:
        """Return whether the level has just changed in the direction watched."""
        self.value = level != self.level and level == self.rising
        self.level = level
        return self.value

    @property
    def features(self) -> tuple[float, ...]:
        """The level remembered."""
        return (float(self.level),)

    def get_state(self) -> tuple[int, ...]:
        """Level and value."""
        return (int(self.level), int(self.value))

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore level and value."""
        self.level, self.value = bool(state[0]), bool(state[1])


class Latch:
    """A level that an event sets and another clears; when both happen, it is cleared.

    SafeManip table 5, "latches".

    >>> engaged = Latch()
    >>> engaged.reset(False)
    False
    >>> [engaged.step(event) for event in (False, True, False)]
    [False, True, True]
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        """Start cleared."""
        self.value = False

    def reset(self, value: bool = False) -> bool:
        """Start from ``value``."""
        self.value = value
        return value

    def step(self, set_: bool, clear: bool = False) -> bool:
        """Return the level after this frame's events."""
        self.value = (self.value or set_) and not clear
        return self.value

    @property
    def features(self) -> tuple[float, ...]:
        """The level."""
        return (float(self.value),)

    def get_state(self) -> tuple[int, ...]:
        """The level."""
        return (int(self.value),)

    def set_state(self, state: tuple[int, ...]) -> None:
        """Restore the level."""
        self.value = bool(state[0])
