"""A ``TransitionModel`` as a functional environment: the jitted twin of ``TabularEnv``."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.tabular.model import TransitionModel
from safe_rl.envs.tabular.observe import observation_table
from safe_rl.wrappers.functional import FunctionalEnv


class TabularState(NamedTuple):
    """Where one episode stands.

    Attributes:
        place: int32, the state of the model.
        reward: float32, what the last transition paid.
        total: float32, the episode's return so far.
        engaged: bool, whether a state of ``engaging`` has been visited.
        over: bool, whether the last step ended the episode.
    """

    place: jax.Array
    reward: jax.Array
    total: jax.Array
    engaged: jax.Array
    over: jax.Array


class TabularFunctionalEnv(FunctionalEnv):
    """Samples an explicit model, in jax; ``TabularEnv`` is the Gymnasium twin.

    The same transitions with the same probabilities (rounded to float32), rewards, labels and
    chance to end; other random numbers, those of jax.

    Args:
        model: What to sample from.
        features: ``float32 [S, D]``, the observation of each state; by default one-hot.
        engaging: ``bool [S]``, states in which the robot touches a task object; none by default.
        goal: Return from which an episode counts as a success.
    """

    def __init__(
        self,
        model: TransitionModel,
        *,
        features: NDArray[np.float32] | None = None,
        engaging: NDArray[np.bool_] | None = None,
        goal: float = 1.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.goal = goal
        self.proposition_names = model.propositions
        if features is None:
            features = np.eye(model.num_states, dtype=np.float32)
        space, table = observation_table(model, features, "features")
        assert isinstance(space, gym.spaces.Box)  # what "features" gives
        self.observation_space = space
        self.action_space = gym.spaces.Discrete(model.num_actions)
        self._observations = jnp.asarray(table)
        self._labels = jnp.asarray(model.labels)
        self._cumulative = jnp.asarray(model.cumulative, jnp.float32)
        self._cumulative_initial = jnp.asarray(model.cumulative_initial, jnp.float32)
        self._next = jnp.asarray(model.flat_next_state)
        self._reward = jnp.asarray(model.flat_reward, jnp.float32)
        none = np.zeros(model.num_states, np.bool_)
        self._engaging = jnp.asarray(none if engaging is None else engaging)

    def initial(self, rng: jax.Array, params: Any = None) -> TabularState:
        """Draw the first state."""
        draw = jax.random.uniform(rng)
        place = jnp.sum(self._cumulative_initial <= draw, dtype=jnp.int32)
        nothing = jnp.float32(0.0)
        return TabularState(place, nothing, nothing, self._engaging[place], jnp.bool_(False))

    def transition(
        self, state: TabularState, action: jax.Array, rng: jax.Array, params: Any = None
    ) -> TabularState:
        """Draw an outcome, and whether the episode ends."""
        chance, end = jax.random.uniform(rng, (2,))
        row = state.place * self.model.num_actions + jnp.asarray(action, jnp.int32)
        outcome = jnp.sum(self._cumulative[row] <= chance, dtype=jnp.int32)
        cell = row * self.model.num_outcomes + outcome
        place, reward = self._next[cell], self._reward[cell]
        return TabularState(
            place=place,
            reward=reward,
            total=state.total + reward,
            engaged=state.engaged | self._engaging[place],
            over=end < self.model.termination,
        )

    def observation(self, state: TabularState, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return the state's features."""
        return self._observations[state.place]

    def reward(
        self,
        state: TabularState,
        action: jax.Array,
        next_state: TabularState,
        rng: jax.Array,
        params: Any = None,
    ) -> jax.Array:
        """Return what the outcome paid."""
        return next_state.reward

    def terminal(self, state: TabularState, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return whether the last step ended the episode."""
        return state.over

    def letter(self, state: TabularState) -> jax.Array:
        """Return the labels of the state."""
        return self._labels[state.place]

    def success(self, state: TabularState) -> jax.Array:
        """Return whether the episode's return has reached ``goal``."""
        return state.total >= self.goal

    def engaged(self, state: TabularState) -> jax.Array:
        """Return whether a state of ``engaging`` has been visited in this episode."""
        return state.engaged
