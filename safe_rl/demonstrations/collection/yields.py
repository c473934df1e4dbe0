"""What a collection's attempts brought, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safe_rl.data.lerobot import EpisodeSummary
from safe_rl.demonstrations.engine.gate import Reason


@dataclass(frozen=True)
class Yields:
    """Counts over attempts.

    Attributes:
        attempts: all of them.
        reasons: each :class:`Reason` to its attempts.
        steps: each reason to the control steps of its attempts.
        unsafe_successes: attempts that reached the goal and violated something.
        violated: specification to the attempts that violated it.
    """

    attempts: int
    reasons: Mapping[str, int]
    steps: Mapping[str, int]
    unsafe_successes: int
    violated: Mapping[str, int]


def yields_of(episodes: Sequence[EpisodeSummary]) -> Yields:
    """Count a collection's episodes."""
    reasons = Counter(row.reason for row in episodes)
    steps: Counter[str] = Counter()
    violated: Counter[str] = Counter()
    for row in episodes:
        steps[row.reason] += row.steps
        violated.update(row.labels.get("violations", {}).keys())
    return Yields(
        attempts=len(episodes),
        reasons={str(reason): reasons[str(reason)] for reason in Reason},
        steps={str(reason): steps[str(reason)] for reason in Reason},
        unsafe_successes=sum(row.reason == Reason.UNSAFE and bool(row.success) for row in episodes),
        violated=dict(violated.most_common()),
    )
