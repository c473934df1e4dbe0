"""Liquid made of small bodies: how much is in which container, in flight, and spilled.

A particle is in a container while it is in the container's box. It is gone where it is within the
footprint of a sink and below its rim, is in flight while it moves, and is spilled where it has
come to rest anywhere else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safe_rl.grounding.mujoco.bindings import MujocoData
from safe_rl.grounding.mujoco.entities import MujocoEntities
from safe_rl.grounding.mujoco.names import MujocoParticles
from safe_rl.grounding.settings import GroundingSettings

Floats = NDArray[np.floating]
_NONE = np.zeros((), dtype=np.float32)


class Liquid:
    """The particles of a model, counted."""

    def __init__(
        self,
        data: MujocoData,
        entities: MujocoEntities,
        particles: MujocoParticles | None,
        settings: GroundingSettings,
    ) -> None:
        """Count ``particles``, if there are any."""
        self._data = data
        self._bodies = np.asarray(entities.particles, dtype=np.intp)
        self._full = float(particles.full) if particles else 1.0
        self._still = settings.linear_stability
        roles = entities.roles
        self._container = np.asarray([o.liquid for o in roles.objects], dtype=bool)
        self._half = np.asarray([o.half for o in roles.objects]).reshape(-1, 3)
        self._sinks = np.asarray([f.kind == "sink" for f in roles.fixtures], dtype=bool)
        self._sink_half = np.asarray([f.half for f in roles.fixtures])[self._sinks]

    def amounts(
        self, places: Floats, axes: Floats, fixtures: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The amount in each container ``[O]``, in flight, and spilled; 1 is a full container.

        Args:
            places: ``[O, 3]``, centres of the objects' boxes.
            axes: ``[O, 3, 3]``, their axes.
            fixtures: ``[F, 3]``, centres of the fixtures' bodies.
        """
        if not len(self._bodies):
            return np.zeros(len(places), dtype=np.float32), _NONE, _NONE
        drops = self._data.xpos[self._bodies]
        local = np.einsum("poi,oij->poj", drops[:, None] - places[None], axes)
        inside = (np.abs(local) <= self._half).all(axis=-1) & self._container
        # In two nested containers, it is the first one's.
        inside &= np.cumsum(inside, axis=1) == 1
        apart = drops[:, None] - fixtures[self._sinks][None]
        drained = (np.abs(apart[..., :2]) <= self._sink_half[:, :2]).all(axis=-1) & (
            apart[..., 2] <= self._sink_half[:, 2]
        )
        loose = ~inside.any(axis=1) & ~drained.any(axis=1)
        # A particle is its own tree, so that cvel is the velocity of its own centre.
        moves = (self._data.cvel[self._bodies, 3:] ** 2).sum(axis=1) > self._still**2
        return (
            self._amount(inside.sum(axis=0)),
            self._amount((loose & moves).sum()),
            self._amount((loose & ~moves).sum()),
        )

    def _amount(self, count: NDArray[np.integer]) -> Floats:
        return np.asarray(count / self._full, dtype=np.float32)
