"""The whole state of a running VecEnv as plain values, and back.

A resumed run gives the numbers of an uninterrupted one only if every random number and every
counter outside the policy comes back: the simulator's state, the wrappers' counters, the
normalisers' statistics, the episode sums. This module knows the wrappers of Gymnasium and
Stable-Baselines3 that keep state, and asks every other layer for ``get_state()`` and
``set_state(state)``. A layer that it does not know and that has no such methods makes the state
*unavailable*, with the reason; nothing is ever captured in part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import wrappers
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecCheckNan,
    VecEnv,
    VecEnvWrapper,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
)

from safe_rl.algos.torch.archive import UnsupportedValueError, encode_tree
from safe_rl.algos.torch.vec_env import VectorEnvAdapter, vector_layers
from safe_rl.errors import CheckpointError
from safe_rl.wrappers.snapshot import load_vector_env, save_vector_env, skip_checks

__all__ = [
    "StateUnavailableError",
    "capture_env",
    "normaliser_state",
    "restore_env",
    "restore_normaliser",
]

# Attributes that make up the state of wrappers which come without get_state().
_GYM_WRAPPERS: dict[type[Any], tuple[str, ...]] = {
    wrappers.TimeLimit: ("_elapsed_steps",),
    wrappers.OrderEnforcing: ("_has_reset",),
    wrappers.PassiveEnvChecker: (),  # see skip_checks
    wrappers.FlattenObservation: (),
    wrappers.FilterObservation: (),
    wrappers.ReshapeObservation: (),
    wrappers.RescaleObservation: (),
    wrappers.DtypeObservation: (),
    wrappers.RescaleAction: (),
    wrappers.ClipAction: (),
    wrappers.ClipReward: (),
    Monitor: ("rewards", "needs_reset", "episode_returns", "episode_lengths", "total_steps"),
}
_VEC_WRAPPERS: dict[type[Any], tuple[str, ...]] = {
    VecMonitor: ("episode_returns", "episode_lengths", "episode_count"),
    VecTransposeImage: (),
    VecCheckNan: (),
}
_SYNC = ("_autoreset_envs", "_terminations", "_truncations", "_rewards", "_env_obs")
_ADAPTER = ("episode_returns", "episode_lengths", "_resetting", "_ready")


class StateUnavailableError(Exception):
    """A layer of the environment cannot give its state; the message says which."""


def _vec_layers(env: VecEnv) -> Iterator[VecEnv]:
    layer: VecEnv = env
    while isinstance(layer, VecEnvWrapper):
        yield layer
        layer = layer.venv
    yield layer


def _env_layers(env: gym.Env) -> Iterator[gym.Env]:
    layer = env
    while isinstance(layer, gym.Wrapper):
        yield layer
        layer = layer.env
    yield layer


def _has_own(layer: Any, name: str) -> bool:
    """Tell whether a layer brings a method itself, rather than finding it in what it wraps."""
    return callable(getattr(type(layer), name, None))


def _attributes(layer: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(layer, name) for name in names}


def _set_attributes(layer: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(layer, name, value.copy() if isinstance(value, np.ndarray) else value)


def _capture_layers(
    layers: list[Any],
    known: dict[type[Any], tuple[str, ...]],
    bare: Callable[[Any], dict[str, Any] | None],
) -> list[dict[str, Any]]:
    """Return one entry per layer, outermost first."""
    states = []
    for layer in layers:
        if type(layer) in known:
            states.append({"attributes": _attributes(layer, known[type(layer)])})
        elif _has_own(layer, "get_state") and _has_own(layer, "set_state"):
            try:
                states.append({"state": layer.get_state()})
            except CheckpointError as error:  # such as sub-environments in other processes
                raise StateUnavailableError(str(error)) from error
        else:
            try:
                state = bare(layer)
            except CheckpointError as error:
                raise StateUnavailableError(str(error)) from error
            if state is None:
                raise StateUnavailableError(
                    f"{type(layer).__module__}.{type(layer).__qualname__} has no get_state() and "
                    f"set_state()"
                )
            states.append(state)
    return states


def _restore_layers(layers: list[Any], states: list[dict[str, Any]]) -> None:
    """Restore innermost first: an outer layer's state may include that of an inner one."""
    if len(layers) != len(states):
        raise CheckpointError(
            f"the environment has {len(layers)} layers "
            f"({', '.join(type(layer).__name__ for layer in layers)}), the checkpoint was written "
            f"with {len(states)}; build the environment as it was when the run started"
        )
    for layer, state in reversed(list(zip(layers, states, strict=True))):
        if "state" in state:
            layer.set_state(state["state"])
        if "attributes" in state:
            _set_attributes(layer, state["attributes"])
        if "envs" in state:
            for env, inner in zip(layer.envs, state["envs"], strict=True):
                _restore_single(env, inner)
        if "processes" in state:
            load_vector_env(layer, state["processes"])
        skip_checks(layer)


def _capture_single(env: gym.Env) -> dict[str, Any]:
    layers = list(_env_layers(env))
    base = env.unwrapped
    return {
        "layers": _capture_layers(layers, _GYM_WRAPPERS, lambda layer: None),
        "np_random": base._np_random,
        "action_space": base.action_space.np_random,
    }


