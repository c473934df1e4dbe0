"""Collects attempts into a LeRobot dataset until there are enough safe successes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safe_rl.data.lerobot import EpisodeSummary, LeRobotWriter, lerobot_episodes
from safe_rl.data.lerobot.layout import INFO
from safe_rl.demonstrations.collection.settings import CollectionSettings, keep_settings
from safe_rl.demonstrations.collection.workers import attempts
from safe_rl.demonstrations.engine.attempt import Attempt
from safe_rl.demonstrations.engine.gate import Reason
from safe_rl.errors import ConfigurationError

FPS = 20


@dataclass(frozen=True)
class Progress:
    """How far a collection is: attempts made, and safe successes among them."""

    attempts: int
    safe_successes: int


def collect(
    settings: CollectionSettings,
    root: Path,
    *,
    episodes: int | None = None,
    max_attempts: int | None = None,
    workers: int = 1,
    on_attempt: Callable[[Progress], None] = lambda progress: None,
) -> tuple[EpisodeSummary, ...]:
    """Make attempts until ``episodes`` are safe successes, and write every one of them.

    Every attempt is an episode of the dataset, in order; its ``reason`` says what became of it and
    its labels what was drawn. The same call goes on where an interrupted one stopped, and neither
    the interruption nor the number of workers changes what is written.

    Args:
        settings: decide each attempt.
        root: folder of the dataset.
        episodes: safe successes that are wanted.
        max_attempts: attempts after which it ends in any case.
        workers: processes.
        on_attempt: told after each attempt is on disk, and once at the start.

    Raises:
        ConfigurationError: the folder holds another collection, or nothing says when to stop.
        WorkerError: a process failed; what was collected is kept.
    """
    if episodes is None and max_attempts is None:
        raise ConfigurationError("say how many episodes or attempts are wanted")
    keep_settings(root, settings)
    specs = settings.spec_set()
    with LeRobotWriter(root, fps=FPS, specs=specs, robot_type="panda", resume=True) as writer:
        safe = sum(row.reason == Reason.SAFE_SUCCESS for row in writer.episodes)

        def enough() -> bool:
            made = len(writer.episodes)
            return (episodes is not None and safe >= episodes) or (
                max_attempts is not None and made >= max_attempts
            )

        on_attempt(Progress(len(writer.episodes), safe))
        if not enough():
            for attempt in attempts(settings, len(writer.episodes), workers):
                write(writer, attempt)
                safe += attempt.outcome.reason is Reason.SAFE_SUCCESS
                on_attempt(Progress(len(writer.episodes), safe))
                if enough():
                    break
    return lerobot_episodes(root) if (root / INFO).exists() else ()


def write(writer: LeRobotWriter, attempt: Attempt) -> None:
    """Write one attempt as the dataset's next episode."""
    outcome = attempt.outcome
    writer.add(
        attempt.episode,
        reason=str(outcome.reason),
        labels={
            "attempt": attempt.index,
            "draw": dict(attempt.draw),
            "triggers": dict(outcome.triggers),
            "violations": dict(outcome.violations),
            "message": outcome.message,
        },
    )
