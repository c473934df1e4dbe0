"""The constraints of a run: their names, their limits, and what a violation is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near

__all__ = ["ConstraintSet", "constraint_set"]


@dataclass(frozen=True)
class ConstraintSet:
    """Names and limits of the constraints of a run.

    Attributes:
        ids: one name per constraint, as in the logs (``lambda/<id>``, ``cost/<id>``).
        limits: the bound on the expected sum of each constraint's cost over an episode.
        kinds: "episode", "probability" or "per_trigger", where the environment says so.
        cost_key: the entry of ``info`` that holds the costs of a step.
        scales: what a violation is compared with where it is taken relative: the limit as the
            specification gives it (for a per-trigger limit the rate d, whose bound here is 0), and
            1 where there is none or it is 0.
    """

    ids: tuple[str, ...]
    limits: tuple[float, ...]
    kinds: tuple[str, ...]
    cost_key: str
    scales: tuple[float, ...]

    def __len__(self) -> int:
        """Return the number of constraints."""
        return len(self.ids)

    def aims(self, margin: float, triggered: Mapping[str, float]) -> NDArray[np.float64]:
        """What a controller aims at, ``[K]``: the limits, less a reserve of ``margin``.

        A policy that triggers nothing costs 0 under a limit per trigger, and can cost no less. The
        reserve is for the triggered events that there are: a fixed one would be missed by such a
        policy for ever, and its multiplier would grow without end.

        Args:
            margin: the reserve, as a part of each limit as its specification gives it.
            triggered: N, triggered events per episode, of limits per trigger where it is known.
                From one event on the reserve is whole.
        """
        shares = [min(triggered.get(name, 1.0), 1.0) for name in self.ids]
        return np.asarray(self.limits) - margin * np.asarray(self.scales) * np.asarray(shares)


def constraint_set(
    declared: Sequence[Any],
    cost_limits: Sequence[float] | Mapping[str, float] | float | None = None,
    cost_key: str = "constraint_costs",
) -> ConstraintSet:
    """Return the constraints that an environment declares, under other limits where they are given.

    Args:
        declared: what ``ProductMDP.constraints`` holds (``id``, ``kind``, ``value``,
            ``threshold``); may be empty.
        cost_limits: replaces the limits: one number, a sequence in the constraints' order, or a
            mapping from names. ``[]`` trains without constraints. It is needed where nothing is
            declared and costs are to be constrained.
        cost_key: the entry of ``info`` that holds the costs of a step.

    Raises:
        ConfigurationError: an unknown name, a wrong number of limits, or a limit that is no number.
    """
    ids = tuple(str(constraint.id) for constraint in declared)
    kinds = tuple(str(constraint.kind) for constraint in declared)
    limits: list[float]
    if cost_limits is None:
        limits = [float(constraint.threshold) for constraint in declared]
    elif isinstance(cost_limits, Mapping):
        if declared:
            for name in cost_limits:
                if name not in ids:
                    raise ConfigurationError(
                        f"cost_limits names {name!r}, which is no constraint of the environment"
                        f"{near(str(name), ids)}; its constraints are {', '.join(ids)}"
                    )
            by_name = {c.id: float(c.threshold) for c in declared} | dict(cost_limits)
            limits = [by_name[name] for name in ids]
        else:
            ids = tuple(str(name) for name in cost_limits)
            limits = list(cost_limits.values())
    else:
        limits = [float(x) for x in np.atleast_1d(np.asarray(cost_limits, dtype=np.float64))]
        if not limits:
            return ConstraintSet((), (), (), cost_key, ())
        if declared and len(limits) != len(ids):
            raise ConfigurationError(
                f"cost_limits gives {len(limits)} limits {limits}, but the environment has "
                f"{len(ids)} constraints: {', '.join(ids)}"
            )
        if not declared:
            ids = ("cost",) if len(limits) == 1 else tuple(f"cost_{i}" for i in range(len(limits)))
    limits = [float(limit) for limit in limits]
    if not np.isfinite(limits).all():
        raise ConfigurationError(f"cost limits must be finite numbers, got {limits}")
    if len(set(ids)) != len(ids):
        raise ConfigurationError(f"constraint names must differ, got {', '.join(ids)}")
    given = [float(getattr(constraint, "value", 0.0)) for constraint in declared] or limits
    scales = tuple(value if value > 0.0 else 1.0 for value in given)
    return ConstraintSet(ids, tuple(limits), kinds or ("episode",) * len(ids), cost_key, scales)
