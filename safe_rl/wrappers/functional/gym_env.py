"""A functional environment under Gymnasium's interface, for everything that is not jitted."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import jax
import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.wrappers.functional.environment import FunctionalEnv, State
from safe_rl.wrappers.functional.saving import state_from_arrays, state_to_arrays
from safe_rl.wrappers.functional.tracing import action_of, require_traceable


class Seen(NamedTuple):
    """What the outside sees of a state: observation, letter and the two facts of ``info``."""

    observation: jax.Array
    letter: jax.Array
    success: jax.Array
    engaged: jax.Array


class Stepped(NamedTuple):
    """One step of one episode."""

    key: jax.Array
    state: State
    seen: Seen
    reward: jax.Array
    terminated: jax.Array


def begin(env: FunctionalEnv, key: jax.Array) -> tuple[jax.Array, State, Seen]:
    """Begin an episode from the stream ``key`` (uint32 ``[2]``); return the stream's rest first."""
    rest, own = jax.random.split(jax.random.wrap_key_data(key))
    first, see = jax.random.split(own)
    state = env.initial(first)
    return jax.random.key_data(rest), state, _seen(env, state, see)


def advance(env: FunctionalEnv, key: jax.Array, state: State, action: jax.Array) -> Stepped:
    """Take one step with the next numbers of the stream ``key`` (uint32 ``[2]``)."""
    rest, own = jax.random.split(jax.random.wrap_key_data(key))
    move, pay, end, see = jax.random.split(own, 4)
    reached = env.transition(state, action, move)
    return Stepped(
        key=jax.random.key_data(rest),
        state=reached,
        seen=_seen(env, reached, see),
        reward=env.reward(state, action, reached, pay),
        terminated=env.terminal(reached, end),
    )


def _seen(env: FunctionalEnv, state: State, key: jax.Array) -> Seen:
    return Seen(
        observation=env.observation(state, key),
        letter=env.letter(state),
        success=env.success(state),
        engaged=env.engaged(state),
    )


def stream_of(generator: np.random.Generator) -> NDArray[np.uint32]:
    """Draw the key of a stream, uint32 ``[2]``, from Gymnasium's seeded generator."""
    return generator.integers(0, 1 << 32, 2, dtype=np.uint32)


def checked_action(space: gym.Space[Any], action: Any, batch: tuple[int, ...] = ()) -> jax.Array:
    """Return the action, or a batch of them, for the environment's functions.

    Raises:
        ConfigurationError: it has the wrong shape, or a discrete one is out of range.
    """
    given = np.asarray(action)
    shape = (*batch, *(space.shape or ()))
    if given.shape != shape:
        raise ConfigurationError(f"the action must have the shape {shape}, but has {given.shape}")
    if isinstance(space, gym.spaces.Discrete):
        low, high = int(space.start), int(space.start + space.n)
        if given.dtype.kind not in "iu" or (given < low).any() or (given >= high).any():
            raise ConfigurationError(
                f"actions must be integers in [{low}, {high}), got {given.tolist()}"
            )
    return action_of(space, given)


