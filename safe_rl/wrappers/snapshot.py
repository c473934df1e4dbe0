"""Saving and restoring a stack of environments, so that a resumed run gives the same numbers.

What a simulator holds only its own ``get_state`` and ``set_state`` can save. What Gymnasium keeps
around it (the step counter of ``TimeLimit``, the random generator, the autoreset flags of a
vector environment) is saved here.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
    VectorWrapper,
)
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from safe_rl.errors import CheckpointError

_WRAPPER_FIELDS = {TimeLimit: "_elapsed_steps", OrderEnforcing: "_has_reset"}
_SYNC_FIELDS = (
    "_env_obs",
    "_observations",
    "_rewards",
    "_terminations",
    "_truncations",
    "_autoreset_envs",
)


class Savable(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose state can be asked for, and set, from another process.

    Put it around each environment of an ``AsyncVectorEnv``, whose processes can tell and take
    attributes only.
    """

    def save_state(self) -> dict[str, Any]:
        """Return the state of the environment and of everything that it wraps."""
        return save_env(self.env)

    @property
    def state_to_load(self) -> None:
        """Assign what :meth:`save_state` returned; there is nothing to read, reset or not."""

    @state_to_load.setter
    def state_to_load(self, saved: dict[str, Any]) -> None:
        load_env(self.env, saved)


def save_env(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Return the state of ``env`` and of everything that it wraps.

    An object with ``get_state`` answers for itself and what it wraps; a base environment
    contributes its random generator besides.
    """
    saved: dict[str, Any] = {"type": type(env).__name__}
    own = _method(env, "get_state")
    if own is not None:
        saved["own"] = own()
    for kind, name in _WRAPPER_FIELDS.items():
        if isinstance(env, kind):
            saved[name] = getattr(env, name)
    if isinstance(env, gym.Wrapper):
        if own is None:
            saved["env"] = save_env(env.env)
    elif env._np_random is not None:
        saved["np_random"] = env._np_random.bit_generator.state
    return saved


def load_env(env: gym.Env[Any, Any], saved: dict[str, Any]) -> None:
    """Restore what :func:`save_env` returned.

    Raises:
        CheckpointError: the stack of wrappers is not the one that was saved.
    """
    _same(env, saved)
    if "own" in saved:
        env.set_state(saved["own"])  # type: ignore[attr-defined]
    for name in _WRAPPER_FIELDS.values():
        if name in saved:
            setattr(env, name, saved[name])
    if "env" in saved and isinstance(env, gym.Wrapper):
        load_env(env.env, saved["env"])
    if "np_random" in saved:
        env.np_random.bit_generator.state = saved["np_random"]
    skip_checks(env)


def skip_checks(env: gym.Env[Any, Any]) -> None:
    """Tell Gymnasium's checker that the first steps are past: it compares them with the reset.

    A restored environment goes on in the middle of an episode, and its checker has seen no reset.
    """
    if isinstance(env, PassiveEnvChecker):
        env.checked_reset = env.checked_step = env.checked_data_reuse = True


def save_vector_env(envs: VectorEnv[Any, Any, Any]) -> dict[str, Any]:
    """Return the state of a vector environment, sub-environments included where they can save it.

    Raises:
        CheckpointError: the sub-environments run in other processes, and are not :class:`Savable`
            or reset themselves.
    """
    saved: dict[str, Any] = {"type": type(envs).__name__}
    own = _method(envs, "get_state")
    if own is not None:
        saved["own"] = own()
    elif isinstance(envs, VectorWrapper):
        saved["env"] = save_vector_env(envs.env)
    elif isinstance(envs, SyncVectorEnv):
        saved["fields"] = {name: deepcopy(getattr(envs, name)) for name in _SYNC_FIELDS}
        saved["envs"] = [save_env(env) for env in envs.envs]
    elif isinstance(envs, AsyncVectorEnv):
        _check_processes(envs)
        saved["observations"] = deepcopy(envs.observations)
        saved["envs"] = list(envs.call("save_state"))
    if not isinstance(envs, VectorWrapper) and envs._np_random is not None:
        saved["np_random"] = envs._np_random.bit_generator.state
    return saved


def load_vector_env(envs: VectorEnv[Any, Any, Any], saved: dict[str, Any]) -> None:
    """Restore what :func:`save_vector_env` returned.

    Raises:
        CheckpointError: it was saved from another kind or number of environments.
    """
    _same(envs, saved)
    if "own" in saved:
        envs.set_state(saved["own"])  # type: ignore[attr-defined]
    if "env" in saved and isinstance(envs, VectorWrapper):
        load_vector_env(envs.env, saved["env"])
    if "envs" in saved:
        if len(saved["envs"]) != envs.num_envs:
            raise CheckpointError(
                f"the state holds {len(saved['envs'])} environments, but there are "
                f"{envs.num_envs}; use the number that was saved"
            )
        if isinstance(envs, SyncVectorEnv):
            for name, value in saved["fields"].items():
                setattr(envs, name, deepcopy(value))
            for env, state in zip(envs.envs, saved["envs"], strict=True):
                load_env(env, state)
        elif isinstance(envs, AsyncVectorEnv):
            _check_processes(envs)
            _fill(envs.observations, saved["observations"])
            envs.set_attr("state_to_load", saved["envs"])
    if "np_random" in saved:
        envs.np_random.bit_generator.state = saved["np_random"]


def _method(env: Any, name: str) -> Any:
    found = getattr(env, name, None)
    return found if callable(found) and callable(getattr(env, "set_state", None)) else None


def _same(env: Any, saved: dict[str, Any]) -> None:
    if saved.get("type") != type(env).__name__:
        raise CheckpointError(
            f"the state was saved from {saved.get('type')!r}, but is loaded into "
            f"{type(env).__name__!r}; build the same stack of wrappers first"
        )


def _check_processes(envs: AsyncVectorEnv) -> None:
    if envs.autoreset_mode is not AutoresetMode.DISABLED:
        raise CheckpointError(
            f"an AsyncVectorEnv with autoreset {envs.autoreset_mode.value} keeps in its processes "
            "which episodes have ended, where it cannot be saved; for an exact resume use "
            "AutoresetMode.DISABLED, or SyncVectorEnv"
        )
    if not all(envs.call("has_wrapper_attr", "save_state")):
        raise CheckpointError(
            "the environments of an AsyncVectorEnv cannot be saved from here; for an exact resume "
            "put safe_rl.wrappers.Savable around each, or use SyncVectorEnv"
        )


def _fill(own: Any, saved: Any) -> None:
    """Copy saved observations into the arrays that the processes write."""
    if isinstance(own, np.ndarray):
        own[...] = saved
        return
    keys = own if isinstance(own, dict) else range(len(own))
    for key in keys:
        _fill(own[key], saved[key])
