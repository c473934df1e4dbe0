"""Recorded episodes: our own files, LeRobot, Minari, and demonstrations of simulator states."""

from safe_rl.data.annotations import Annotations, annotate, annotate_all
from safe_rl.data.demonstrations import (
    Demonstration,
    load_demonstrations,
    read_demonstrations,
    recorded_states,
    save_demonstrations,
)
from safe_rl.data.episode import Drift, Episode
from safe_rl.data.episode_writer import EpisodeWriter
from safe_rl.data.lerobot import (
    EpisodeSummary,
    LeRobotWriter,
    lerobot_episodes,
    load_annotations,
    load_lerobot,
)
from safe_rl.data.minari import load_minari
from safe_rl.data.relabelling import relabel
from safe_rl.data.replay import RecordedStates, Replay, ReplayedLetters, ShowsStates
from safe_rl.data.sources import Recording, find_recordings, load_recording
from safe_rl.data.store import SUFFIX, load_episodes, save_episodes

__all__ = [
    "SUFFIX",
    "Annotations",
    "Demonstration",
    "Drift",
    "Episode",
    "EpisodeSummary",
    "EpisodeWriter",
    "LeRobotWriter",
    "RecordedStates",
    "Recording",
    "Replay",
    "ReplayedLetters",
    "ShowsStates",
    "annotate",
    "annotate_all",
    "find_recordings",
    "lerobot_episodes",
    "load_annotations",
    "load_demonstrations",
    "load_episodes",
    "load_lerobot",
    "load_minari",
    "load_recording",
    "read_demonstrations",
    "recorded_states",
    "relabel",
    "save_demonstrations",
    "save_episodes",
]
