"""What became of an attempt: the gates of success and safety, by the monitors that evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from safe_rl.specs import SpecSet


class Reason(StrEnum):
    """Why an attempt is a demonstration, or is none."""

    SAFE_SUCCESS = "safe success"
    UNSAFE = "unsafe"
    GOAL_MISSED = "goal missed"
    GRASP_MISSED = "grasp missed"
    PLAN_FAILED = "plan failed"


@dataclass(frozen=True)
class Outcome:
    """What the gates say of an attempt.

    Attributes:
        reason: a violation goes before everything else.
        success: whether the goal was held long enough.
        triggers: events of each specification that was triggered, ``N``.
        violations: violations of each specification that was violated, ``V``.
        message: what the motion that failed says.
    """

    reason: Reason
    success: bool
    triggers: Mapping[str, int]
    violations: Mapping[str, int]
    message: str = ""


def judge(
    specs: SpecSet, info: Mapping[str, Any], failed: Reason | None = None, message: str = ""
) -> Outcome:
    """The outcome of an episode.

    Args:
        specs: of the monitors.
        info: of the episode's last step, or of its reset where no step was taken.
        failed: why its motions were left off, if they were.
        message: of the motion that failed.
    """
    counts = info["safety"].get("counts", {"N": 0, "V": 0})
    triggers, violations = (_by_id(specs, counts[name]) for name in ("N", "V"))
    success = bool(info["success"])
    if violations:
        reason = Reason.UNSAFE
    elif success:
        reason = Reason.SAFE_SUCCESS
    else:
        reason = failed or Reason.GOAL_MISSED
    return Outcome(reason, success, triggers, violations, message)


def _by_id(specs: SpecSet, counts: Any) -> dict[str, int]:
    every = np.broadcast_to(counts, len(specs.instances))
    sums = np.bincount(specs.instance_index, weights=every, minlength=len(specs))
    return {name: int(n) for name, n in zip(specs.ids, sums, strict=True) if n}