def _restore_single(env: gym.Env, state: dict[str, Any]) -> None:
    base = env.unwrapped
    base._np_random = state["np_random"]
    base.action_space._np_random = state["action_space"]
    _restore_layers(list(_env_layers(env)), state["layers"])


def _bare_vector(layer: Any) -> dict[str, Any] | None:
    if type(layer) is SyncVectorEnv:
        return {
            "attributes": _attributes(layer, _SYNC),
            "envs": [_capture_single(env) for env in layer.envs],
        }
    if isinstance(layer, AsyncVectorEnv):
        return {"processes": save_vector_env(layer)}
    return None


def capture_env(env: VecEnv) -> dict[str, Any]:
    """Return the state of an environment and of everything around it, as plain values.

    Raises:
        StateUnavailableError: some layer cannot give its state, or gives what is no plain value.
    """
    layers: list[dict[str, Any]] = []
    for layer in _vec_layers(env):
        if isinstance(layer, VecNormalize):
            layers.append({"normaliser": normaliser_state(layer)})
        elif type(layer) in _VEC_WRAPPERS:
            layers.append({"attributes": _attributes(layer, _VEC_WRAPPERS[type(layer)])})
        elif type(layer) is DummyVecEnv:
            layers.append({"envs": [_capture_single(single) for single in layer.envs]})
        elif isinstance(layer, VectorEnvAdapter):
            inner: list[VectorEnv] = list(vector_layers(layer.envs))
            layers.append(
                {
                    "attributes": _attributes(layer, _ADAPTER),
                    "vector": _capture_layers(inner, {}, _bare_vector),
                    "np_random": inner[-1].__dict__.get("_np_random"),
                }
            )
        else:
            raise StateUnavailableError(
                f"{type(layer).__module__}.{type(layer).__qualname__} is no environment whose "
                f"state can be read from outside"
            )
    state = {"layers": layers, "seeds": [layer._seeds for layer in _vec_layers(env)]}
    try:
        encode_tree(state, "environment")
    except UnsupportedValueError as error:
        raise StateUnavailableError(f"{error}, which is no plain value") from error
    return state


def restore_env(env: VecEnv, state: dict[str, Any]) -> None:
    """Bring an environment, built as it was before, into the state that was captured.

    Raises:
        CheckpointError: the environment is built differently.
    """
    layers = list(_vec_layers(env))
    if len(layers) != len(state["layers"]):
        raise CheckpointError(
            f"the environment has the layers {', '.join(type(x).__name__ for x in layers)}; the "
            f"checkpoint was written with {len(state['layers'])} layers; build it as it was"
        )
    for layer, part, seeds in reversed(
        list(zip(layers, state["layers"], state["seeds"], strict=True))
    ):
        layer._seeds = list(seeds)
        if "normaliser" in part and isinstance(layer, VecNormalize):
            restore_normaliser(layer, part["normaliser"])
        if "envs" in part:
            assert isinstance(layer, DummyVecEnv)
            for single, inner in zip(layer.envs, part["envs"], strict=True):
                _restore_single(single, inner)
        if "vector" in part:
            assert isinstance(layer, VectorEnvAdapter)
            inner_layers = list(vector_layers(layer.envs))
            if part["np_random"] is not None:
                inner_layers[-1].np_random = part["np_random"]
            _restore_layers(inner_layers, part["vector"])
        if "attributes" in part:
            _set_attributes(layer, part["attributes"])


_NORMALISER_OPTIONS = (
    "norm_obs",
    "norm_reward",
    "clip_obs",
    "clip_reward",
    "gamma",
    "epsilon",
    "norm_obs_keys",
)


def normaliser_state(normaliser: VecNormalize) -> dict[str, Any]:
    """Return the options and the running statistics of a ``VecNormalize``."""

    def moments(rms: RunningMeanStd) -> dict[str, Any]:
        return {"mean": np.array(rms.mean), "var": np.array(rms.var), "count": float(rms.count)}

    observations: Any = None
    if normaliser.norm_obs:
        rms = normaliser.obs_rms
        observations = (
            {key: moments(value) for key, value in rms.items()}
            if isinstance(rms, dict)
            else moments(rms)
        )
    return {
        "options": {name: getattr(normaliser, name) for name in _NORMALISER_OPTIONS},
        "observations": observations,
        "returns": moments(normaliser.ret_rms),
        "running_returns": normaliser.returns.copy(),
    }


def restore_normaliser(
    normaliser: VecNormalize, state: dict[str, Any], *, running: bool = True
) -> None:
    """Put the saved options and statistics into a ``VecNormalize``.

    Args:
        normaliser: over an environment with the same observation space.
        state: what :func:`normaliser_state` returned.
        running: also restore the discounted returns of the episodes under way, which belong to
            the training environment.
    """

    def fill(rms: RunningMeanStd, values: dict[str, Any]) -> None:
        rms.mean, rms.var, rms.count = (
            np.array(values["mean"]),
            np.array(values["var"]),
            values["count"],
        )

    for name, value in state["options"].items():
        setattr(normaliser, name, value)
    if state["observations"] is not None:
        if isinstance(normaliser.obs_rms, dict):
            for key, values in state["observations"].items():
                fill(normaliser.obs_rms[key], values)
        else:
            fill(normaliser.obs_rms, state["observations"])
    fill(normaliser.ret_rms, state["returns"])
    if running:
        normaliser.returns = np.array(state["running_returns"])
