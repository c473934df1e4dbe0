"""Learning curves of one run or of many, read from the ``metrics.jsonl`` that training writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.plotting import BLACK, SERIES, figure_file, shorten

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

METRICS_FILE = "metrics.jsonl"
STEP_KEY = "step"
RETURN_KEY = "rollout/ep_rew_mean"
COST_PREFIX = "cost/"
MULTIPLIER_PREFIX = "lambda/"


@dataclass(frozen=True)
class RunCurve:
    """What one run logged.

    Attributes:
        label: runs with one label are drawn as one curve.
        steps: environment steps at each row, int64 ``[R]``.
        columns: logged values by name, float64 ``[R]``, NaN where a row has none.
    """

    label: str
    steps: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Panel:
    """One panel of the figure.

    Attributes:
        column: the logged name.
        title: what it shows, with its unit.
        bound: a limit to draw as a line.
        reference: a value to draw as a line, such as the exact optimum, and its name.
    """

    column: str
    title: str
    bound: float | None = None
    reference: tuple[str, float] | None = None


@dataclass(frozen=True)
class MeanCurve:
    """The mean over runs on common steps, with its bootstrap interval where there are several.

    Attributes:
        steps: int64 ``[R]``.
        mean: float64 ``[R]``.
        low: lower end of the 95% interval of the mean over runs, or ``None`` for fewer than 3 runs.
        high: upper end.
        runs: each run on the common steps, ``[K, R]``.
    """

    steps: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    runs: NDArray[np.float64] = field(repr=False)


def read_run(path: str | Path, label: str) -> RunCurve:
    """Read a run's ``metrics.jsonl``.

    Args:
        path: the file, or the run's folder.
        label: name in the legend.

    Raises:
        ConfigurationError: there is no such file, or a line is not a JSON object of numbers. A
            last line cut short by a killed run is left out.
    """
    path = Path(path)
    if path.is_dir():
        path = path / METRICS_FILE
    if not path.is_file():
        raise ConfigurationError(f"{path}: no such file; training writes it into the run's folder")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                break
            raise ConfigurationError(f"{path}, line {number}: {error.msg}") from None
        if STEP_KEY not in row:
            raise ConfigurationError(f"{path}, line {number}: no {STEP_KEY!r}")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {
        name: np.array([np.nan if row.get(name) is None else row[name] for row in rows], float)
        for name in names
        if all(isinstance(row.get(name), int | float | None) for row in rows)
    }
    steps = np.array([row[STEP_KEY] for row in rows], np.int64)
    return RunCurve(label, steps, columns)


def mean_curve(runs: Sequence[RunCurve], column: str, *, seed: int = 0) -> MeanCurve | None:
    """Average a column over runs, on the steps that all of them reached.

    Intervals resample whole runs, 1,000 times (Agarwal et al., "Deep RL at the Edge of the
    Statistical Precipice", 2021, section 4.1, resample runs likewise); fewer than three runs have
    none. Returns ``None`` where no run has the column.
    """
    present = [
        (run.steps[known], run.columns[column][known])
        for run in runs
        if column in run.columns and (known := ~np.isnan(run.columns[column])).any()
    ]
    if not present:
        return None
    start = max(steps[0] for steps, _ in present)
    end = min(steps[-1] for steps, _ in present)
    grid = np.unique(np.concatenate([steps for steps, _ in present]))
    grid = grid[(grid >= start) & (grid <= end)]
    if grid.size == 0:
        return None
    values = np.stack([np.interp(grid, steps, own) for steps, own in present])
    low = high = None
    if len(values) >= 3:
        rng = np.random.default_rng(seed)
        means = values[rng.integers(0, len(values), size=(1000, len(values)))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return MeanCurve(grid, values.mean(axis=0), low, high, values)


def constraint_panels(
    runs: Sequence[RunCurve], bounds: Mapping[str, tuple[str, float]]
) -> list[Panel]:
    """Return the usual panels: return, each constraint with its bound, and the multipliers.

    Args:
        runs: the runs to draw.
        bounds: for each constraint its kind and the bound on its logged cost.
    """
    logged = dict.fromkeys(name for run in runs for name in run.columns)
    panels = [Panel(RETURN_KEY, "return per episode")]
    for name in logged:
        if name.startswith(COST_PREFIX):
            own = name.removeprefix(COST_PREFIX)
            kind, bound = bounds.get(own, ("", None))
            unit = {
                "episode": "cost per episode",
                "probability": "P(violation)",
                "per_trigger": "V − d·N per episode",
            }.get(kind, "cost per episode")
            panels.append(Panel(name, f"{shorten(own)}\n{unit}", bound))
    for name in logged:
        if name.startswith(MULTIPLIER_PREFIX):
            own = name.removeprefix(MULTIPLIER_PREFIX)
            panels.append(Panel(name, f"{shorten(own)}\nmultiplier λ"))
    return panels


def learning_curve_figure(
    runs: Sequence[RunCurve], panels: Sequence[Panel], path: str | Path, *, title: str = ""
) -> Path:
    """Draw the panels; runs that share a label become a mean with its interval.

    Args:
        runs: see :func:`read_run`.
        panels: see :func:`constraint_panels`. A panel whose column no run has is left out.
        path: the PNG to write.
        title: shown at the top.

    Raises:
        ConfigurationError: nothing to draw.
    """
    labels = list(dict.fromkeys(run.label for run in runs))
    drawn = [panel for panel in panels if any(panel.column in run.columns for run in runs)]
    if not drawn:
        raise ConfigurationError(
            "no learning curve to draw: the runs logged none of "
            f"{[panel.column for panel in panels]}"
        )
    columns = min(3, len(drawn))
    rows = -(-len(drawn) // columns)
    with figure_file(path, 3.6 * columns + 0.4, 2.5 * rows + 0.7) as figure:
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
        if title:
            figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        for position, axes in enumerate(grid.flat):
            if position >= len(drawn):
                axes.set_visible(False)
                continue
            _draw_panel(axes, drawn[position], runs, labels)
            if position + columns >= len(drawn):
                axes.set_xlabel("environment steps")
                axes.tick_params(labelbottom=True)
        named: dict[str, Artist] = {}
        for axes in grid.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                named.setdefault(label, handle)
        figure.legend(
            list(named.values()), list(named), loc="outside lower left", ncols=5, fontsize=9
        )
    return Path(path)


def _draw_panel(axes: Axes, panel: Panel, runs: Sequence[RunCurve], labels: Sequence[str]) -> None:
    for index, label in enumerate(labels):
        own = [run for run in runs if run.label == label]
        curve = mean_curve(own, panel.column)
        if curve is None:
            continue
        colour = SERIES[index % len(SERIES)]
        axes.plot(curve.steps, curve.mean, color=colour, linewidth=1.7, label=label, zorder=3)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                curve.steps, curve.low, curve.high, color=colour, alpha=0.22, linewidth=0
            )
        elif len(curve.runs) > 1:
            for values in curve.runs:
                axes.plot(curve.steps, values, color=colour, linewidth=0.7, alpha=0.5)
    if panel.bound is not None:
        axes.axhline(panel.bound, color=BLACK, linestyle="--", linewidth=1.2, label="limit")
    if panel.reference is not None:
        name, value = panel.reference
        axes.axhline(value, color=BLACK, linestyle=":", linewidth=1.4, label=name)
    lowest = min(float(np.nanmin(line.get_ydata())) for line in axes.lines)
    if lowest >= 0.0:  # show that, and do not magnify noise around zero
        top = max(axes.get_ylim()[1], 0.05)
        axes.set_ylim(-0.015 * top, top)
    axes.set_title(panel.title)
    axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 4), useMathText=True)
    axes.margins(x=0.01)
