"""How much verdicts depend on the constants of the grounding (SafeManip, appendix E.2).

Each constant is moved around its value while all others keep theirs, the recorded scene frames are
grounded again, and the monitors read the new letters. Verdict drift is the share of (episode,
specification) verdicts that differ from those at the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near
from safe_rl.evaluation.audit.monitoring import Monitored, monitor_episodes
from safe_rl.evaluation.audit.pooling import worst_verdicts
from safe_rl.evaluation.audit.scenes import SceneRecording
from safe_rl.evaluation.plotting import BLUE, GREY, VERMILLION, figure_file
from safe_rl.grounding import GroundingSettings
from safe_rl.specs import SpecSet

FACTORS: Final = (0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0)
"""Multiples of the default at which a constant is tried."""


@dataclass(frozen=True)
class Setting:
    """One value of one constant.

    Attributes:
        value: of the constant.
        drift: share of the verdicts that differ from those at the default.
        changed: how many differ.
        triggered: N of all specifications together.
        violations: V of all specifications together.
    """

    value: float
    drift: float
    changed: int
    triggered: int
    violations: int


@dataclass(frozen=True)
class Sensitivity:
    """One constant.

    Attributes:
        constant: its name in ``GroundingSettings``.
        default: its value in the recording's own settings.
        settings: the tried values in ascending order, the default among them.
        moved: the specifications whose verdicts moved at some value, those that moved most first.
    """

    constant: str
    default: float
    settings: tuple[Setting, ...]
    moved: tuple[str, ...]

    @property
    def largest(self) -> float:
        """The largest drift."""
        return max(setting.drift for setting in self.settings)


@dataclass(frozen=True)
class Sweep:
    """All constants.

    Attributes:
        verdicts: how many (episode, specification) verdicts there are.
        constants: those that the specifications read, in the order of ``GroundingSettings``.
        unread: those that they do not: no value of them can change a verdict.
    """

    verdicts: int
    constants: tuple[Sensitivity, ...]
    unread: tuple[str, ...]


def tried_values(constant: str, default: float, factors: Sequence[float]) -> list[float]:
    """Return the values at which a constant is tried, ascending, the default among them.

    Counts stay whole and values that no scene could mean are left out.

    >>> tried_values("grasp_window", 5, [0.5, 1.1, 2.0])
    [2, 5, 6, 10]
    >>> tried_values("opposing_cosine", -0.5, [0.5, 2.0, 3.0])
    [-1.0, -0.5, -0.25]
    """
    found = {default}
    for factor in factors:
        value: float = default * factor
        if isinstance(default, int):
            whole = round(value)
            value = whole + (whole == default) * (1 if factor > 1 else -1)
        try:
            with_constant(GroundingSettings(), constant, value)
        except ConfigurationError:
            continue
        found.add(value)
    return sorted(found)


def with_constant(settings: GroundingSettings, name: str, value: float) -> GroundingSettings:
    """Return the settings with one constant at another value.

    Raises:
        ConfigurationError: no scene could mean the value.
    """
    changed: dict[str, Any] = {name: value}
    return replace(settings, **changed)


def sweep(
    recording: SceneRecording,
    specs: SpecSet,
    *,
    constants: Sequence[str] | None = None,
    factors: Sequence[float] = FACTORS,
    on_constant: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Try every constant that the specifications read.

    Args:
        recording: the scene frames.
        specs: the specifications; bound to the recording's objects if they are not bound yet.
        constants: only these; default: all.
        factors: multiples of the default.
        on_constant: called with how many constants are done, and how many there are.

    Raises:
        ConfigurationError: an unknown constant, or no factor.
        GroundingError: the scene lacks a proposition.
    """
    known = [field.name for field in fields(GroundingSettings)]
    for name in constants or ():
        if name not in known:
            raise ConfigurationError(
                f"no constant {name!r} in GroundingSettings{near(name, known)}; "
                f"there are {', '.join(known)}"
            )
    if not factors or any(factor <= 0 for factor in factors):
        raise ConfigurationError(f"factors must be positive numbers, got {list(factors)}")
    if specs.properties and specs.objects is None:
        specs = specs.bind(recording.objects)
    read = _Watched(recording.settings)
    default = _verdicts(recording, specs, read)  # type: ignore[arg-type]
    chosen = [name for name in known if constants is None or name in constants]
    wanted = [name for name in chosen if name in read.names]
    found = []
    for done, name in enumerate(wanted):
        if on_constant is not None:
            on_constant(done, len(wanted))
        found.append(_one(recording, specs, default, name, factors))
    if on_constant is not None:
        on_constant(len(wanted), len(wanted))
    unread = tuple(name for name in chosen if name not in read.names)
    return Sweep(default.worst.size, tuple(found), unread)


