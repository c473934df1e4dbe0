"""LeRobot v3.0 datasets with ``safety.*`` columns: written crash-safe, read back exactly.

``LeRobotWriter`` and ``load_lerobot`` are the two ways; ``docs/datasets.md`` says what is where.
"""

from safe_rl.data.lerobot.reader import load_annotations, load_lerobot
from safe_rl.data.lerobot.rows import EpisodeSummary, lerobot_episodes
from safe_rl.data.lerobot.writer import LeRobotWriter

__all__ = [
    "EpisodeSummary",
    "LeRobotWriter",
    "lerobot_episodes",
    "load_annotations",
    "load_lerobot",
]
