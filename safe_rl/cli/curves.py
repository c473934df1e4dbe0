"""``safe-rl curves``: the learning curves of one run or of many, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safe_rl.cli.building import build_specs
from safe_rl.cli.runs import SETTINGS_FILE
from safe_rl.cli.settings import TrainSettings, differences, load_settings, what_is_learned
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.curves import constraint_panels, learning_curve_figure, read_run


def draw_curves(runs: Sequence[Path], output: Path) -> Path:
    """Draw the runs; those that differ only in their seed become one mean with its interval.

    Args:
        runs: folders of runs.
        output: the PNG to write.

    Raises:
        ConfigurationError: a folder holds no run.
    """
    if not runs:
        raise ConfigurationError("no runs to draw; give the folders of one or more runs")
    settings = [load_settings(run / SETTINGS_FILE) for run in runs]
    labels = group_labels(settings)
    curves = [read_run(run, label) for run, label in zip(runs, labels, strict=True)]
    bounds: dict[str, tuple[str, float]] = {}
    for own in settings:
        for spec in build_specs(own.specs).constraints:
            assert spec.limit is not None
            threshold = 0.0 if spec.limit.kind == "per_trigger" else spec.limit.value
            bounds.setdefault(spec.id, (spec.limit.kind, threshold))
    seeds = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    names = ", ".join(dict.fromkeys(own.env.name for own in settings))
    return learning_curve_figure(
        curves,
        constraint_panels(curves, bounds),
        output,
        title=f"Training on {names} ({seeds}; bands: 95% bootstrap over seeds)",
    )


def group_labels(settings: Sequence[TrainSettings]) -> list[str]:
    """Name each run after its algorithm, and after what else tells it from the others.

    Runs get one label exactly if they differ in nothing but the seed.
    """
    plain = [{k: v for k, v in what_is_learned(own).items() if k != "seed"} for own in settings]
    labels = []
    for own, mine in zip(settings, plain, strict=True):
        same_name = [
            p for o, p in zip(settings, plain, strict=True) if o.algo.name == own.algo.name
        ]
        first = same_name[0]
        changed = [text.split(", now ")[1][:-1] for text in differences(first, mine)]
        names = [text.split(" (")[0] for text in differences(first, mine)]
        extra = ", ".join(f"{n}={v}" for n, v in zip(names, changed, strict=True))
        labels.append(own.algo.name + (f" ({extra})" if extra else ""))
    return labels
