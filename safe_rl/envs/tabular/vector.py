"""An array of environments that sample one ``TransitionModel`` in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from safe_rl.envs.tabular.env import DRAWS_PER_CALL
from safe_rl.envs.tabular.model import TransitionModel
from safe_rl.envs.tabular.observe import observation_table
from safe_rl.envs.tabular.streams import key_of_seed, uniform_array
from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.wrappers.vector.rows import final_infos, seeds_of, split_reset_mask

_DRAWS = np.uint64(DRAWS_PER_CALL)


class TabularVectorEnv(VectorEnv[Any, Any, Any]):
    """Vector twin of ``TabularEnv``: same seeds, same actions, bit for bit the same traces.

    All of Gymnasium's autoreset modes. ``info["success"]`` and ``info["engaged"]`` are ``bool
    [num_envs]``. In ``SAME_STEP`` mode ``info["final_obs"]`` holds, in the rows marked by
    ``info["_final_obs"]``, the last observation of the episode that ended, and ``final_info`` its
    ``success``, ``engaged`` and ``propositions`` (``bool [num_envs, P]``).

    Args:
        num_envs: Number of environments.
        model: What to sample from.
        observation: ``"index"`` or ``"features"``.
        features: ``float32 [S, D]``, needed by ``observation="features"``.
        engaging: ``bool [S]``, see ``TabularEnv``.
        goal: Return from which an episode counts as a success.
        autoreset_mode: A Gymnasium ``AutoresetMode`` or its value.
    """

    def __init__(
        self,
        num_envs: int,
        model: TransitionModel,
        *,
        observation: str = "index",
        features: NDArray[np.float32] | None = None,
        engaging: NDArray[np.bool_] | None = None,
        goal: float = 1.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if num_envs < 1:
            raise ConfigurationError(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.model = model
        self.goal = goal
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        space, self.observation_table = observation_table(model, features, observation)
        self.single_observation_space = space
        self.observation_space = batch_space(space, num_envs)
        self.single_action_space = Discrete(model.num_actions)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._engaging = np.zeros(model.num_states, np.bool_) if engaging is None else engaging
        self._everywhere = np.ones(num_envs, np.bool_)
        # SAME_STEP also draws, in the same call, what the reset after this step would draw first.
        draws = DRAWS_PER_CALL + (self.autoreset_mode is AutoresetMode.SAME_STEP)
        self._offsets = np.arange(draws, dtype=np.uint64)[:, None]
        self._keys = np.zeros(num_envs, np.uint64)
        self._counters = np.zeros(num_envs, np.uint64)
        self._seeded = False
        self._states = np.full(num_envs, -1, np.int32)
        self._over = np.ones(num_envs, np.bool_)
        self._returns = np.zeros(num_envs)
        self._engaged = np.zeros(num_envs, np.bool_)

    @property
    def state_indices(self) -> NDArray[np.int32]:
        """Index of each environment's present state, ``int32 [num_envs]``."""
        return self._states

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """Names of the columns of ``propositions_array``."""
        return self.model.propositions

    def propositions_array(self) -> NDArray[np.bool_]:
        """The letters of the present states, ``bool [num_envs, P]``."""
        if (self._states < 0).any():
            raise ResetNeededError("propositions before the first reset; call reset() first")
        return self.model.labels[self._states]

    def propositions(self) -> dict[str, NDArray[np.bool_]]:
        """The letters of the present states, one ``bool [num_envs]`` array per name."""
        return dict(zip(self.model.propositions, self.propositions_array().T, strict=True))

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes: all of them, or those of ``options["reset_mask"]`` (``bool [num_envs]``).

        Environment ``i`` takes ``seed + i``, or ``seed[i]`` of a list; without a seed each
        continues its own stream.
        """
        _, mask = split_reset_mask(options, self.num_envs)
        self._seed(seed, mask)
        rows = np.flatnonzero(mask)
        self._start(rows, uniform_array(self._keys[rows], self._counters[rows]))
        self._counters[rows] += _DRAWS
        return self.observation_table[self._states], self._info()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Sample one transition in every environment."""
        actions = self._checked(np.asarray(actions))
        restart = np.flatnonzero(self._over)
        if restart.size and self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise ResetNeededError(
                f"environments {restart[:8].tolist()} have ended; reset them with "
                "reset(options={'reset_mask': mask}) before the next step"
            )
        model = self.model
        row = self._states * model.num_actions + actions
        draws = uniform_array(self._keys, self._counters + self._offsets)
        self._counters += _DRAWS
        outcome = (model.cumulative_by_outcome.take(row, axis=1) <= draws[0]).sum(axis=0)
        cell = row * model.num_outcomes + outcome
        states = model.flat_next_state[cell]
        rewards = model.flat_reward[cell]
        terminated = draws[1] < model.termination
        self._states = states
        self._returns += rewards
        self._engaged |= self._engaging[states]
        if restart.size:
            # NEXT_STEP: this call is a reset for them, and what was sampled above never happened.
            rewards[restart] = 0.0
            terminated[restart] = False
            self._start(restart, draws[0, restart])
        self._over = terminated.copy()
        truncated = np.zeros(self.num_envs, np.bool_)
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not terminated.any():
            return (
                self.observation_table[self._states],
                rewards,
                terminated,
                truncated,
                self._info(),
            )
        final = self._final(terminated)
        rows = np.flatnonzero(terminated)
        self._start(rows, draws[2, rows])
        self._counters[rows] += _DRAWS
        return (
            self.observation_table[self._states],
            rewards,
            terminated,
            truncated,
            self._info() | final,
        )

    def get_state(self) -> dict[str, Any]:
        """Everything that a continuation depends on, the random streams included (copies)."""
        return {
            "states": self._states.copy(),
            "over": self._over.copy(),
            "returns": self._returns.copy(),
            "engaged": self._engaged.copy(),
            "keys": self._keys.copy(),
            "counters": self._counters.copy(),
            "seeded": self._seeded,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what ``get_state`` returned."""
        if state["states"].shape != (self.num_envs,):
            raise ConfigurationError(
                f"the state holds {len(state['states'])} environments, this array {self.num_envs}"
            )
        self._states = state["states"].copy()
        self._over = state["over"].copy()
        self._returns = state["returns"].copy()
        self._engaged = state["engaged"].copy()
        self._keys = state["keys"].copy()
        self._counters = state["counters"].copy()
        self._seeded = state["seeded"]

    def _start(self, rows: NDArray[np.int64], draws: NDArray[np.float64]) -> None:
        states = np.searchsorted(self.model.cumulative_initial, draws, side="right")
        self._states[rows] = states
        self._over[rows] = False
        self._returns[rows] = 0.0
        self._engaged[rows] = self._engaging[states]

    def _info(self) -> dict[str, Any]:
        return {
            "success": self._returns >= self.goal,
            "_success": self._everywhere,
            "engaged": self._engaged.copy(),
            "_engaged": self._everywhere,
        }

    def _final(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        facts = {key: value for key, value in self._info().items() if not key.startswith("_")}
        facts["propositions"] = self.propositions_array()
        return final_infos(self.observation_table[self._states], facts, ended)

    def _seed(self, seed: int | list[int | None] | None, mask: NDArray[np.bool_]) -> None:
        for i, value in enumerate(seeds_of(seed, self.num_envs)):
            if not self._seeded or (value is not None and mask[i]):
                self._keys[i], self._counters[i] = key_of_seed(value), 0
        self._seeded = True

    def _checked(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ConfigurationError(
                f"actions must be integers of shape ({self.num_envs},), "
                f"got {actions.dtype} of shape {actions.shape}"
            )
        if not self._seeded:
            raise ResetNeededError("step() before the first reset; call reset() first")
        low, high = int(actions.min()), int(actions.max())
        if low < 0 or high >= self.model.num_actions:
            raise ConfigurationError(
                f"actions must lie in [0, {self.model.num_actions}), got {low if low < 0 else high}"
            )
        return actions
