"""The constraints of a run: their names and limits, their costs per step and per episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos.constraint_set import ConstraintSet, constraint_set
from safe_rl.errors import ConfigurationError

__all__ = ["ConstraintSet", "EpisodeSums", "read_costs", "resolve_constraints"]

FloatArray = NDArray[np.float64]


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
    return constraint_set(declared, cost_limits, cost_key)


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
