"""The host's part of an iteration: one run's controller, and the episodes that it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.constraint_set import ConstraintSet
from safe_rl.algos.controllers import Controller, make_controller
from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.state import EndedEpisodes
from safe_rl.errors import ConfigurationError

__all__ = ["Multipliers", "controller_of", "copy_controller"]

FloatArray = NDArray[np.float64]


class Multipliers:
    """Moves the multipliers of one run from the episodes that ended, and from nothing else.

    Attributes:
        controller: the controller.
        updates: how often the multipliers moved.
        episodes: episodes that ended so far.
    """

    def __init__(
        self, controller: Controller, constraints: ConstraintSet, arguments: Arguments
    ) -> None:
        self.controller = controller
        self._constraints = constraints
        self._arguments = arguments
        self.controller.start(len(constraints))
        self.updates = 0
        self.episodes = 0
        self._count = 0
        self._sums: FloatArray = np.zeros(len(constraints))

    @property
    def values(self) -> FloatArray:
        """The multipliers now in use, ``[K]``."""
        return self.controller.multipliers

    def take(
        self, ended: EndedEpisodes, progress: float, triggered: Mapping[str, float]
    ) -> dict[str, float]:
        """Take the episodes that ended in an iteration; return what is logged of it.

        Args:
            ended: sums over the episodes.
            progress: fraction of the training that is done, 0 to 1.
            triggered: N per episode, lately, of limits per trigger.
        """
        ids, limits = self._constraints.ids, np.asarray(self._constraints.limits)
        count = int(ended.episodes)
        self.episodes += count
        self._count += count
        self._sums = self._sums + np.asarray(ended.costs, np.float64)
        row: dict[str, float] = {}
        if ids and self._count >= self._arguments.multiplier_min_episodes:
            measured = self._sums / self._count
            self._count, self._sums = 0, np.zeros(len(ids))
            scales = np.asarray(self._constraints.scales)
            unit = scales if self._arguments.relative_violations else np.ones(len(ids))
            aims = self._constraints.aims(self._arguments.limit_margin, triggered)
            self.controller.update(measured / unit, aims / unit, progress=progress)
            self.updates += 1
            for name, violation in zip(ids, measured - limits, strict=True):
                row[f"violation/{name}"] = float(violation)
        for name, multiplier, limit in zip(ids, self.values, limits, strict=True):
            row[f"lambda/{name}"] = float(multiplier)
            row[f"limit/{name}"] = float(limit)
        row["rollout/episodes"] = self.episodes
        return row

    def state_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        return {
            "controller": self.controller.state_dict(),
            "updates": self.updates,
            "episodes": self.episodes,
            "pending_count": self._count,
            "pending_sums": self._sums.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned.

        Raises:
            ConfigurationError: it belongs to another controller.
        """
        self.controller.load_state_dict(state["controller"])
        self.updates = int(state["updates"])
        self.episodes = int(state["episodes"])
        self._count = int(state["pending_count"])
        self._sums = np.asarray(state["pending_sums"], np.float64)


def copy_controller(controller: Controller) -> Controller:
    """Return a controller of the same kind and arguments, not yet started."""
    config = controller.config()
    return make_controller(config.pop("kind"), **config)


def controller_of(given: str | Controller, arguments: Mapping[str, Any] | None) -> Controller:
    """Return a controller from its name and arguments, or the one that is given.

    Raises:
        ConfigurationError: an unknown name, or arguments beside a controller.
    """
    if not isinstance(given, Controller):
        return make_controller(given, **(arguments or {}))
    if arguments:
        raise ConfigurationError(
            f"controller is {given!r} already, so controller_kwargs {dict(arguments)} would be "
            f"ignored; give the controller's name, or no controller_kwargs"
        )
    return given
