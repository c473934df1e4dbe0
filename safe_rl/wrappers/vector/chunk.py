"""Several actions at a time, with the cost of each; many environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.wrappers.chunk import PER_STEP, checked_chunk
from safe_rl.wrappers.snapshot import load_vector_env, save_vector_env
from safe_rl.wrappers.tally import Happened
from safe_rl.wrappers.vector.cutting import restart_rows, with_reset, without_rows
from safe_rl.wrappers.vector.product import Seeds
from safe_rl.wrappers.vector.reward import vector_product_of
from safe_rl.wrappers.vector.rows import merge_infos, put_rows, reset_rows, split_reset_mask

Bools = NDArray[np.bool_]


class VectorChunkedSteps(VectorWrapper[Any, Any, Any, Any, Any]):
    """Vector twin of :class:`safe_rl.wrappers.ChunkedSteps`: actions ``[num_envs, chunk, ...]``.

    ``infos["chunk_cost"]``, ``"chunk_rewards"`` and ``"chunk_mask"`` are ``[num_envs, chunk]``,
    ``"chunk_costs"`` is ``[num_envs, chunk, S]``, and ``"chunk_constraint_costs"``
    ``[num_envs, chunk, K]``.

    A row whose episode ends within a chunk plays no further action of it, and is reset as the
    autoreset mode says: at the next call (``NEXT_STEP``, which plays nothing in that row), at the
    end of this one (``SAME_STEP``), or by the caller. The other rows go on meanwhile, for which the
    environment has to know ``options["reset_mask"]``.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], chunk: int) -> None:
        """Wrap ``env``, which has a :class:`VectorProductMDP` among its wrappers.

        Args:
            env: The vector environment.
            chunk: Number of actions in a chunk.

        Raises:
            ConfigurationError: ``chunk`` is less than 1, there is no ``VectorProductMDP``, or the
                actions are no arrays.
        """
        super().__init__(env)
        self.product = vector_product_of(env)
        self.chunk = checked_chunk(chunk)
        arrays = spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
        if not isinstance(env.single_action_space, arrays):
            raise ConfigurationError(
                f"chunks need actions that are arrays, but the action space is "
                f"{env.single_action_space}; flatten it first (gymnasium.wrappers.FlattenAction)"
            )
        self.single_action_space = batch_space(env.single_action_space, chunk)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._due = np.zeros(self.num_envs, np.bool_)  # ended, and not reset yet

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of ``options["reset_mask"]``."""
        options, rows = split_reset_mask(options, self.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._due = self._due & ~rows
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play the actions ``[num_envs, chunk, ...]``.

        Raises:
            ResetNeededError: (``DISABLED``) on an episode that has ended.
            ConfigurationError: ``actions`` has another shape.
        """
        mode = self.product.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._due.any():
            raise ResetNeededError(
                f"environments {np.flatnonzero(self._due)[:8].tolist()} have ended; reset them "
                "with reset(options={'reset_mask': mask}) before the next step"
            )
        played = _Played(self.num_envs, self.chunk)
        active = ~self._due
        actions = self._checked(actions)
        observations, infos = self._play(actions, active, played)
        ended = played.terminations | played.truncations
        if mode is AutoresetMode.SAME_STEP:
            # Rows that went on after their end are somewhere in a next episode: begin it anew.
            strayed = ended & ~played.fresh
            if strayed.any():
                observations, new = reset_rows(self.env, strayed, None, observations)
                infos = with_reset(infos, new, strayed)
        else:
            if self._due.any():
                observations, infos = restart_rows(self.env, self._due, observations, infos)
            if played.last_observations is not None:
                observations = put_rows(observations, ended, played.last_observations)
            self._due = ended
        played.write(infos)
        return (
            observations,
            played.rewards.sum(axis=1),
            played.terminations,
            played.truncations,
            infos,
        )

    def get_state(self) -> dict[str, Any]:
        """Return what an exact continuation needs, the wrapped environments included."""
        return {"due": self._due.copy(), "env": save_vector_env(self.env)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned."""
        load_vector_env(self.env, state["env"])
        self._due = state["due"].copy()

    def _play(
        self, actions: NDArray[Any], active: Bools, played: _Played
    ) -> tuple[Any, dict[str, Any]]:
        """Play the chunk; return the last observations, and infos of each row's last action."""
        earlier: list[tuple[Bools, dict[str, Any]]] = []
        observations: Any = None
        infos: dict[str, Any] = {}
        for k in range(self.chunk):
            observations, rewards, terminations, truncations, infos = self.env.step(actions[:, k])
            over = np.logical_or(terminations, truncations)
            infos = without_rows(infos, ~active)
            ended = active & over
            played.add(k, active, rewards, infos)
            played.fresh = ended
            if ended.any():
                played.end(ended, observations, terminations, truncations)
                earlier.append((ended, infos))
            active = active & ~over
            if k + 1 == self.chunk or not active.any():
                break
            if self.product.autoreset_mode is AutoresetMode.DISABLED and over.any():
                # The rows that are over are stepped along with the others.
                observations, _ = reset_rows(self.env, over, None, observations)
        for ended, then in earlier:
            infos = merge_infos(infos, then, ended)
        return observations, infos

    def _checked(self, actions: Any) -> NDArray[Any]:
        given = np.asarray(actions)
        if given.shape[:2] != (self.num_envs, self.chunk):
            raise ConfigurationError(
                f"actions must have the shape ({self.num_envs}, {self.chunk}, ...), one chunk for "
                f"each environment, but have {given.shape}"
            )
        return given


class _Played:
    """What the actions of one chunk brought, row by row."""

    def __init__(self, num_envs: int, chunk: int) -> None:
        self._shape = (num_envs, chunk)
        self.rewards = np.zeros(self._shape)
        self.mask = np.zeros(self._shape, np.bool_)
        self.terminations = np.zeros(num_envs, np.bool_)
        self.truncations = np.zeros(num_envs, np.bool_)
        self.fresh = np.zeros(num_envs, np.bool_)  # ended with the last action of all
        self.last_observations: Any = None
        self._costs: dict[str, NDArray[np.float64]] = {}
        self._happened: Happened | None = None

    def add(self, k: int, active: Bools, rewards: Any, infos: dict[str, Any]) -> None:
        self.mask[:, k] = active
        self.rewards[:, k] = np.where(active, rewards, 0.0)
        for key in PER_STEP:
            value = infos[key]
            if key not in self._costs:
                self._costs[key] = np.zeros((*self._shape, *value.shape[1:]))
            self._costs[key][:, k] = value
        happened = infos["safety"]["happened"]
        if self._happened is not None:
            pairs = zip(self._happened, happened, strict=True)
            happened = Happened(*(a + b for a, b in pairs))
        self._happened = happened

    def end(self, rows: Bools, observations: Any, terminations: Any, truncations: Any) -> None:
        self.terminations |= rows & np.asarray(terminations, np.bool_)
        self.truncations |= rows & np.asarray(truncations, np.bool_)
        if self.last_observations is None:
            self.last_observations = observations
        else:
            self.last_observations = put_rows(self.last_observations, rows, observations)

    def write(self, infos: dict[str, Any]) -> None:
        any_played = self.mask.any(axis=1)
        for key, values in self._costs.items():
            infos[key], infos[f"_{key}"] = values.sum(axis=1), any_played
            infos[f"chunk_{key}"], infos[f"_chunk_{key}"] = values, any_played
        infos["chunk_rewards"], infos["_chunk_rewards"] = self.rewards, any_played
        infos["chunk_mask"], infos["_chunk_mask"] = self.mask, any_played
        infos["safety"] = {**infos["safety"], "happened": self._happened}
