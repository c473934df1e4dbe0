"""Annotating recorded episodes under other specifications, without the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from safe_rl.data.lerobot import EpisodeSummary, LeRobotWriter, lerobot_episodes
from safe_rl.data.lerobot.description import read_description
from safe_rl.data.lerobot.layout import SAFETY
from safe_rl.data.sources import Recording, find_recordings, load_recording
from safe_rl.errors import RecordingError
from safe_rl.specs import Specs, load_specs

FPS: Final = 20
"""Control steps in a second of what does not say it: all environments here are so controlled."""


def relabel(
    source: str | Path,
    out: str | Path,
    specs: Specs,
    *,
    objects: Mapping[str, Sequence[str]] | None = None,
    fps: int | None = None,
    on_episode: Callable[[int], None] | None = None,
) -> list[EpisodeSummary]:
    """Write the episodes of a dataset into a LeRobot dataset, annotated under ``specs``.

    The letters that were logged are all that the monitors read; observations, actions, rewards,
    states, reasons and labels are carried over. Cameras that were kept as videos are encoded again.

    Args:
        source: a folder or file, of whatever kind :func:`safe_rl.data.find_recordings` finds.
        out: folder of the new dataset.
        specs: what :func:`safe_rl.specs.load_specs` takes.
        objects: property to objects, instead of those that the recording names.
        fps: control steps in a second; 20 where neither this nor the recording says it.
        on_episode: called with the number of episodes written so far.

    Returns:
        What the new dataset says of each episode.

    Raises:
        GroundingError: a proposition was not logged; the message names it, and what is there.
        RecordingError: the dataset is damaged, or ``out`` holds one already.
    """
    recordings = find_recordings([source])
    loaded = load_specs(specs)
    said = _said(recordings)
    first = recordings[0].root
    described = None if first is None else read_description(first)
    writer = LeRobotWriter(
        out,
        fps=fps or (FPS if described is None else described.fps),
        specs=loaded,
        robot_type="" if described is None else described.robot_type,
        video=described is not None and bool(described.videos),
    )
    with writer:
        for recording in recordings:
            for episode in load_recording(recording):
                own = {**episode.objects, **{k: tuple(v) for k, v in (objects or {}).items()}}
                notes = said.get(len(writer.episodes), {})
                index = writer.add(replace(episode, objects=own), **notes)
                if on_episode is not None:
                    on_episode(index + 1)
            writer.flush()
    return writer.episodes


def _said(recordings: Sequence[Recording]) -> dict[int, dict[str, Any]]:
    """Reason and labels of each episode, where one dataset of our own is relabelled."""
    roots = {recording.root for recording in recordings}
    if len(roots) > 1:
        raise RecordingError(
            f"{len(roots)} datasets in one folder: "
            f"{', '.join(sorted(map(str, roots)))}; relabel one after the other"
        )
    (root,) = roots
    if root is None or not (root / SAFETY).is_file():
        return {}
    return {
        own.index: {"reason": own.reason, "labels": own.labels} for own in lerobot_episodes(root)
    }
