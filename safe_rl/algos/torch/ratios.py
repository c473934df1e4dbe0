"""Violations per triggered event, V/N, over the recent episodes, for the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos.torch.constraints import ConstraintSet

__all__ = ["TriggerRatios"]


class TriggerRatios:
    """V/N of each per-trigger constraint over the last episodes that reported counts.

    The sum of V over the sum of N, never a mean of ratios: an episode without a triggered event has
    no ratio, and does not count as a pass.

    Args:
        constraints: of the run.
        env: its specifications say which monitor instances belong to which constraint.
        window: how many episodes.
    """

    def __init__(self, constraints: ConstraintSet, env: VecEnv | None, window: int) -> None:
        self.counts: deque[list[list[float]]] = deque(maxlen=window)  # per episode: V..., N...
        self.columns: dict[str, np.ndarray] = {}
        rated = [
            name
            for name, kind in zip(constraints.ids, constraints.kinds, strict=True)
            if kind == "per_trigger"
        ]
        if not rated or env is None or not env.has_attr("specs"):
            return
        specs = env.get_attr("specs", [0])[0]
        for name in rated:
            if name in specs.ids:
                index = list(specs.ids).index(name)
                self.columns[name] = np.flatnonzero(np.asarray(specs.instance_index) == index)

    def add(self, info: Mapping[str, Any]) -> None:
        """Take the counts of an episode that ended, where its info reports them."""
        counts = info.get("safety", {}).get("counts") if self.columns else None
        if counts is None:
            return
        violated, triggered = np.asarray(counts["V"]), np.asarray(counts["N"])
        self.counts.append(
            [
                [float(violated[columns].sum()) for columns in self.columns.values()],
                [float(triggered[columns].sum()) for columns in self.columns.values()],
            ]
        )

    def triggered(self) -> dict[str, float]:
        """Return N per episode of each constraint that was counted, by name."""
        if not self.counts:
            return {}
        means = np.mean([triggered for _, triggered in self.counts], axis=0)
        return dict(zip(self.columns, means.tolist(), strict=True))

    def means(self) -> dict[str, float]:
        """Return V/N of each constraint that was triggered at all, by name."""
        if not self.counts:
            return {}
        violated, triggered = np.sum(list(self.counts), axis=0)
        return {
            name: float(v / n)
            for name, v, n in zip(self.columns, violated, triggered, strict=True)
            if n > 0
        }
