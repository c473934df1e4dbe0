"""Demonstrations with what the monitors say of them, ready to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.imitation.windows import Windows, kept, windows_of
from safe_rl.data import Annotations, Episode, annotate
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import Statistics, statistics_of
from safe_rl.specs import SpecSet


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Episodes, their annotations, and their moments.

    Attributes:
        episodes: recorded with observations and actions.
        annotations: of each.
        windows: the moments of all.
    """

    episodes: tuple[Episode, ...]
    annotations: tuple[Annotations, ...]
    windows: Windows

    @classmethod
    def of(
        cls, episodes: Sequence[Episode], specs: SpecSet, *, chunk: int, horizon: int | None = None
    ) -> Demonstrations:
        """Annotate episodes and cut them into moments; see :func:`windows_of`."""
        found = tuple(annotate(episode, specs) for episode in episodes)
        windows = windows_of(episodes, found, chunk=chunk, horizon=horizon)
        return cls(tuple(episodes), found, windows)

    def kept(self, keep: str) -> NDArray[np.bool_]:
        """Return which demonstrations a rule keeps; see :func:`kept`."""
        return kept(self.episodes, self.annotations, keep)

    def statistics(self) -> Statistics:
        """Return the normalisation of states and actions."""
        return statistics_of(
            [episode.observations["state"] for episode in self.episodes],
            [np.asarray(e.actions).reshape(e.steps, -1) for e in self.episodes],
        )

    def trigger_limits(self) -> dict[str, float]:
        """Return the limits per trigger of the specifications that are ever triggered, by id.

        Raises:
            ConfigurationError: none that is triggered in a demonstration has one.
        """
        seen = dict(zip(self.windows.ids, self.windows.triggers.sum(axis=0), strict=True))
        limits = {
            spec.id: spec.limit.value
            for spec in self.annotations[0].specs
            if spec.limit is not None
            and spec.limit.kind == "per_trigger"
            and spec.limit.value > 0
            and seen[spec.id] > 0
        }
        if not limits:
            raise ConfigurationError(
                "no specification with a limit per trigger above 0 is triggered in these "
                f"demonstrations ({', '.join(self.windows.ids)}); the method 'lagrangian' bounds "
                "violations per trigger"
            )
        return limits
