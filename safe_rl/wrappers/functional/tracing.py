"""Whether jax can trace an environment's functions, and whether the results have the right shapes.

Nothing is computed: every function is traced once with abstract arrays. What fails is one error
that names the function and the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.experimental.functional import FuncEnv

from safe_rl.errors import ConfigurationError
from safe_rl.wrappers.functional.environment import FunctionalEnv

TORCH_PATH = (
    "train it on the torch path: algo=ppo_lagrangian, with ProductMDP (one environment) or "
    "VectorProductMDP (many) around it"
)


def require_traceable(env: Any) -> None:
    """Raise unless ``env`` is a :class:`FunctionalEnv` whose functions jax can trace.

    Raises:
        ConfigurationError: it is a plain Gymnasium environment, a function cannot be traced, or
            returns arrays of the wrong shape or dtype.
    """
    name = type(env).__name__
    if not isinstance(env, FunctionalEnv):
        if isinstance(env, gym.Env | gym.vector.VectorEnv):
            name = type(env.unwrapped).__name__
            kind = f"{name} is a Gymnasium environment, which steps in Python and cannot be jitted"
        elif isinstance(env, FuncEnv):
            kind = f"{name} is a FuncEnv without labels; derive it from FunctionalEnv instead"
        else:
            kind = f"the environment is a {name}"
        raise ConfigurationError(
            f"FunctionalProduct needs a safe_rl.wrappers.functional.FunctionalEnv, but {kind}; "
            f"or {TORCH_PATH}"
        )
    if not isinstance(env.observation_space, spaces.Box) or len(env.observation_space.shape) != 1:
        raise ConfigurationError(
            f"{name}.observation_space must be a Box of shape [D], but is {env.observation_space}"
        )
    key = jax.eval_shape(lambda: jax.random.key(0))
    discrete = isinstance(env.action_space, spaces.Discrete)
    action = jax.ShapeDtypeStruct(
        env.action_space.shape or (), jnp.int32 if discrete else jnp.float32
    )
    state = _traced(env, "initial", key)
    reached = _traced(env, "transition", state, action, key)
    before, after = (_outline(x) for x in (state, reached))
    if before != after:
        raise ConfigurationError(
            f"{name}.transition must return a state of the structure, shapes and dtypes that "
            f"initial returns; initial gives {before}, transition {after}"
        )
    count = len(env.proposition_names)
    floats, truth = np.dtype(np.float32), np.dtype(np.bool_)
    expected = {
        "observation": ((state, key), env.observation_space.shape, floats),
        "reward": ((state, action, state, key), (), floats),
        "terminal": ((state, key), (), truth),
        "letter": ((state,), (count,), truth),
        "success": ((state,), (), truth),
        "engaged": ((state,), (), truth),
    }
    for function, (arguments, shape, dtype) in expected.items():
        found = _traced(env, function, *arguments)
        if getattr(found, "shape", None) != shape or found.dtype != dtype:
            raise ConfigurationError(
                f"{name}.{function} must return {dtype} of shape {shape}, but returns {found}"
            )


def action_of(space: gym.Space[Any], action: Any) -> jax.Array:
    """Return an action, or an array of them, as the functions of an environment take it."""
    if isinstance(space, spaces.Discrete):
        return jnp.asarray(action, jnp.int32)
    return jnp.asarray(action, jnp.float32)


def _traced(env: FunctionalEnv, function: str, *arguments: Any) -> Any:
    call: Callable[..., Any] = getattr(env, function)
    try:
        return jax.eval_shape(call, *arguments)
    except Exception as error:
        told = next((line for line in str(error).splitlines() if line.strip()), "")
        raise ConfigurationError(
            f"{type(env).__name__}.{function} cannot be traced by jax "
            f"({type(error).__name__}: {told}); write it with jax.numpy and without Python "
            f"branches on its arguments, or {TORCH_PATH}"
        ) from error


def _outline(state: Any) -> str:
    def leaf(array: Any) -> str:
        return f"{array.dtype}{list(array.shape)}"

    return str(jax.tree.map(leaf, state))
