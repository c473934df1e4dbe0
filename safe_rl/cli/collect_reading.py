"""Reading a collection for ``safe-rl coverage`` and for ``safe-rl collect steer=``."""

from __future__ import annotations

from pathlib import Path

from safe_rl.data import Episode
from safe_rl.data.lerobot import EpisodeSummary, lerobot_episodes, load_lerobot
from safe_rl.data.lerobot.layout import INFO
from safe_rl.errors import RecordingError


def read_collection(root: Path) -> tuple[list[Episode], tuple[EpisodeSummary, ...]]:
    """The episodes of a LeRobot dataset, without what was observed, and what it says of each.

    Raises:
        RecordingError: there is no such dataset, or it is damaged.
    """
    if not (root / INFO).is_file():
        raise RecordingError(f"{root}: no LeRobot dataset (it has no {INFO})")
    episodes = list(load_lerobot(root, observations=False))
    return episodes, lerobot_episodes(root)
