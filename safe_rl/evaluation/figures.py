"""Figures of a report: violations per trigger, and the timeline of one episode.

Learning curves live beside them in :mod:`safe_rl.evaluation.curves`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.metrics import CountRow
from safe_rl.evaluation.plotting import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    SERIES,
    SKY,
    VERMILLION,
    figure_file,
    hide_frame,
    shorten,
)
from safe_rl.evaluation.report import PolicyReport
from safe_rl.evaluation.timeline import EpisodeTimeline
from safe_rl.monitors import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def per_trigger_figure(reports: Sequence[PolicyReport], path: str | Path) -> Path:
    """Draw V/N of each specification with its interval, and V of N beside it.

    A specification that never triggered has no point: only the words say so. Per-trigger limits
    are drawn as short black bars.

    Args:
        reports: policies scored under the same specifications.
        path: the PNG to write.

    Raises:
        ConfigurationError: no reports, or their specifications differ.
    """
    if not reports:
        raise ConfigurationError("per_trigger_figure() was given no reports")
    rows = [(*report.scores.specifications, report.scores.pooled) for report in reports]
    names = [row.name for row in rows[0]]
    for report, own in zip(reports, rows, strict=True):
        if [row.name for row in own] != names:
            raise ConfigurationError(
                f"the report of {report.name!r} was scored by other specifications than that of "
                f"{reports[0].name!r}; draw them apart"
            )
    labels = [*map(shorten, names[:-1]), "all together"]
    height = 1.3 + len(names) * max(0.42, 0.27 * len(reports))
    with figure_file(path, 9.0, height) as figure:
        axes = figure.add_subplot()
        spread = 0.72 / len(reports)
        for index, (report, own) in enumerate(zip(reports, rows, strict=True)):
            offsets = np.arange(len(names)) + (index - (len(reports) - 1) / 2) * spread
            _points(axes, own, offsets, index, report.name)
        _limit_marks(axes, reports, names)
        axes.set_yticks(np.arange(len(names)), labels)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.axhline(len(names) - 1.5, color=GREY, linewidth=0.8)
        axes.set_xlabel(
            "violations per triggered event, V/N (95% bootstrap interval over episodes)"
        )
        axes.set_xlim(left=0.0)
        axes.margins(x=0.04)
        high = max(axes.get_xlim()[1], 0.01)
        axes.set_xlim(-0.02 * high, high)
        axes.grid(axis="y", visible=False)
        axes.text(
            1.01,
            -0.62,
            "V/N counted",
            transform=axes.get_yaxis_transform(),
            fontsize=8.5,
            color=GREY,
        )
        figure.legend(loc="outside upper left", ncols=4, fontsize=9)
    return Path(path)


def _points(
    axes: Axes, rows: Sequence[CountRow], heights: NDArray[np.floating], index: int, name: str
) -> None:
    colour = SERIES[index % len(SERIES)]
    values = np.array([np.nan if (v := row.per_trigger.value) is None else v for row in rows])
    axes.plot(
        values,
        heights,
        linestyle="none",
        marker=MARKERS[index % len(MARKERS)],
        color=colour,
        markersize=6,
        label=name,
        zorder=3,
    )
    for row, height in zip(rows, heights, strict=True):
        estimate = row.per_trigger
        if estimate.low is not None and estimate.high is not None:
            axes.hlines(
                height, estimate.low, estimate.high, color=colour, linewidth=2.2, alpha=0.55
            )
        words = (
            f"{row.violations}/{row.triggered}" if estimate.value is not None else "never triggered"
        )
        axes.text(
            1.01,
            float(height),
            words,
            transform=axes.get_yaxis_transform(),
            color=colour,
            va="center",
            fontsize=8.5,
        )


def _limit_marks(axes: Axes, reports: Sequence[PolicyReport], names: Sequence[str]) -> None:
    limits = {
        row.id: row.limit
        for report in reports
        for row in report.scores.constraints
        if row.kind == "per_trigger"
    }
    marked = [(limits[name], height) for height, name in enumerate(names) if name in limits]
    if marked:
        axes.vlines(
            [limit for limit, _ in marked],
            [height - 0.42 for _, height in marked],
            [height + 0.42 for _, height in marked],
            color=BLACK,
            linewidth=1.6,
            label="per-trigger limit",
            zorder=2,
        )


def timeline_figure(
    timeline: EpisodeTimeline,
    path: str | Path,
    *,
    title: str = "",
    seconds_per_step: float | None = None,
) -> Path:
    """Draw one episode: propositions above, automaton states and events below.

    Propositions that never change during the episode are named under the figure rather than drawn.

    Args:
        timeline: see :func:`safe_rl.evaluation.timeline.replay`.
        path: the PNG to write.
        title: shown at the top.
        seconds_per_step: control period, for a second axis in seconds.
    """
    changing = np.flatnonzero(timeline.letters.min(axis=0) != timeline.letters.max(axis=0))
    instances = timeline.specs.instances
    rows = len(changing) + len(instances)
    with figure_file(path, 10.0, 1.9 + 0.3 * len(changing) + 0.46 * len(instances)) as figure:
        upper, lower = figure.subplots(
            2,
            1,
            sharex=True,
            height_ratios=(max(len(changing), 1) * 0.3, max(len(instances), 1) * 0.46),
        )
        if title:
            figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        _draw_propositions(upper, timeline, changing)
        _draw_instances(lower, timeline)
        lower.set_xlabel(_constant_words(timeline, changing), fontsize=9)
        lower.set_xlim(-0.5, len(timeline.letters) - 0.5)
        if seconds_per_step is not None and rows:
            top = upper.secondary_xaxis(
                "top",
                functions=(lambda x: x * seconds_per_step, lambda x: x / seconds_per_step),
            )
            top.set_xlabel("seconds", fontsize=9)
        handles, labels = lower.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=8.5)
    return Path(path)


def _runs(values: NDArray[np.generic]) -> list[tuple[int, int]]:
    """Maximal runs of equal values: (first step, length)."""
    edges = np.flatnonzero(np.asarray(values[1:] != values[:-1])) + 1
    starts = np.concatenate([[0], edges])
    ends = np.concatenate([edges, [len(values)]])
    return [(int(a), int(b - a)) for a, b in zip(starts, ends, strict=True)]


def _draw_propositions(axes: Axes, timeline: EpisodeTimeline, changing: NDArray[np.intp]) -> None:
    hide_frame(axes)
    for height, column in enumerate(changing):
        values = timeline.letters[:, column]
        axes.axhline(height, color="#D9D9D9", linewidth=0.8, zorder=1)
        for start, length in _runs(values):
            if values[start]:
                axes.broken_barh(
                    [(start - 0.5, length)], (height - 0.34, 0.68), color=BLUE, zorder=2
                )
    axes.set_yticks(
        range(len(changing)), [shorten(timeline.propositions[c], 40) for c in changing], fontsize=9
    )
    axes.set_ylim(max(len(changing), 1) - 0.5, -0.5)
    axes.set_title("propositions (filled where true)")
    axes.tick_params(length=0)


_STATE_LOOKS = (
    ("#DCEBF5", "automaton state: nothing owed"),
    ("#F6E3A8", "automaton state: something owed"),
    ("#F3C7AE", "in violation (exposed)"),
)


def _draw_instances(axes: Axes, timeline: EpisodeTimeline) -> None:
    hide_frame(axes)
    steps = np.arange(len(timeline.letters))
    seen: set[str] = set()

    def once(label: str) -> str:
        first = label not in seen
        seen.add(label)
        return label if first else f"_{label}"

    for height in range(len(timeline.specs.instances)):
        states = timeline.states[:, height]
        exposed = timeline.events["exposed"][:, height]
        kinds = np.where(
            exposed, 2, timeline.verdicts[:, height] == Verdict.PRESUMABLY_VIOLATED
        ).astype(np.int64)
        for start, length in _runs(states.astype(np.int64) * 3 + kinds):
            colour, label = _STATE_LOOKS[int(kinds[start])]
            axes.broken_barh(
                [(start - 0.5, length)],
                (height - 0.36, 0.72),
                facecolor=colour,
                edgecolor="white",
                linewidth=0.8,
                hatch="////" if exposed[start] else None,
                label=once(label),
                zorder=1,
            )
            if length >= max(1.0, len(steps) / 60) and not exposed[start]:
                axes.text(
                    start + (length - 1) / 2,
                    height + 0.02,
                    str(int(states[start])),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="#333333",
                )
        for kind, marker, colour, shift in (
            ("triggered", "^", GREEN, 0.24),
            ("violated", "X", VERMILLION, 0.0),
            ("recovered", "o", SKY, -0.24),
        ):
            at = steps[timeline.events[kind][:, height]]
            if at.size:
                axes.plot(
                    at,
                    np.full(at.size, height + shift),
                    linestyle="none",
                    marker=marker,
                    markersize=8 if kind == "violated" else 6.5,
                    color=colour,
                    markeredgecolor="white",
                    markeredgewidth=0.6,
                    label=once(kind),
                    zorder=4,
                )
        if timeline.pending[height]:
            axes.plot(
                steps[-1] + 0.3,
                height,
                marker=">",
                color=ORANGE,
                markersize=8,
                linestyle="none",
                label=once("pending at the cut"),
                clip_on=False,
                zorder=4,
            )
    ids = [shorten(instance.id, 40) for instance in timeline.specs.instances]
    axes.set_yticks(range(len(ids)), ids, fontsize=9)
    axes.set_ylim(max(len(ids), 1) - 0.5, -0.5)
    axes.set_title("specifications: automaton state and events")
    axes.tick_params(axis="y", length=0)


def _constant_words(timeline: EpisodeTimeline, changing: NDArray[np.intp]) -> str:
    """The axis label: the unit, and the propositions that are not drawn."""
    constant = [i for i in range(len(timeline.propositions)) if i not in set(changing.tolist())]
    words = "step"
    for value, label in ((True, "always true"), (False, "never true")):
        names = [timeline.propositions[i] for i in constant if timeline.letters[0, i] == value]
        if names:
            shown = ", ".join(names[:12])
            if len(names) > 12:
                shown += f" and {len(names) - 12} more"
            words += "\n" + textwrap.fill(f"{label}: {shown}", 88)
    return words
