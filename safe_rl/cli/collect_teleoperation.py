"""``safe-rl teleoperate``: attempts led by a device, recorded and gated as generated ones are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import typer

from safe_rl.data.lerobot import LeRobotWriter, load_lerobot
from safe_rl.demonstrations.collection import CollectionSettings
from safe_rl.demonstrations.collection.collect import FPS, write
from safe_rl.demonstrations.collection.settings import keep_settings, recorded_settings
from safe_rl.demonstrations.teleoperation import Leader, teleoperate
from safe_rl.demonstrations.teleoperation.keyboard import HELP, KeyboardLeader
from safe_rl.demonstrations.teleoperation.replay import ReplayLeader
from safe_rl.errors import ConfigurationError


def lead(
    family: str, output: Path, device: str, replay: Path | None, episodes: int, seed: int
) -> None:
    """Record so many attempts, after those that the dataset holds."""
    if (device == "replay") != (replay is not None):
        raise ConfigurationError("--device replay and --replay DATASET go together")
    if replay is not None:
        seed = recorded_settings(replay).seed  # the scenes have to be those of the recording
    settings = CollectionSettings(family, seed=seed)
    keep_settings(output, settings)
    specs = settings.spec_set()
    with (
        LeRobotWriter(output, fps=FPS, specs=specs, robot_type="panda", resume=True) as writer,
        closing(settings.demonstrator()) as demonstrator,
    ):
        if replay is None:
            typer.echo(HELP)
        for leader in _leaders(replay, len(writer.episodes), episodes):
            with closing(leader):
                attempt = teleoperate(
                    demonstrator, leader, len(writer.episodes), paced=replay is None
                )
            write(writer, attempt)
            typer.echo(f"attempt {attempt.index}: {attempt.outcome.reason}")


def _leaders(replay: Path | None, first: int, count: int) -> Iterator[Leader]:
    if replay is None:
        for _ in range(count):
            yield KeyboardLeader()
        return
    recorded = load_lerobot(replay)
    for episode in recorded[first : first + count]:
        yield ReplayLeader(episode)
