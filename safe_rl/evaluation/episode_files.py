"""The files that show one episode: its timeline as figure and data, its violations in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safe_rl.evaluation.explanations import explain_violations
from safe_rl.evaluation.figures import timeline_figure
from safe_rl.evaluation.report import write_json
from safe_rl.evaluation.timeline import EpisodeTimeline


def write_episode(
    timeline: EpisodeTimeline,
    folder: Path,
    number: int,
    *,
    episode: int,
    title: str,
    frames: Sequence[Any] = (),
    seconds_per_step: float | None = None,
) -> list[Path]:
    """Write ``timeline_<n>.png``, ``timeline_<n>.json`` and ``violations_<n>.txt``.

    Args:
        timeline: of the episode.
        folder: exists or is made.
        number: ``n``.
        episode: its row in the records.
        title: of the figure and of the text.
        frames: one ``FrameRecord`` per letter, or nothing.
        seconds_per_step: control period, for the axis in seconds.

    Returns:
        The paths; there is no text where nothing was violated.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    words = folder / f"violations_{number}.txt"
    paths = []
    if timeline.violations:
        folder.mkdir(parents=True, exist_ok=True)
        words.write_text(explain_violations(timeline, frames, title), encoding="utf-8")
        paths.append(words)
    document = {"episode": episode, **timeline.to_json()}
    paths.insert(0, write_json(folder / f"timeline_{number}.json", document))
    # the figure last: without matplotlib, text and data are there
    figure = folder / f"timeline_{number}.png"
    timeline_figure(timeline, figure, title=title, seconds_per_step=seconds_per_step)
    return [figure, *paths]
