"""Images of a simulation's cameras, rendered off-screen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.offscreen import OffscreenCamera


class Cameras:
    """Some cameras of an environment, at one square size; made when first looked through."""

    def __init__(self, env: RobosuiteEnv, names: Sequence[str], size: int) -> None:
        """Look through the cameras ``names`` with ``size`` pixels to a side."""
        self._env, self._names, self._size = env, tuple(names), size
        self._eyes: dict[str, OffscreenCamera] = {}

    def look(self) -> dict[str, NDArray[np.uint8]]:
        """The image ``[size, size, 3]`` of each camera, top row first.

        Raises:
            ConfigurationError: the scene has no such camera, or OpenGL cannot be used.
        """
        sim = self._env.simulation.sim
        for name in self._names:
            if name not in self._eyes:
                self._eyes[name] = OffscreenCamera(sim.model._model, name, self._size, self._size)
        return {name: eye.render(sim.data._data) for name, eye in self._eyes.items()}

    def close(self) -> None:
        """Free the renderers."""
        for eye in self._eyes.values():
            eye.close()
        self._eyes = {}
