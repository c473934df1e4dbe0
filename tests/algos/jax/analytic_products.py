"""Small products on the device, whose costs, sums and optima are known on paper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from tests.algos.analytic_envs import constraint


class Counts(NamedTuple):
    N: jax.Array
    V: jax.Array


class Transition(NamedTuple):
    observation: jax.Array
    final_observation: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    success: jax.Array
    constraint_costs: jax.Array
    counts: Counts


class ScriptedProduct:
    """As ``ScriptedEnv``: step ``t`` gives reward ``t + 1`` and the costs ``(10 + t, 100 t)``.

    Environment ``i`` starts its first episode at step ``i`` modulo the length, so that not all end
    at once. Each episode counts two triggers and one violation of one instance.
    """

    def __init__(
        self,
        length: int = 3,
        truncates: bool = False,
        action: str = "discrete",
        kind: str = "episode",
        staggered: bool = False,
    ) -> None:
        self.length, self.truncates, self.staggered = length, truncates, staggered
        self.observation_space = spaces.Box(-1.0, float(length), (2,), np.float32)
        self.action_space: Any = {
            "discrete": spaces.Discrete(3),
            "box": spaces.Box(-0.5, 0.5, (2,), np.float32),
        }[action]
        first, second = constraint("first", 23.0, kind), constraint("second", 1200.0)
        first.index, second.index = 0, 1
        self.constraints = (first, second)
        self.specs = SimpleNamespace(instance_index=(0, 1))

    def _observe(self, now: jax.Array, noise: jax.Array) -> jax.Array:
        return jnp.stack([now.astype(jnp.float32), noise], axis=-1)

    def reset(self, key: jax.Array, num_envs: int) -> tuple[Any, jax.Array]:
        now = jnp.zeros(num_envs, jnp.int32)
        if self.staggered:
            now = jnp.arange(num_envs, dtype=jnp.int32) % self.length
        noise = jax.random.uniform(key, (num_envs,))
        nothing = jnp.zeros((num_envs, 0))  # as an environment without objects of some kind has
        return (now, nothing), self._observe(now, noise)

    def step(self, state: Any, actions: jax.Array, key: jax.Array) -> tuple[Any, Transition]:
        last, nothing = state
        num_envs = last.shape[0]
        t = last.astype(jnp.float32)
        now = last + 1
        noise = jax.random.uniform(key, (num_envs,))
        over = now == self.length
        after = jnp.where(over, 0, now)
        ones = jnp.stack([over, jnp.zeros_like(over)], axis=1).astype(jnp.int32)
        transition = Transition(
            observation=self._observe(after, noise),
            final_observation=self._observe(now, noise),
            reward=t + 1.0,
            terminated=over & (not self.truncates),
            truncated=over & self.truncates,
            success=over,
            constraint_costs=jnp.stack([10.0 + t, 100.0 * t], axis=1),
            counts=Counts(N=2 * ones, V=ones),
        )
        return (after, nothing), transition


class ChoiceProduct:
    """As ``ChoiceVectorEnv``: one-step episodes; action 1 earns 1 and costs 1, action 0 nothing.

    Under the limit ``d`` the optimum takes action 1 with probability ``d``, at the multiplier 1.
    """

    def __init__(self, limit: float = 0.3) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        own = constraint("choice", limit)
        own.index = 0
        self.constraints = (own,)
        self.specs = SimpleNamespace(instance_index=(0,))

    def reset(self, key: jax.Array, num_envs: int) -> tuple[Any, jax.Array]:
        return jnp.zeros(num_envs, jnp.int32), jnp.ones((num_envs, 1))

    def step(self, state: Any, actions: jax.Array, key: jax.Array) -> tuple[Any, Transition]:
        chosen = actions.astype(jnp.float32)
        over = jnp.ones_like(actions, dtype=bool)
        seen = jnp.ones((*actions.shape, 1))
        none = jnp.zeros((*actions.shape, 1), jnp.int32)
        return state, Transition(
            seen, seen, chosen, over, ~over, ~over, chosen[:, None], Counts(none, none)
        )
