"""Environments as pure functions of explicit states, with labels: what the jitted product steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from gymnasium import spaces
from gymnasium.experimental.functional import FuncEnv

State = Any
"""A pytree of arrays of fixed shapes, usually a NamedTuple."""


class FunctionalEnv(FuncEnv[Any, Any, Any, Any, Any, Any, Any]):
    """Gymnasium's functional environment, which also knows its propositions.

    The functions speak of one environment, are pure, and can be traced by jax: what varies from
    episode to episode stands in the state, and the product maps them over lanes with ``jax.vmap``.
    ``rng`` is a jax PRNG key; a function that draws nothing ignores it, and jit then removes it.
    Each call gets a key of its own, ``observation``, ``reward`` and ``terminal`` too.

    Attributes:
        observation_space: ``Box`` of one environment, float32 ``[D]``.
        action_space: ``Box`` or ``Discrete``.
        proposition_names: The ``P`` columns of :meth:`letter`.
        objects: Property to names, which binds ``forall`` in specifications.
        max_episode_steps: An episode is truncated after so many steps; ``None``: never.
        metadata: As in Gymnasium; says what :meth:`render_image` draws, and at how many frames.
    """

    observation_space: spaces.Box
    action_space: spaces.Box | spaces.Discrete
    proposition_names: tuple[str, ...]
    objects: Mapping[str, Sequence[str]] = {}
    max_episode_steps: int | None = None
    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "render_fps": 20}

    def initial(self, rng: jax.Array, params: Any = None) -> State:
        """Return the first state of an episode."""
        raise NotImplementedError

    def transition(
        self, state: State, action: jax.Array, rng: jax.Array, params: Any = None
    ) -> State:
        """Return the state that ``action`` leads to."""
        raise NotImplementedError

    def observation(self, state: State, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return the observation, float32 ``[D]``."""
        raise NotImplementedError

    def reward(
        self,
        state: State,
        action: jax.Array,
        next_state: State,
        rng: jax.Array,
        params: Any = None,
    ) -> jax.Array:
        """Return the reward of a transition, float32 ``[]``."""
        raise NotImplementedError

    def terminal(self, state: State, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return whether the episode terminates in the state reached, bool ``[]``."""
        raise NotImplementedError

    def letter(self, state: State) -> jax.Array:
        """Return the labels L(s) of a state, bool ``[P]``; ``proposition_names`` names them."""
        raise NotImplementedError

    def success(self, state: State) -> jax.Array:
        """Return whether the task is done in this state, bool ``[]``; never, by default."""
        return jnp.zeros((), jnp.bool_)

    def engaged(self, state: State) -> jax.Array:
        """Return whether the robot has touched a task object in this episode, bool ``[]``."""
        return jnp.zeros((), jnp.bool_)

    def render_init(self, params: Any = None, **kwargs: Any) -> Any:
        """Return what drawing needs to keep between frames; nothing, by default."""
        return None

    def render_image(self, state: State, render_state: Any, params: Any = None) -> tuple[Any, Any]:
        """Return the render state and a picture, uint8 ``[H, W, 3]``."""
        raise NotImplementedError(f"{type(self).__name__} draws no pictures")

    def render_close(self, render_state: Any, params: Any = None) -> None:
        """Release what :meth:`render_init` made; nothing, by default."""
