"""An array of functional environments under Gymnasium's vector interface."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.wrappers.functional.environment import FunctionalEnv, State
from safe_rl.wrappers.functional.gym_env import (
    Seen,
    Stepped,
    advance,
    begin,
    checked_action,
    require_render_mode,
    stream_of,
)
from safe_rl.wrappers.functional.saving import state_from_arrays, state_to_arrays
from safe_rl.wrappers.functional.tracing import require_traceable
from safe_rl.wrappers.vector.rows import final_infos, seeds_of, split_reset_mask

Bools = NDArray[np.bool_]


class FunctionalVectorEnv(VectorEnv[Any, Any, Any]):
    """Vector twin of ``FunctionalGymEnv``, in ``SAME_STEP`` mode: an episode's end resets its lane.

    Lane ``i`` takes ``seed + i`` and draws the random numbers that the single environment with that
    seed draws. ``info["success"]`` and ``info["engaged"]`` are bool ``[num_envs]``. Where an
    episode ended (``info["_final_obs"]``), ``info["final_obs"]`` holds its last observation, and
    ``final_info`` its ``success``, ``engaged`` and ``propositions`` (bool ``[num_envs, P]``).
    ``options={"reset_mask": mask}`` resets the lanes of ``mask`` alone.

    Args:
        env: The functional environment.
        num_envs: Number of lanes.
        render_mode: ``"rgb_array"`` or ``None``.
    """

    def __init__(
        self, env: FunctionalEnv, num_envs: int = 1, *, render_mode: str | None = None
    ) -> None:
        require_traceable(env)
        require_render_mode(env, render_mode)
        if num_envs < 1:
            raise ConfigurationError(f"num_envs must be at least 1, got {num_envs}")
        self.env = env
        self.num_envs = num_envs
        self.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = render_mode
        self.single_observation_space = env.observation_space
        self.observation_space = batch_space(env.observation_space, num_envs)
        self.single_action_space = env.action_space
        self.action_space = batch_space(env.action_space, num_envs)
        self.objects = env.objects
        self.proposition_names = tuple(env.proposition_names)
        self._begin = jax.jit(jax.vmap(lambda key: begin(env, key)))
        self._advance = jax.jit(
            jax.vmap(lambda key, state, action: advance(env, key, state, action))
        )
        self._merge = jax.jit(lambda mask, new, old: jax.tree.map(_chooser(mask), new, old))
        self._keys = np.zeros((num_envs, 2), np.uint32)
        self._seeded = False
        self._state: State = None
        self._seen: Seen | None = None
        self._steps = np.zeros(num_envs, np.int64)
        self._everywhere = np.ones(num_envs, np.bool_)
        self._render_state: Any = None

    @property
    def state(self) -> State:
        """The present states, a pytree of jax arrays with the leading axis ``[num_envs]``."""
        return self._state

    def propositions_array(self) -> Bools:
        """The letters of the present states, bool ``[num_envs, P]``."""
        if self._seen is None:
            raise ResetNeededError("propositions before the first reset; call reset() first")
        return np.array(self._seen.letter)

    def propositions(self) -> dict[str, Bools]:
        """The letters of the present states, one bool ``[num_envs]`` array per name."""
        return dict(zip(self.proposition_names, self.propositions_array().T, strict=True))

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes: all of them, or those of ``options["reset_mask"]`` (bool ``[n]``).

        Raises:
            ConfigurationError: the mask or the seeds have the wrong form.
            ResetNeededError: the first reset leaves lanes out.
        """
        _, mask = split_reset_mask(options, self.num_envs)
        if self._seen is None and not mask.all():
            raise ResetNeededError("the first reset must reset every sub-environment")
        self._seed(seed, mask)
        self._restart(mask)
        seen = self._present()
        return np.array(seen.observation), self._info(seen)

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], Bools, Bools, dict[str, Any]]:
        """Take one step in every lane; those whose episode ends begin a new one.

        Raises:
            ResetNeededError: no episode has begun.
            ConfigurationError: the actions have the wrong shape or are out of range.
        """
        self._present()
        given = checked_action(self.single_action_space, actions, (self.num_envs,))
        stepped: Stepped = self._advance(self._keys, self._state, given)
        self._keys, self._state = np.array(stepped.key), stepped.state
        self._seen = seen = stepped.seen
        self._steps += 1
        terminated = np.array(stepped.terminated)
        limit = self.env.max_episode_steps
        truncated = np.zeros_like(terminated)
        if limit is not None:
            truncated = (self._steps >= limit) & ~terminated
        ended = terminated | truncated
        final: dict[str, Any] = {}
        if ended.any():
            final = self._final(seen, ended)
            self._restart(ended)
            seen = self._present()
        rewards = np.asarray(stepped.reward, np.float64)
        infos = self._info(seen) | final
        return np.array(seen.observation), rewards, terminated, truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """One picture per lane, uint8 ``[H, W, 3]`` each; ``None`` without a render mode."""
        if self.render_mode is None:
            return None
        self._present()
        if self._render_state is None:
            self._render_state = self.env.render_init()
        pictures = []
        for lane in range(self.num_envs):
            own = jax.tree.map(lambda leaf, lane=lane: leaf[lane], self._state)
            self._render_state, picture = self.env.render_image(own, self._render_state)
            pictures.append(np.asarray(picture, np.uint8))
        return tuple(pictures)

    def close_extras(self, **kwargs: Any) -> None:
        """Release what drawing needed."""
        if self._render_state is not None:
            self.env.render_close(self._render_state)
            self._render_state = None

    def get_state(self) -> dict[str, Any]:
        """Everything that a continuation depends on, as plain NumPy arrays (copies).

        Raises:
            ResetNeededError: no episode has begun.
        """
        seen = self._present()
        return {
            "state": state_to_arrays(self._state),
            "observation": np.array(seen.observation),
            "keys": self._keys.copy(),
            "steps": self._steps.copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned, bit for bit.

        Raises:
            CheckpointError: it was saved from another environment or number of environments.
        """
        self._state = state_from_arrays(self.env, state["state"], (self.num_envs,))
        self._keys = np.array(state["keys"], np.uint32)
        self._steps = np.array(state["steps"], np.int64)
        self._seeded = True
        env = self.env
        self._seen = Seen(
            observation=jnp.asarray(state["observation"]),
            letter=jax.vmap(env.letter)(self._state),
            success=jax.vmap(env.success)(self._state),
            engaged=jax.vmap(env.engaged)(self._state),
        )

    def _present(self) -> Seen:
        if self._seen is None:
            raise ResetNeededError("there is no episode yet; call reset() first")
        return self._seen

    def _restart(self, mask: Bools) -> None:
        """Begin an episode in the lanes of ``mask``, each from its own stream."""
        begun = self._begin(self._keys)
        if self._seen is not None and not mask.all():
            begun = self._merge(mask, begun, (self._keys, self._state, self._seen))
        keys, self._state, self._seen = begun
        self._keys = np.array(keys)
        self._steps = np.where(mask, 0, self._steps)

    def _info(self, seen: Seen) -> dict[str, Any]:
        return {
            "success": np.array(seen.success),
            "_success": self._everywhere.copy(),
            "engaged": np.array(seen.engaged),
            "_engaged": self._everywhere.copy(),
        }

    def _final(self, seen: Seen, ended: Bools) -> dict[str, Any]:
        facts = {
            "success": np.array(seen.success),
            "engaged": np.array(seen.engaged),
            "propositions": np.array(seen.letter),
        }
        return final_infos(np.array(seen.observation), facts, ended)

    def _seed(self, seed: int | list[int | None] | None, mask: Bools) -> None:
        for lane, own in enumerate(seeds_of(seed, self.num_envs)):
            if not self._seeded or (own is not None and mask[lane]):
                self._keys[lane] = stream_of(seeding.np_random(own)[0])
        self._seeded = True


def _chooser(mask: jax.Array) -> Any:
    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(jnp.reshape(mask, (-1, *(1,) * (new.ndim - 1))), new, old)

    return choose
