"""Monitor features: what an observation needs beside the environment's own for costs to be Markov.

The features hold the state of each instance's monitor and, for the limits whose signal depends on
the episode's past, what :meth:`CostModel.memory` remembers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, near

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
    ) -> None:
        """Lay out the features.

        Args:
            instance_ids: The ``I`` monitor instances.
            num_states: Number of states of each instance's monitor, ``[I]``.
            memory_names: The ``M`` entries of :meth:`CostModel.memory`.
            kind: ``"one_hot"``, or ``"index"`` for the bare number of each state.

        Raises:
            ConfigurationError: ``kind`` is unknown.
        """
        if kind not in get_args(FeatureKind):
            raise ConfigurationError(
                f"features must be 'one_hot', 'index' or None, but is {kind!r}"
                + near(str(kind), get_args(FeatureKind))
            )
        self.kind: FeatureKind = kind
        counts = np.asarray(num_states, np.intp)
        if kind == "one_hot":
            self._offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
            self._num_monitor = int(counts.sum())
            monitor_high = np.ones(self._num_monitor, np.float32)
            names = [
                f"{name}:state={q}"
                for name, n in zip(instance_ids, counts, strict=True)
                for q in range(n)
            ]
        else:
            self._num_monitor = len(counts)
            monitor_high = np.maximum(counts - 1, 0).astype(np.float32)
            names = [f"{name}:state" for name in instance_ids]
        self.names: tuple[str, ...] = (*names, *memory_names)
        self.size = len(self.names)
        self.low = np.zeros(self.size, np.float32)
        self.high = np.concatenate([monitor_high, np.ones(len(memory_names), np.float32)])

    def vector(self, states: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Return the features, float32 ``[..., size]``.

        Args:
            states: State of each instance's monitor, int ``[..., I]``.
            memory: What the constraints remember, ``[..., M]``.
        """
        features = np.zeros((*states.shape[:-1], self.size), np.float32)
        if self.kind == "index":
            features[..., : self._num_monitor] = states
        elif states.ndim == 1:
            features[self._offsets + states] = 1.0
        else:
            np.put_along_axis(features, self._offsets + states, 1.0, axis=-1)
        features[..., self._num_monitor :] = memory
        return features


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

    def merge(self, observation: Any, features: NDArray[np.float32]) -> Any:
        """Return the observation with ``features`` (``[F]``, or ``[num_envs, F]``) beside it."""
        if self._layout == "extend":
            own = np.asarray(observation)
            return np.concatenate([own, features], axis=-1).astype(self._dtype, copy=False)
        if self._layout == "key":
            return {**observation, self._key: features}
        return {"observation": observation, self._key: features}
