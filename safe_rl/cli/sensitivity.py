"""``safe-rl sensitivity``: how much verdicts depend on each constant of the grounding."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from safe_rl.cli.named_env import named_env
from safe_rl.cli.screen import screen
from safe_rl.data.parquet import write_table
from safe_rl.errors import ConfigurationError, MissingDependencyError
from safe_rl.evaluation.audit.mujoco_scenes import record_demonstrations, record_scripted
from safe_rl.evaluation.audit.report import write_csv
from safe_rl.evaluation.audit.scenes import SceneRecording, record_tabletop
from safe_rl.evaluation.audit.sensitivity import (
    FACTORS,
    Sensitivity,
    Sweep,
    drift_figure,
    sweep,
    sweep_columns,
)
from safe_rl.evaluation.audit.simulators import MUJOCO, make_replay
from safe_rl.specs import load_specs

if TYPE_CHECKING:
    from safe_rl.cli.settings import EnvSettings


def sensitivity(
    demonstrations: Sequence[Path],
    env: Sequence[str],
    specs: str | None,
    out: Path,
    *,
    select: Sequence[str],
    episodes: int,
    constants: Sequence[str],
    factors: Sequence[float],
    noise: float,
    seed: int,
) -> Sweep:
    """Sweep the constants, print the table, write tables and figures.

    Raises:
        ConfigurationError: an unknown environment, constant or factor, or no specifications.
    """
    console = screen()
    settings, preset = named_env(env)
    from safe_rl.cli.building import build_specs

    if specs is not None:
        rules = load_specs(specs)
    elif preset is not None:
        rules = build_specs(preset)
    else:
        raise ConfigurationError(f"env={settings.name} names no specifications; give --specs")
    if select:
        rules = rules.select(select)
    name = specs or (preset.name if preset else "")
    recording = _record(settings, demonstrations, episodes, noise, seed)
    source = f"{name} on {settings.name}, {len(recording.lengths)} episodes"
    bar = Progress(
        TextColumn("constants"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(file=sys.stderr),
        disable=not sys.stderr.isatty(),
    )
    with bar:
        running = bar.add_task("constants")
        found = sweep(
            recording,
            rules.bind(recording.objects) if rules.properties else rules,
            constants=constants or None,
            factors=factors or FACTORS,
            on_constant=lambda done, all_: bar.update(running, completed=done, total=all_),
        )
    console.print(_table(found, source))
    if found.unread:
        console.print(
            f"not read by these specifications: {', '.join(found.unread)}",
            soft_wrap=True,
            highlight=False,
        )
    for path in _write(found, out, f"{source}: drift of {found.verdicts} verdicts"):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return found


def _record(
    env: EnvSettings, demonstrations: Sequence[Path], episodes: int, noise: float, seed: int
) -> SceneRecording:
    """Return scene frames: of demonstrations, or of scripted episodes."""
    task = re.fullmatch(r"safe_rl/Tabletop(\w+)-v0", env.id)
    if task is not None and not demonstrations:
        arguments = {k: v for k, v in env.kwargs.items() if k != "propositions"}
        return record_tabletop(task[1].lower(), episodes, noise=noise, seed=seed, **arguments)
    if demonstrations:
        return record_demonstrations(demonstrations, make_replay(env.id, env.kwargs, "steps"))
    if not env.id.startswith(MUJOCO):
        raise ConfigurationError(
            f"env={env.name}: scene frames are recorded of tabletop, robosuite and libero tasks"
        )
    return record_scripted(env.id, env.kwargs, episodes, seed=seed)


def _write(found: Sweep, out: Path, title: str) -> list[Path]:
    columns = sweep_columns(found)
    paths = [write_csv(out / "sensitivity.csv", columns)]
    try:
        paths.append(write_table(out / "sensitivity.parquet", columns))
        if found.constants:
            paths.append(drift_figure(found.constants, out / "sensitivity.png", title=title))
        for own in found.constants:
            paths.append(drift_figure([own], out / f"{own.constant}.png"))
    except MissingDependencyError as error:
        print(f"note: {error}", file=sys.stderr)
    return paths


def _table(found: Sweep, title: str) -> Table:
    table = Table(
        title=f"Sensitivity: {title}",
        title_justify="left",
        caption=f"Drift: share of {found.verdicts} (episode, specification) verdicts that differ "
        "from those at the default.",
        caption_justify="left",
    )
    table.add_column("constant")
    for heading in ("default", "tried", "largest drift", "at", "V at the default", "V there"):
        table.add_column(heading, justify="right")
    table.add_column("moved most", overflow="fold")
    for own in sorted(found.constants, key=lambda own: -own.largest):
        table.add_row(*_cells(own), style=None if own.largest else "dim")
    return table


def _cells(own: Sensitivity) -> list[str]:
    worst = max(own.settings, key=lambda setting: setting.drift)
    default = next(setting for setting in own.settings if setting.value == own.default)
    values = [setting.value for setting in own.settings]
    return [
        own.constant,
        f"{own.default:g}",
        f"{min(values):g} to {max(values):g}",
        f"{100 * worst.drift:.1f}%",
        f"{worst.value:g}" if worst.drift else "",
        str(default.violations),
        str(worst.violations) if worst.drift else "",
        ", ".join(own.moved[:2]),
    ]
