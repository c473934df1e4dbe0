"""From what environments show to what policies are given: arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

STATE = "state"
IMAGES = "images."


def named_observation(observations: Any) -> dict[str, NDArray[Any]]:
    """Return observations of environments side by side by the names that policies know.

    An array is the state. In a dictionary, pictures are the cameras' images, and the rest is left
    as it is named.

    Args:
        observations: what a vector environment shows, or one environment with a leading axis.

    Returns:
        ``"state"`` float32 ``[n, D]``, ``"images.<camera>"`` uint8 ``[n, H, W, 3]``.

    Raises:
        ConfigurationError: there is no state, or an array that is neither.

    >>> shown = {"state": np.zeros((2, 7)), "agentview": np.zeros((2, 8, 8, 3), np.uint8)}
    >>> sorted(named_observation(shown))
    ['images.agentview', 'state']
    """
    if not isinstance(observations, Mapping):
        observations = {STATE: observations}
    named: dict[str, NDArray[Any]] = {}
    for name, value in observations.items():
        array = np.asarray(value)
        if array.ndim == 4 and array.dtype == np.uint8 and array.shape[-1] == 3:
            named[IMAGES + name.removeprefix(IMAGES)] = array
        elif array.ndim == 2 and array.dtype.kind in "fiub":
            named[name] = array.astype(np.float32)
        else:
            raise ConfigurationError(
                f"the observation {name!r} is {array.dtype} {list(array.shape)}; policies are "
                "given states [n, D] and images uint8 [n, H, W, 3]"
            )
    if STATE not in named:
        raise ConfigurationError(
            f"the observation has no {STATE!r}, only {', '.join(sorted(named))}; a policy needs "
            "the robot's own state"
        )
    return named


def image_names(observation: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the images, in the order in which they stand."""
    return tuple(name for name in observation if name.startswith(IMAGES))
