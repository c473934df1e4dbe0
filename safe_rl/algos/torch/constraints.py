"""The constraints of a run: their names and limits, their costs per step and per episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.errors import ConfigurationError, near

__all__ = ["ConstraintSet", "EpisodeSums", "read_costs", "resolve_constraints"]

FloatArray = NDArray[np.float64]


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


def resolve_constraints(
    env: VecEnv, cost_limits: Sequence[float] | Mapping[str, float] | float | None, cost_key: str
) -> ConstraintSet:
    """Find the constraints of an environment.

    The environment's attribute ``constraints`` (as ``ProductMDP`` has it) gives names, kinds and
    limits; ``cost_limits`` replaces the limits: one number, a sequence in the constraints' order,
    or a mapping from names. ``[]`` trains without constraints. An environment without that
    attribute needs ``cost_limits``, or is trained without constraints.

    Raises:
        ConfigurationError: an unknown name, a wrong number of limits, or a limit that is no number.
    """
    try:
        declared = tuple(env.get_attr("constraints", [0])[0])
    except AttributeError:
        declared = ()
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


def read_costs(infos: Sequence[dict[str, Any]], constraints: ConstraintSet) -> FloatArray:
    """Return the costs of one step of every environment, ``[n_envs, K]``.

    A list of infos with an attribute ``arrays`` (see ``VectorEnvAdapter``) is read without a loop.

    Raises:
        ConfigurationError: the entry is missing, has another length, or is not finite; the message
            names the environment.
    """
    key, count = constraints.cost_key, len(constraints)
    shape = (len(infos), count)
    if not count:
        return np.zeros(shape)
    arrays = getattr(infos, "arrays", {})
    if key in arrays:
        costs = np.asarray(arrays[key], dtype=np.float64)
        if costs.ndim == 1:
            costs = costs[:, None]
    else:
        rows = []
        for index, info in enumerate(infos):
            if info.get("reset_step", False):  # next-step autoreset: no step, so no cost
                rows.append(np.zeros(count))
                continue
            if key not in info:
                raise ConfigurationError(
                    f"environment {index} gives no info[{key!r}]; its info holds "
                    f"{', '.join(map(repr, info)) or 'nothing'}. Wrap the environment in "
                    f"ProductMDP, or name the entry that holds the cost with cost_key="
                )
            rows.append(np.atleast_1d(np.asarray(info[key], dtype=np.float64)))
        costs = np.stack(rows) if len({row.shape for row in rows}) == 1 else np.array([])
    if costs.shape != shape:
        raise ConfigurationError(
            f"info[{key!r}] has costs of shape {costs.shape}, expected {shape} (environments, "
            f"constraints) for {', '.join(constraints.ids)}; give one limit per cost"
        )
    if not np.isfinite(costs).all():
        index = int(np.flatnonzero(~np.isfinite(costs).all(axis=1))[0])
        raise ConfigurationError(
            f"environment {index} gives info[{key!r}] = {costs[index].tolist()}; costs must be "
            f"finite"
        )
    return costs


class EpisodeSums:
    """Sums of each constraint's cost over each running episode, exact across rollouts.

    An episode that spans several rollouts is summed whole; its sum is handed out once, when it
    ends. A truncated guess is never handed out.

    >>> sums = EpisodeSums(num_envs=1, num_costs=1)
    >>> sums.add(np.array([[1.0]]), np.array([False]))
    array([], shape=(0, 1), dtype=float64)
    >>> sums.add(np.array([[2.0]]), np.array([True]))
    array([[3.]])
    >>> sums.add(np.array([[5.0]]), np.array([True]))
    array([[5.]])
    """

    def __init__(self, num_envs: int, num_costs: int) -> None:
        self.running: FloatArray = np.zeros((num_envs, num_costs))

    def add(self, costs: FloatArray, dones: NDArray[np.bool_]) -> FloatArray:
        """Add one step; return the sums of the episodes that it ended, ``[ended, K]``."""
        self.running += costs
        ended = self.running[dones].copy()
        self.running[dones] = 0.0
        return ended

    def clear(self) -> None:
        """Forget the running episodes, because the environments were reset."""
        self.running[:] = 0.0
