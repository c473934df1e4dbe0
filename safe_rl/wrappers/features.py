"""Monitor features: what an observation needs beside the environment's own for costs to be Markov.

The features hold the state of each instance's monitor and, for the limits whose signal depends on
the episode's past, what :meth:`CostModel.memory` remembers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np
from array_api_compat import array_namespace
from gymnasium import spaces
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near
from safe_rl.monitors.events import Array
from safe_rl.monitors.tables import Axis

FeatureKind = Literal["one_hot", "index"]
KEY = "monitor"


class MonitorFeatures:
    """Lays monitor states and the constraints' memory out as one vector of ``size`` numbers.

    Attributes:
        size: Length of the vector.
        names: What each entry says: ``"<instance>:state"`` (or ``"<instance>:state=<q>"``),
            ``"<specification>:violated"``, ``"<specification>:credited"``.
        low, high: Bounds of each entry, float32 ``[size]``.
    """

    def __init__(
        self,
        instance_ids: Sequence[str],
        num_states: Sequence[int],
        memory_names: Sequence[str],
        kind: FeatureKind,
        *,
        axis: Axis = -1,
    ) -> None:
        """Lay out the features.

        Args:
            instance_ids: The ``I`` monitor instances.
            num_states: Number of states of each instance's monitor, ``[I]``.
            memory_names: The ``M`` entries of :meth:`CostModel.memory`.
            kind: ``"one_hot"``, or ``"index"`` for the bare number of each state.
            axis: Which axis of states, memory and features counts their entries.

        Raises:
            ConfigurationError: ``kind`` is unknown.
        """
        if kind not in get_args(FeatureKind):
            raise ConfigurationError(
                f"features must be 'one_hot', 'index' or None, but is {kind!r}"
                + near(str(kind), get_args(FeatureKind))
            )
        self.kind: FeatureKind = kind
        self._axis: Axis = axis
        counts = np.asarray(num_states, np.intp)
        # Each one-hot entry says whether this instance is in this state.
        self._instance = np.repeat(np.arange(len(counts)), counts)
        self._state = np.concatenate([np.arange(0), *(np.arange(n) for n in counts)])
        if kind == "one_hot":
            monitor_high = np.ones(len(self._instance), np.float32)
            names = [
                f"{name}:state={q}"
                for name, n in zip(instance_ids, counts, strict=True)
                for q in range(n)
            ]
        else:
            monitor_high = np.maximum(counts - 1, 0).astype(np.float32)
            names = [f"{name}:state" for name in instance_ids]
        self.names: tuple[str, ...] = (*names, *memory_names)
        self.size = len(self.names)
        self.low = np.zeros(self.size, np.float32)
        self.high = np.concatenate([monitor_high, np.ones(len(memory_names), np.float32)])

    def vector(self, states: Array, memory: Array) -> Array:
        """Return the features, float32 ``[..., size]``; NumPy and jax run the same lines.

        Args:
            states: State of each instance's monitor, int ``[..., I]``.
            memory: What the constraints remember, ``[..., M]``.
        """
        xp = array_namespace(states)
        if self.kind == "one_hot":
            if self._axis == -1:
                states = states[..., self._instance] == xp.asarray(self._state)
            else:
                wanted = xp.reshape(xp.asarray(self._state), (-1, *(1,) * (states.ndim - 1)))
                states = states[self._instance, ...] == wanted
        parts = [xp.astype(states, xp.float32), xp.astype(memory, xp.float32)]
        return xp.concat(parts, axis=self._axis)


class ObservationMerger:
    """Puts monitor features beside an environment's own observation.

    A one-dimensional ``Box`` of floats is extended, a ``Dict`` gets one more key, and any other
    space becomes ``Dict(observation=..., monitor=...)``.

    >>> merger = ObservationMerger(spaces.Discrete(5), np.zeros(3), np.ones(3))
    >>> merger.space
    Dict('monitor': Box(0.0, 1.0, (3,), float32), 'observation': Discrete(5))
    """

    def __init__(
        self, space: gym.Space[Any], low: NDArray[Any], high: NDArray[Any], key: str = KEY
    ) -> None:
        """Choose the layout for ``space``, the observation space of one environment.

        Args:
            space: The environment's own observation space (of a single environment).
            low: Lower bounds of the features, ``[F]``.
            high: Upper bounds of the features, ``[F]``.
            key: The features' key where the result is a ``Dict``.

        Raises:
            ConfigurationError: ``space`` is a ``Dict`` that already uses the key.
        """
        self._key = key
        self._inner = space
        box = spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        self._layout: Literal["extend", "key", "wrap"]
        if isinstance(space, spaces.Box) and space.shape is not None and len(space.shape) == 1:
            extends = np.issubdtype(space.dtype, np.floating)
        else:
            extends = False
        if extends and isinstance(space, spaces.Box):
            self._layout = "extend"
            self._dtype: np.dtype[Any] = space.dtype
            self.space: gym.Space[Any] = spaces.Box(
                np.concatenate([space.low, low]).astype(space.dtype),
                np.concatenate([space.high, high]).astype(space.dtype),
                dtype=space.dtype.type,
            )
        elif isinstance(space, spaces.Dict):
            if key in space.spaces:
                raise ConfigurationError(
                    f"the observation already has a key {key!r}, which the monitor features need; "
                    "rename it (gymnasium.wrappers.TransformObservation) or pass features=None"
                )
            self._layout = "key"
            self.space = spaces.Dict({**space.spaces, key: box})
        else:
            self._layout = "wrap"
            self.space = spaces.Dict({"observation": space, key: box})

    def merge(self, observation: Any, features: Array) -> Any:
        """Return the observation with ``features`` (``[F]``, or ``[num_envs, F]``) beside it."""
        if self._layout == "extend":
            xp = array_namespace(features)
            joined = xp.concat([xp.asarray(observation), features], axis=-1)
            return xp.astype(joined, self._dtype, copy=False)
        if self._layout == "key":
            return {**observation, self._key: features}
        return {"observation": observation, self._key: features}
