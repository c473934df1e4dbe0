"""Recorded episodes: our own files, LeRobot datasets, and demonstrations of simulator states."""

from safe_rl.data.demonstrations import Demonstration, load_demonstrations, read_demonstrations
from safe_rl.data.episode import Episode
from safe_rl.data.lerobot import load_lerobot
from safe_rl.data.replay import Replay, ReplayedLetters
from safe_rl.data.sources import Recording, find_recordings
from safe_rl.data.store import SUFFIX, EpisodeWriter, load_episodes, save_episodes

__all__ = [
    "SUFFIX",
    "Demonstration",
    "Episode",
    "EpisodeWriter",
    "Recording",
    "Replay",
    "ReplayedLetters",
    "find_recordings",
    "load_demonstrations",
    "load_episodes",
    "load_lerobot",
    "read_demonstrations",
    "save_episodes",
]