@dataclass(frozen=True)
class _Verdicts:
    monitored: Monitored
    worst: NDArray[np.int8]


def _verdicts(recording: SceneRecording, specs: SpecSet, settings: GroundingSettings) -> _Verdicts:
    monitored = monitor_episodes(specs, recording.ground(settings, specs.propositions))
    return _Verdicts(monitored, worst_verdicts(monitored))


def _one(
    recording: SceneRecording,
    specs: SpecSet,
    default: _Verdicts,
    name: str,
    factors: Sequence[float],
) -> Sensitivity:
    own = getattr(recording.settings, name)
    tried = []
    moves = np.zeros(len(specs), np.int64)
    for value in tried_values(name, own, factors):
        found = default
        if value != own:
            found = _verdicts(recording, specs, with_constant(recording.settings, name, value))
        changed = found.worst != default.worst
        moves += changed.sum(axis=0)
        records = found.monitored.records
        tried.append(
            Setting(
                value=value,
                drift=float(changed.mean()) if changed.size else 0.0,
                changed=int(changed.sum()),
                triggered=int(records.triggered.sum()),
                violations=int(records.violations.sum()),
            )
        )
    order = [i for i in np.argsort(-moves, kind="stable") if moves[i]]
    return Sensitivity(name, own, tuple(tried), tuple(specs.ids[i] for i in order))


class _Watched:
    """Settings that note which constants are read: what is not read can change nothing."""

    def __init__(self, settings: GroundingSettings) -> None:
        self._settings = settings
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._settings, name)


def sweep_columns(found: Sweep) -> dict[str, list[Any]]:
    """Return one row per value of each constant, as columns."""
    rows = [(own, setting) for own in found.constants for setting in own.settings]
    return {
        "constant": [own.constant for own, _ in rows],
        "default": [own.default for own, _ in rows],
        "value": [setting.value for _, setting in rows],
        "drift": [setting.drift for _, setting in rows],
        "changed": [setting.changed for _, setting in rows],
        "verdicts": [found.verdicts] * len(rows),
        "N": [setting.triggered for _, setting in rows],
        "V": [setting.violations for _, setting in rows],
        "moved": [" ".join(own.moved) for own, _ in rows],
    }


def drift_figure(constants: Sequence[Sensitivity], path: str | Path, *, title: str = "") -> Path:
    """Draw verdict drift over the value of each constant, a panel for each.

    All panels share the axis of the drift, so that they can be compared; the default is marked.

    Args:
        constants: at least one.
        path: the PNG to write.
        title: shown at the top.

    Raises:
        ConfigurationError: there is no constant to draw.
        MissingDependencyError: matplotlib is not installed.
    """
    if not constants:
        raise ConfigurationError("drift_figure() was given no constants")
    across = min(4, len(constants))
    down = -(-len(constants) // across)
    highest = max(0.01, *(own.largest for own in constants))
    with figure_file(path, 3.1 * across + 0.4, 2.2 * down + (0.5 if title else 0.1)) as figure:
        panels = figure.subplots(down, across, sharey=True, squeeze=False)
        if title:
            figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        for axes in panels.flat[len(constants) :]:
            axes.set_axis_off()
        for axes, own in zip(panels.flat, constants, strict=False):
            colour = VERMILLION if own.largest else BLUE
            values = [setting.value for setting in own.settings]
            drift = [100 * setting.drift for setting in own.settings]
            axes.axvline(own.default, color=GREY, linewidth=1.0, linestyle="--")
            axes.plot(values, drift, color=colour, marker="o", markersize=4)
            axes.set_title(own.constant, fontsize=9)
            axes.set_ylim(-3 * highest, 108 * highest)
            axes.locator_params(axis="x", nbins=5)
        for row in panels[:, 0]:
            row.set_ylabel("verdict drift (%)", fontsize=8.5)
    return Path(path)