class FunctionalGymEnv(gym.Env[Any, Any]):
    """One functional environment as a ``gymnasium.Env``; the vector twin: ``FunctionalVectorEnv``.

    Its functions are jitted. It brings its own propositions, so ``ProductMDP`` needs no grounding.
    ``info`` holds ``"success"`` and ``"engaged"``. An episode is truncated after the environment's
    ``max_episode_steps``, unless it terminates at that step.

    Args:
        env: The functional environment.
        render_mode: ``"rgb_array"`` or ``None``.

    Example:
        >>> from safe_rl.envs.kitchen_grid.functional import KitchenGridFunctional
        >>> env = FunctionalGymEnv(KitchenGridFunctional())
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, sorted(info)
        ((21,), ['engaged', 'success'])
    """

    def __init__(self, env: FunctionalEnv, *, render_mode: str | None = None) -> None:
        require_traceable(env)
        require_render_mode(env, render_mode)
        self.env = env
        self.metadata = dict(env.metadata)
        self.render_mode = render_mode
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.objects = env.objects
        self.proposition_names = tuple(env.proposition_names)
        self._begin = jax.jit(lambda key: begin(env, key))
        self._advance = jax.jit(lambda key, state, action: advance(env, key, state, action))
        self._key: NDArray[np.uint32] | None = None
        self._state: State = None
        self._letter: list[bool] | None = None
        self._steps = 0
        self._over = True
        self._render_state: Any = None

    @property
    def state(self) -> State:
        """The present state, a pytree of jax arrays."""
        return self._state

    def propositions(self) -> dict[str, bool]:
        """The letter of the present state, L(s)."""
        if self._letter is None:
            raise ResetNeededError("propositions() before the first reset; call reset() first")
        return dict(zip(self.proposition_names, self._letter, strict=True))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; without a seed the stream of random numbers continues."""
        super().reset(seed=seed)
        if seed is not None or self._key is None:
            self._key = stream_of(self.np_random)
        key, self._state, seen = self._begin(self._key)
        self._key = np.asarray(key)
        self._steps, self._over = 0, False
        return self._observe(seen)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step.

        Raises:
            ResetNeededError: the episode is over, or none has begun.
            ConfigurationError: the action has the wrong shape or is out of range.
        """
        if self._over or self._key is None:
            raise ResetNeededError(
                "step() before the first reset; call reset() first"
                if self._key is None
                else "step() after the end of an episode; call reset() first"
            )
        given = checked_action(self.action_space, action)
        stepped: Stepped = self._advance(self._key, self._state, given)
        self._key, self._state = np.asarray(stepped.key), stepped.state
        self._steps += 1
        terminated = bool(stepped.terminated)
        limit = self.env.max_episode_steps
        truncated = limit is not None and self._steps >= limit and not terminated
        self._over = terminated or truncated
        observation, info = self._observe(stepped.seen)
        return observation, float(stepped.reward), terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The present state as a picture, uint8 ``[H, W, 3]``; ``None`` without a render mode."""
        if self.render_mode is None:
            return None
        if self._letter is None:
            raise ResetNeededError("render() before the first reset; call reset() first")
        if self._render_state is None:
            self._render_state = self.env.render_init()
        self._render_state, picture = self.env.render_image(self._state, self._render_state)
        return np.asarray(picture, np.uint8)

    def close(self) -> None:
        """Release what drawing needed."""
        if self._render_state is not None:
            self.env.render_close(self._render_state)
            self._render_state = None

    def get_state(self) -> dict[str, Any]:
        """Everything that a continuation depends on, as plain NumPy arrays and numbers (copies).

        Raises:
            ResetNeededError: no episode has begun.
        """
        if self._key is None:
            raise ResetNeededError("get_state() before the first reset; call reset() first")
        return {
            "state": state_to_arrays(self._state),
            "key": self._key.copy(),
            "steps": self._steps,
            "over": self._over,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned, bit for bit.

        Raises:
            CheckpointError: it was saved from another environment.
        """
        self._state = state_from_arrays(self.env, state["state"])
        self._key = np.array(state["key"], np.uint32)
        self._steps, self._over = int(state["steps"]), bool(state["over"])
        self._letter = np.asarray(self.env.letter(self._state)).tolist()

    def _observe(self, seen: Seen) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self._letter = np.asarray(seen.letter).tolist()
        info = {"success": bool(seen.success), "engaged": bool(seen.engaged)}
        return np.array(seen.observation), info


def require_render_mode(env: FunctionalEnv, render_mode: str | None) -> None:
    """Raise unless ``env`` can draw in ``render_mode``.

    Raises:
        ConfigurationError: it cannot.
    """
    known = [mode for mode in env.metadata.get("render_modes", []) if mode == "rgb_array"]
    if render_mode is not None and render_mode not in known:
        raise ConfigurationError(
            f"render_mode must be one of {[*known, None]} for {type(env).__name__}, "
            f"but is {render_mode!r}"
        )
