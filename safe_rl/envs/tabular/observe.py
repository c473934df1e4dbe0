"""How a tabular state is shown to a learner: its index, or a vector of features."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.tabular.model import TransitionModel
from safe_rl.errors import ConfigurationError

ObservationKind = Literal["index", "features"]


def observation_table(
    model: TransitionModel, features: NDArray[np.float32] | None, kind: str
) -> tuple[gym.Space[Any], NDArray[Any]]:
    """Return the observation space and, per state, the observation.

    Args:
        model: The transition model, with ``S`` states.
        features: ``float32 [S, D]`` with entries in [0, 1], or ``None`` when there are none.
        kind: ``"index"`` for ``Discrete(S)``, ``"features"`` for ``Box(0, 1, [D])``.

    Raises:
        ConfigurationError: ``kind`` is neither, or there are no features to show.
    """
    if kind == "index":
        return gym.spaces.Discrete(model.num_states), np.arange(model.num_states, dtype=np.int64)
    if kind == "features":
        if features is None:
            raise ConfigurationError("observation='features' needs features=[S, D], got None")
        if features.ndim != 2 or len(features) != model.num_states:
            raise ConfigurationError(
                f"features must have shape [S, D] with S = {model.num_states}, got {features.shape}"
            )
        return gym.spaces.Box(0.0, 1.0, features.shape[1:], np.float32), features
    raise ConfigurationError(f"observation must be 'index' or 'features', got {kind!r}")
