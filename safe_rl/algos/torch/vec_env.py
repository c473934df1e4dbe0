"""From a Gymnasium vector environment to Stable-Baselines3's ``VecEnv``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import (
    VecEnvIndices,
    VecEnvObs,
    VecEnvStepReturn,
)

from safe_rl.errors import ConfigurationError, ResetNeededError

__all__ = ["InfoList", "VectorEnvAdapter", "vector_layers"]

# Entries of a vector info that every environment's own info carries, where they exist. All others
# stay in ``InfoList.arrays``: turning them into dictionaries would cost more than the step.
_PER_ENV_KEYS = ("cost", "constraint_costs")
_AT_END_KEYS = ("success", "engaged", "costs")


class InfoList(list[dict[str, Any]]):
    """SB3's list of infos, with the arrays that it was made of.

    Attributes:
        arrays: for each key, one array over all environments. At an autoreset the entries of an
            environment whose episode ended belong to its *last* step, not to the reset.
    """

    def __init__(self, infos: Sequence[dict[str, Any]], arrays: dict[str, Any]) -> None:
        super().__init__(infos)
        self.arrays = arrays


def vector_layers(envs: VectorEnv) -> Iterator[VectorEnv]:
    """Yield a vector environment and everything it wraps, outermost first."""
    layer: VectorEnv | None = envs
    while layer is not None:
        yield layer
        layer = layer.__dict__.get("env")


class VectorEnvAdapter(VecEnv):
    """Presents a ``gymnasium.vector.VectorEnv`` as an SB3 ``VecEnv``.

    SB3 expects an environment that is done to be reset within the same step, with the final
    observation in ``info["terminal_observation"]`` and ``info["TimeLimit.truncated"]`` telling
    truncation from termination. All three autoreset modes of Gymnasium give that:

    - *same-step*: ``final_obs`` and ``final_info`` hold what the last step gave;
    - *disabled*: the adapter resets the environments that are done, through ``reset_mask``;
    - *next-step*: the environment spends one more step on the reset, in which it ignores the
      action. That step cannot be hidden from outside; it is marked ``info["reset_step"] = True``,
      and :class:`~safe_rl.algos.PPOLagrangian` does not learn from it (other SB3 algorithms
      would: give them one of the other two modes).

    Infos are light: ``cost`` and ``constraint_costs`` on every step; ``episode`` (as SB3's
    ``Monitor`` writes it), ``success``, ``engaged``, ``costs`` and the counts of ``safety`` where
    an episode ends; and everything as arrays in ``InfoList.arrays``.

    Args:
        envs: the vector environment.

    Raises:
        ConfigurationError: the environment does not say in which autoreset mode it works.

    >>> import gymnasium as gym
    >>> envs = VectorEnvAdapter(gym.make_vec("CartPole-v1", num_envs=3))
    >>> envs.reset().shape
    (3, 4)
    """

    def __init__(self, envs: VectorEnv) -> None:
        mode = envs.metadata.get("autoreset_mode")
        try:
            self.autoreset_mode = AutoresetMode(mode)
        except ValueError:
            raise ConfigurationError(
                f'{envs} has metadata["autoreset_mode"] = {mode!r}; it must be one of '
                f"{', '.join(str(m) for m in AutoresetMode)}, so that the ends of episodes can "
                f"be told"
            ) from None
        self.envs = envs
        self._actions: NDArray[Any] | None = None
        self.episode_returns: NDArray[np.float64] = np.zeros(envs.num_envs)
        self.episode_lengths: NDArray[np.int64] = np.zeros(envs.num_envs, dtype=np.int64)
        self._resetting: NDArray[np.bool_] = np.zeros(envs.num_envs, dtype=np.bool_)
        self._resetting_now = self._resetting
        self._start = time.perf_counter()
        self._ready = False
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    # --- stepping -----------------------------------------------------------------------------

    def reset(self) -> VecEnvObs:
        """Reset every environment; a seed given with :meth:`seed` is used once."""
        first = self._seeds[0]
        options = self._options[0] or None
        observations, _ = self.envs.reset(seed=first, options=options)
        self._reset_seeds()
        self._reset_options()
        self.episode_returns[:] = 0.0
        self.episode_lengths[:] = 0
        self._resetting[:] = False
        self._ready = True
        return _copy(observations)

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for :meth:`step_wait`."""
        if not self._ready:
            raise ResetNeededError("step() before reset(); call reset() on the VecEnv first")
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step every environment; return observations, rewards, dones and infos."""
        observations, rewards, terminated, truncated, given = self.envs.step(self._actions)
        observations = _copy(observations)
        rewards = np.asarray(rewards)
        dones = np.logical_or(terminated, truncated)
        ended = np.flatnonzero(dones)
        arrays = {key: value for key, value in given.items() if not key.startswith(("_", "final_"))}
        final_obs: Any = None
        final_info: dict[str, Any] = {}
        if len(ended) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            if "final_obs" not in given:
                raise ConfigurationError(
                    f"{self.envs} is in same-step autoreset mode and ended an episode without "
                    f'infos["final_obs"]; the last observation is needed to value a truncation'
                )
            final_obs = given["final_obs"]
            final_info = given.get("final_info", {})
            arrays = _with_final(arrays, final_info, dones)
        elif len(ended):
            final_obs = observations
            if self.autoreset_mode is AutoresetMode.DISABLED:
                final_obs = _copy(observations)
                restarted, _ = self.envs.reset(options={"reset_mask": dones.copy()})
                _assign(observations, restarted, dones)
        resetting = self._resetting_now = self._resetting
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            arrays["reset_step"] = resetting
            self._resetting = dones.copy()

        self.episode_returns += rewards
        self.episode_lengths += ~resetting
        infos = self._per_env_infos(arrays, given, final_info, dones)
        for index in np.flatnonzero(resetting):
            infos[index]["reset_step"] = True
        for index in ended:
            infos[index] |= {
                "terminal_observation": _row(final_obs, index),
                "TimeLimit.truncated": bool(truncated[index] and not terminated[index]),
                "episode": {
                    "r": float(self.episode_returns[index]),
                    "l": int(self.episode_lengths[index]),
                    "t": round(time.perf_counter() - self._start, 6),
                },
            }
            for key in _AT_END_KEYS:
                if key in arrays:
                    infos[index][key] = _row(arrays[key], index)
            counts = arrays["safety"].get("counts") if "safety" in arrays else None
            if counts is not None:
                infos[index]["safety"] = {"counts": _row(counts, index)}
            if "success" in infos[index]:
                infos[index]["is_success"] = bool(infos[index]["success"])
        self.episode_returns[ended] = 0.0
        self.episode_lengths[ended] = 0
        return observations, rewards.astype(np.float32), dones, InfoList(infos, arrays)

    def _per_env_infos(
        self,
        arrays: dict[str, Any],
        given: dict[str, Any],
        final: dict[str, Any],
        dones: NDArray[np.bool_],
    ) -> list[dict[str, Any]]:
        """Return each environment's own part of ``arrays``, for the few keys that it carries.

        Where some environments gave no such entry, the key also leaves ``arrays``: Gymnasium fills
        the gap with zeros, and a cost that is missing must not be read as no cost.
        """
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for key in _PER_ENV_KEYS:
            if key not in arrays:
                continue
            here = np.asarray(given.get(f"_{key}", np.full(self.num_envs, key in given)))
            if key in final:
                here = np.where(dones, final.get(f"_{key}", True), here)
            values = arrays[key]
            if not (here | self._resetting_now).all():
                del arrays[key]
            for index in np.flatnonzero(here):
                infos[index][key] = values[index]
        return infos

    def close(self) -> None:
        """Close the vector environment."""
        self.envs.close()

    # --- attributes and methods -----------------------------------------------------------------

    def _lookup(self, name: str) -> list[Any]:
        """Return one value per environment of the first layer that has the attribute."""
        for layer in vector_layers(self.envs):
            if name in layer.__dict__ or hasattr(type(layer), name):
                return [getattr(layer, name)] * self.num_envs
            if isinstance(layer, gym.vector.SyncVectorEnv | gym.vector.AsyncVectorEnv):
                return list(layer.get_attr(name))
        raise AttributeError(f"{self.envs} has no attribute {name!r}, nor has anything it wraps")

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the vector environment, once per environment asked for."""
        values = self._lookup(attr_name)
        return [values[index] for index in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute on the layer that has it; a vector environment has one for all."""
        for layer in vector_layers(self.envs):
            if name_is_in(layer, attr_name):
                setattr(layer, attr_name, value)
                return
        raise AttributeError(f"{self.envs} has no attribute {attr_name!r}")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of the vector environment once; return its result per environment."""
        for layer in vector_layers(self.envs):
            if name_is_in(layer, method_name):
                result = getattr(layer, method_name)(*method_args, **method_kwargs)
                return [result for _ in self._get_indices(indices)]
            if isinstance(layer, gym.vector.SyncVectorEnv):
                targets = [layer.envs[index] for index in self._get_indices(indices)]
                return [
                    env.get_wrapper_attr(method_name)(*method_args, **method_kwargs)
                    for env in targets
                ]
        raise AttributeError(f"{self.envs} has no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Tell whether a vector wrapper is in use (episodes are recorded by the adapter)."""
        wrapped = any(isinstance(layer, wrapper_class) for layer in vector_layers(self.envs))
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return what the vector environment renders, one image per environment."""
        images: Any = self.envs.render()
        return list(images) if images is not None else [None] * self.num_envs


def name_is_in(layer: VectorEnv, name: str) -> bool:
    """Tell whether a layer itself, not what it wraps, has an attribute."""
    return name in layer.__dict__ or hasattr(type(layer), name)


def _copy(observations: Any) -> Any:
    """Copy: a vector environment may write its next observations into the same arrays."""
    if isinstance(observations, dict):
        return {key: np.array(value) for key, value in observations.items()}
    return np.array(observations)


def _row(values: Any, index: int) -> Any:
    """Return one environment's part of an array, or of a dictionary or tuple of arrays."""
    if isinstance(values, dict):
        return {key: _row(value, index) for key, value in values.items() if key[:1] != "_"}
    if isinstance(values, tuple):
        parts = [_row(value, index) for value in values]
        return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)
    row = values[index]
    return row.copy() if isinstance(row, np.ndarray) else row


def _assign(target: Any, source: Any, mask: NDArray[np.bool_]) -> None:
    """Overwrite the masked rows of ``target``."""
    if isinstance(target, dict):
        for key in target:
            _assign(target[key], source[key], mask)
    else:
        target[mask] = source[mask]


def _with_final(
    arrays: dict[str, Any], final: dict[str, Any], dones: NDArray[np.bool_]
) -> dict[str, Any]:
    """Put the last step's entries of ended episodes in place of those of the reset."""
    merged = dict(arrays)
    for key, value in final.items():
        if key.startswith("_"):
            continue
        current = arrays.get(key)
        if isinstance(value, np.ndarray) and isinstance(current, np.ndarray):
            if value.shape == current.shape:
                mask = dones.reshape(-1, *(1,) * (value.ndim - 1))
                merged[key] = np.where(mask, value, current)
                continue
        merged[key] = value
    return merged
