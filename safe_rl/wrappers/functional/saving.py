"""Environment states as plain NumPy arrays by name, for checkpoints: never pickles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import CheckpointError
from safe_rl.wrappers.functional.environment import FunctionalEnv, State


def state_to_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return every leaf of a state under its path, such as ``".cup.position"`` (copies).

    A PRNG key in the state is saved as its key data.
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(path): np.array(_data(leaf)) for path, leaf in leaves}


def state_from_arrays(
    env: FunctionalEnv, saved: Mapping[str, NDArray[Any]], batch: tuple[int, ...] = ()
) -> State:
    """Return the state that :func:`state_to_arrays` saved.

    Args:
        env: The environment it was saved from.
        saved: The arrays.
        batch: The leading shape of every leaf: ``(num_envs,)`` for a vector environment.

    Raises:
        CheckpointError: the arrays are not those of this environment's states.
    """
    expected = jax.eval_shape(lambda: env.initial(jax.random.key(0)))
    leaves, structure = jax.tree_util.tree_flatten_with_path(expected)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    if set(names) != set(saved):
        raise CheckpointError(
            f"the saved state holds {sorted(saved)}, but a state of {type(env).__name__} holds "
            f"{sorted(names)}; it was saved from another environment"
        )
    restored = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        data = jax.eval_shape(_data, leaf)
        array = np.asarray(saved[name])
        if array.shape != (*batch, *data.shape) or array.dtype != data.dtype:
            raise CheckpointError(
                f"the saved state's {name} is {array.dtype} of shape {array.shape}, but "
                f"{type(env).__name__} needs {data.dtype} of shape {(*batch, *data.shape)}; it was "
                "saved from another environment or number of environments"
            )
        put = jnp.asarray(array)
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        restored.append(jax.random.wrap_key_data(put) if is_key else put)
    return jax.tree_util.tree_unflatten(structure, restored)


def _data(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
