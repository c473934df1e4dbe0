"""Monitor events as reward, for learners that know no cost; many environments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.logic import Formula
from safe_rl.wrappers.features import ObservationMerger
from safe_rl.wrappers.reward import checked_gamma, one_task_vector, task_features, task_of
from safe_rl.wrappers.reward_terms import (
    EventRewards,
    MonitorPotential,
    Potential,
    TaskFormula,
    Weight,
    chosen_instances,
    shaped,
)
from safe_rl.wrappers.snapshot import load_vector_env, save_vector_env
from safe_rl.wrappers.vector.cutting import restart_rows, show_next_episodes, without_rows
from safe_rl.wrappers.vector.product import Seeds, VectorProductMDP
from safe_rl.wrappers.vector.rows import split_reset_mask, take_row

Bools = NDArray[np.bool_]


class VectorSafetyReward(VectorWrapper[Any, Any, Any, Any, Any]):
    """Vector twin of :class:`safe_rl.wrappers.SafetyReward`, with the same terms and arguments.

    The environment's own rewards are kept in ``infos["task_reward"]``, ``[num_envs]``. Where
    ``terminate`` or a task ends an episode that the environment would let run on, the row is reset
    as the autoreset mode says, for which the environment has to know ``options["reset_mask"]``.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        violation: Weight = 0.0,
        exposure: Weight = 0.0,
        recovery: Weight = 0.0,
        fulfilled: Weight = 0.0,
        shaping: Weight = 0.0,
        potential: Potential = "accepting",
        gamma: float | None = None,
        terminate: bool | Collection[str] = False,
        task: TaskFormula | str | Formula | None = None,
    ) -> None:
        """Wrap ``env``; see :class:`safe_rl.wrappers.SafetyReward` for the arguments.

        Raises:
            ConfigurationError: there is no ``VectorProductMDP`` in ``env``, an id is unknown, or
                ``gamma`` is missing or out of range.
        """
        super().__init__(env)
        self.product = vector_product_of(env)
        specs = self.product.specs
        self._events = EventRewards(specs, violation, exposure, recovery, fulfilled)
        self._potential: MonitorPotential | None = None
        if shaping != 0.0:
            machines = self.product.episodes.tables.machines
            self._potential = MonitorPotential(specs, machines, shaping, potential)
        self._fatal = chosen_instances(specs, terminate)
        self._task = task_of(task)
        self._gamma = checked_gamma(gamma, self._potential is not None, self._task)
        if self._task is not None:
            self._features = task_features(self._task)
            self._merger = ObservationMerger(
                env.single_observation_space, self._features.low, self._features.high, key="task"
            )
            self.single_observation_space = self._merger.space
            self.observation_space = batch_space(self._merger.space, self.num_envs)
        self._phi = np.zeros(self.num_envs)
        self._task_states = np.zeros(self.num_envs, np.int64)
        self._first = np.ones(self.num_envs, np.bool_)
        self._cut = np.zeros(self.num_envs, np.bool_)  # ended here, and not reset yet

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of ``options["reset_mask"]``."""
        options, rows = split_reset_mask(options, self.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._begin(rows, infos)
        self._first = self._first | rows
        self._cut = self._cut & ~rows
        return self._observe(observations, self._task_states), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step, and pay what the monitors saw.

        Raises:
            ResetNeededError: (``DISABLED``) on an episode that has ended.
        """
        mode = self.product.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._cut.any():
            raise ResetNeededError(
                f"environments {np.flatnonzero(self._cut)[:8].tolist()} have ended; reset them "
                "with reset(options={'reset_mask': mask}) before the next step"
            )
        observations, own, terminations, truncations, infos = self.env.step(actions)
        own = np.array(own, np.float64)
        terminations = np.array(terminations, np.bool_)
        truncations = np.array(truncations, np.bool_)
        if self._cut.any():  # NEXT_STEP: the reset of these rows is due now
            cut = self._cut
            infos = without_rows(infos, cut)
            observations, infos = restart_rows(self.env, cut, observations, infos)
            own[cut], terminations[cut], truncations[cut] = 0.0, False, False
        begun = ~infos["_cost"]
        states = self._advance_task(infos, begun, terminations | truncations)
        cut = self._to_cut(infos, states, begun) & ~(terminations | truncations)
        if cut.any():
            self.product.end_episodes(cut, infos)
            terminations |= cut
        infos["task_reward"], infos["_task_reward"] = own, ~begun
        rewards = self._rewards(own, infos, states, terminations)
        rewards[begun] = 0.0
        ended = terminations | truncations
        self._first = begun
        if mode is AutoresetMode.SAME_STEP and ended.any():
            observations, infos = self._next_episodes(observations, infos, states, ended, cut)
            states = self._task_states
        else:
            self._task_states = states
            self._remember(infos["safety"]["states"])
            self._cut = cut
        return self._observe(observations, states), rewards, terminations, truncations, infos

    def get_state(self) -> dict[str, Any]:
        """Return what an exact continuation needs, the wrapped environments included."""
        return {
            "phi": self._phi.copy(),
            "task": self._task_states.copy(),
            "first": self._first.copy(),
            "cut": self._cut.copy(),
            "env": save_vector_env(self.env),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned."""
        load_vector_env(self.env, state["env"])
        self._phi = state["phi"].copy()
        self._task_states = state["task"].copy()
        self._first = state["first"].copy()
        self._cut = state["cut"].copy()

    def _begin(self, rows: Bools, infos: dict[str, Any]) -> None:
        """Take in the first letters of new episodes in ``rows``."""
        if self._task is not None:
            start = np.full(self.num_envs, self._task.initial, np.int64)
            states = self._task.step(start, infos["propositions"])
            self._task_states = np.where(rows, states, self._task_states)
        self._remember(self.product.episodes.state.automaton)

    def _remember(self, states: NDArray[Any]) -> None:
        if self._potential is not None:
            self._phi = self._potential.of(states)

    def _advance_task(self, infos: dict[str, Any], begun: Bools, ended: Bools) -> NDArray[np.int64]:
        """Return the task's states after the step's letters."""
        if self._task is None:
            return self._task_states
        named = infos["propositions"]
        if self.product.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            final = infos["final_info"]["propositions"]
            named = {
                name: np.where(ended, final[name], named[name]) for name in named if name in final
            }
        before = np.where(begun, self._task.initial, self._task_states)
        return self._task.step(before, named)

    def _to_cut(self, infos: dict[str, Any], states: NDArray[Any], begun: Bools) -> Bools:
        happened = infos["safety"]["happened"]
        cut: Bools = (happened.violated[:, self._fatal] > 0).any(axis=1)
        if self._task is not None and self._task.task.ends_episode:
            cut = cut | self._task.decided(states)
        return cut & ~begun

    def _rewards(
        self,
        own: NDArray[np.float64],
        infos: dict[str, Any],
        states: NDArray[Any],
        terminations: Bools,
    ) -> NDArray[np.float64]:
        task, safety = self._task, infos["safety"]
        rewards = own.copy() if task is None or task.task.keep_reward else np.zeros_like(own)
        rewards += self._events.of(safety["happened"])
        if self._potential is not None:
            phi = self._potential.of(safety["states"])
            rewards += shaped(self._phi, phi, terminations, self._gamma)
        if task is not None:
            rewards += task.reward(
                self._task_states, states, self._first, terminations, self._gamma
            )
        return rewards

    def _next_episodes(
        self,
        observations: Any,
        infos: dict[str, Any],
        states: NDArray[Any],
        ended: Bools,
        cut: Bools,
    ) -> tuple[Any, dict[str, Any]]:
        """SAME_STEP: show the first states of the next episodes in the rows that ended."""
        if cut.any():
            observations, infos = show_next_episodes(self.env, cut, observations, infos)
        if self._task is not None and infos.get("final_obs") is not None:
            vectors = one_task_vector(self._features, states)
            final = np.full(self.num_envs, None, dtype=object)
            for row in np.flatnonzero(ended):
                own = take_row(infos["final_obs"], int(row))
                final[row] = None if own is None else self._merger.merge(own, vectors[row])
            infos["final_obs"] = final
        self._task_states = states
        self._begin(ended, infos)
        self._first = ended
        return observations, infos

    def _observe(self, observations: Any, states: NDArray[Any]) -> Any:
        if self._task is None:
            return observations
        return self._merger.merge(observations, one_task_vector(self._features, states))


def vector_product_of(env: VectorEnv[Any, Any, Any]) -> VectorProductMDP:
    """Return the ``VectorProductMDP`` among the wrappers of ``env``.

    Raises:
        ConfigurationError: there is none.
    """
    layer: Any = env
    while isinstance(layer, VectorWrapper):
        if isinstance(layer, VectorProductMDP):
            return layer
        layer = layer.env
    raise ConfigurationError(
        f"{env} has no VectorProductMDP among its wrappers, so there are no monitors to read; "
        "wrap it first: VectorProductMDP(envs, specs, grounding)"
    )
