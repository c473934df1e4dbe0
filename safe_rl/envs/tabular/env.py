"""One environment that samples a ``TransitionModel``."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, SupportsInt

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.tabular.model import TransitionModel
from safe_rl.envs.tabular.observe import observation_table
from safe_rl.envs.tabular.streams import stream_key, uniform
from safe_rl.errors import ConfigurationError, ResetNeededError

# Every reset and every step advances the stream by this much: one draw selects the outcome (or the
# first state), the other decides whether the episode ends.
DRAWS_PER_CALL = 2


class TabularEnv(gym.Env[Any, Any]):
    """Gymnasium environment over an explicit model; ``TabularVectorEnv`` is its vector twin.

    ``info`` reports ``"success"`` (the episode's return has reached ``goal``) and ``"engaged"``
    (a state of ``engaging`` has been visited in this episode).

    Args:
        model: What to sample from; also what planners solve (``env.model``).
        observation: ``"index"`` (``Discrete``) or ``"features"`` (``Box``).
        features: ``float32 [S, D]``, needed by ``observation="features"``.
        engaging: ``bool [S]``, states in which the robot touches a task object; none by default.
        goal: Return from which an episode counts as a success.

    Example:
        >>> import numpy as np
        >>> model = TransitionModel(  # a coin that is tossed until the episode ends
        ...     next_state=np.array([[[0, 1]], [[0, 1]]], dtype=np.int32),
        ...     probability=np.full((2, 1, 2), 0.5),
        ...     reward=np.array([[[0.0, 1.0]], [[0.0, 1.0]]]),
        ...     initial=np.array([1.0, 0.0]),
        ...     labels=np.array([[False], [True]]),
        ...     propositions=("heads",),
        ...     termination=0.1,
        ... )
        >>> env = TabularEnv(model)
        >>> observation, info = env.reset(seed=0)
        >>> int(observation), env.propositions()
        (0, {'heads': False})
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 4}

    def __init__(
        self,
        model: TransitionModel,
        *,
        observation: str = "index",
        features: NDArray[np.float32] | None = None,
        engaging: NDArray[np.bool_] | None = None,
        goal: float = 1.0,
    ) -> None:
        self.model = model
        self.goal = goal
        self.observation_space, self.observation_table = observation_table(
            model, features, observation
        )
        self.action_space = gym.spaces.Discrete(model.num_actions)
        self._engaging = np.zeros(model.num_states, np.bool_) if engaging is None else engaging
        # Plain lists: indexing a numpy array element by element costs several times as much.
        self._cumulative: list[list[float]] = model.cumulative.tolist()
        self._next: list[int] = model.flat_next_state.tolist()
        self._reward: list[float] = model.flat_reward.tolist()
        self._key: int | None = None
        self._counter = 0
        self._state = -1
        self._over = True
        self._return = 0.0
        self._engaged = False

    @property
    def state_index(self) -> int:
        """Index of the present state, -1 before the first reset."""
        return self._state

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """Names of the propositions, in the order of the labels' columns."""
        return self.model.propositions

    def propositions(self) -> dict[str, bool]:
        """The letter of the present state, L(s)."""
        if self._state < 0:
            raise ResetNeededError("propositions() before the first reset; call reset() first")
        row = self.model.labels[self._state].tolist()
        return dict(zip(self.model.propositions, row, strict=True))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; ``options={"state": index}`` starts it in that state."""
        super().reset(seed=seed)
        if seed is not None or self._key is None:
            self._key, self._counter = stream_key(self.np_random), 0
        draw = uniform(self._key, self._counter)
        self._counter += DRAWS_PER_CALL
        if options and "state" in options:
            self._state = self._checked(int(options["state"]), self.model.num_states, "state")
        else:
            self._state = int(np.searchsorted(self.model.cumulative_initial, draw, side="right"))
        self._over = False
        self._return = 0.0
        self._engaged = bool(self._engaging[self._state])
        return self._observation(), self._info()

    def step(self, action: SupportsInt) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Sample one transition; the episode ends with the model's termination probability."""
        if self._over or self._key is None:
            raise ResetNeededError(
                "step() after the end of an episode; call reset() first"
                if self._state >= 0
                else "step() before the first reset; call reset() first"
            )
        row = self._state * self.model.num_actions + self._checked(
            int(action), self.model.num_actions, "action"
        )
        outcome = bisect_right(self._cumulative[row], uniform(self._key, self._counter))
        self._over = uniform(self._key, self._counter + 1) < self.model.termination
        self._counter += DRAWS_PER_CALL
        cell = row * self.model.num_outcomes + outcome
        self._state = self._next[cell]
        reward = self._reward[cell]
        self._return += reward
        self._engaged = self._engaged or bool(self._engaging[self._state])
        return self._observation(), reward, self._over, False, self._info()

    def get_state(self) -> dict[str, Any]:
        """Everything that a continuation depends on, the random stream included."""
        return {
            "state": self._state,
            "over": self._over,
            "return": self._return,
            "engaged": self._engaged,
            "key": self._key,
            "counter": self._counter,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what ``get_state`` returned."""
        self._state = state["state"]
        self._over = state["over"]
        self._return = state["return"]
        self._engaged = state["engaged"]
        self._key = state["key"]
        self._counter = state["counter"]

    def _observation(self) -> Any:
        # A copy: a row of the table is a view, and what the caller does to it must not stay.
        return self.observation_table[self._state].copy()

    def _info(self) -> dict[str, Any]:
        return {"success": self._return >= self.goal, "engaged": self._engaged}

    @staticmethod
    def _checked(value: int, bound: int, what: str) -> int:
        if not 0 <= value < bound:
            raise ConfigurationError(f"{what} must lie in [0, {bound}), got {value}")
        return value
