"""The commands about demonstrations: collect, coverage, grasps, teleoperate."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.programs import run_program


class Device(StrEnum):
    """What leads the arm in ``safe-rl teleoperate``."""

    KEYBOARD = "keyboard"
    REPLAY = "replay"


def collect_command(context: typer.Context) -> None:
    """Collect demonstrations until enough are safe successes: a Hydra program, resumable."""
    run_program("collect", context)


def coverage_command(
    dataset: Annotated[Path, typer.Argument(help="Folder of a LeRobot dataset.")],
    specs: Annotated[
        str | None,
        typer.Option(help="A file or a shipped set; default: those that the collection used."),
    ] = None,
    few: Annotated[int, typer.Option(min=1, help="Fewer episodes than this are too few.")] = 5,
) -> None:
    """Report which specifications, triggers and boundaries a dataset hardly covers."""
    with clear_errors():
        from safe_rl.cli.collect_coverage import report_coverage

        report_coverage(dataset, specs, few)


def grasps_command(
    family: Annotated[str, typer.Argument(help="Such as robosuite/stack.")],
    output: Annotated[Path, typer.Option(help="The file to add them to.")] = Path("grasps.json"),
    keep: Annotated[int, typer.Option(min=1, help="Grasps of each object that are enough.")] = 10,
    tries: Annotated[int, typer.Option(min=1, help="Grasps tried at most.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Of scenes and candidates.")] = 0,
) -> None:
    """Sample antipodal grasps of a family's objects, and keep those that hold in simulation."""
    with clear_errors():
        from safe_rl.cli.collect_grasps import sample

        sample(family, output, keep, tries, seed)


def teleoperate_command(
    family: Annotated[str, typer.Argument(help="Such as robosuite/stack.")],
    output: Annotated[Path, typer.Option(help="Folder of the dataset.")],
    device: Annotated[Device, typer.Option(help="What leads the arm.")] = Device.KEYBOARD,
    replay: Annotated[
        Path | None, typer.Option(help="With --device replay: the dataset that leads.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Attempts to record.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the scenes.")] = 0,
) -> None:
    """Lead the arm by a device; attempts are recorded and gated as generated ones are."""
    with clear_errors():
        from safe_rl.cli.collect_teleoperation import lead

        lead(family, output, device.value, replay, episodes, seed)
