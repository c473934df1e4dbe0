"""A MuJoCo model's tree: what is below a body, and boxes in the frames of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.robosuite import simulator

Three = tuple[float, float, float]


class Box(NamedTuple):
    """A box in the frame of a body, in metres."""

    body: str
    center: Three
    half: Three

    @staticmethod
    def around(boxes: Sequence[Box]) -> Box:
        """The box around boxes of one body.

        >>> a = Box("case", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        >>> Box.around([a, a._replace(center=(0.0, 0.0, 2.0))])
        Box(body='case', center=(0.0, 0.0, 1.0), half=(1.0, 1.0, 2.0))
        """
        low = np.min([np.subtract(b.center, b.half) for b in boxes], axis=0)
        high = np.max([np.add(b.center, b.half) for b in boxes], axis=0)
        return Box(boxes[0].body, _three((low + high) / 2), _three((high - low) / 2))

    def slab(self, number: int, count: int) -> Box:
        """One of ``count`` equal parts along the x axis.

        >>> Box("case", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)).slab(1, 2)
        Box(body='case', center=(0.5, 0.0, 0.0), half=(0.5, 1.0, 1.0))
        """
        (x, y, z), (width, depth, height) = self.center, self.half
        part = width / count
        center = np.array([x - width + (2 * number + 1) * part, y, z])
        return Box(self.body, _three(center), _three(np.array([part, depth, height])))


def _three(values: NDArray[Any]) -> Three:
    x, y, z = np.asarray(values, dtype=float).round(9).tolist()
    return (x, y, z)


class ModelTree:
    """A model and the posture in ``data``."""

    def __init__(self, model: Any, data: Any) -> None:
        """Read ``mujoco.MjModel`` and ``mujoco.MjData``."""
        self._model, self._data = model, data
        mujoco = simulator.load().mujoco
        self._types = mujoco.mjtObj
        self._id = mujoco.mj_name2id
        free = int(mujoco.mjtJoint.mjJNT_FREE)
        self._free = set(model.jnt_bodyid[model.jnt_type == free].tolist())
        self._collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)

    def joints_below(self, body: str) -> tuple[str, ...]:
        """The joints of a body's subtree, free ones apart."""
        below, model = self._below(body), self._model
        return tuple(
            model.joint(j).name
            for j in range(model.njnt)
            if below[model.jnt_bodyid[j]] and int(model.jnt_bodyid[j]) not in self._free
        )

    def geoms_below(self, body: str) -> tuple[str, ...]:
        """The geoms of a body's subtree that can collide."""
        return self._geoms(self._below(body)[self._model.geom_bodyid])

    def world_geoms(self) -> tuple[str, ...]:
        """The geoms of the world itself that can collide."""
        return self._geoms(self._model.geom_bodyid == 0)

    def is_free(self, body: str) -> bool:
        """Whether the body has a free joint."""
        return self._model.body(body).id in self._free

    def body_of_joint(self, joint: str) -> str:
        """The body that a joint moves."""
        return str(self._model.body(self._model.jnt_bodyid[self._model.joint(joint).id]).name)

    def range_of(self, joint: str) -> tuple[float, float]:
        """A joint's range, in metres or radians."""
        low, high = self._model.jnt_range[self._model.joint(joint).id].tolist()
        return low, high

    def anchor_in(self, joint: str, body: str) -> NDArray[Any]:
        """Where a joint's anchor is, ``[3]``, m, in a body's frame."""
        place, frame = self._data.xpos[self._body(body)], self._data.xmat[self._body(body)]
        offset = self._data.xanchor[self._model.joint(joint).id] - place
        return offset @ frame.reshape(3, 3)

    def box_of_geom(self, geom: str) -> Box | None:
        """The box around a geom in its body's frame, or nothing where there is no such geom."""
        number = self._id(self._model, self._types.mjOBJ_GEOM, geom)
        if number < 0:
            return None
        model, data = self._model, self._data
        body = int(model.geom_bodyid[number])
        frame = data.xmat[body].reshape(3, 3)
        turn = frame.T @ data.geom_xmat[number].reshape(3, 3)
        bounds = model.geom_aabb[number]
        center = frame.T @ (data.geom_xpos[number] - data.xpos[body]) + turn @ bounds[:3]
        return Box(model.body(body).name, _three(center), _three(np.abs(turn) @ bounds[3:]))

    def has_site(self, site: str) -> bool:
        """Whether the model has such a site."""
        return self._id(self._model, self._types.mjOBJ_SITE, site) >= 0

    def _body(self, name: str) -> int:
        return int(self._model.body(name).id)

    def _below(self, body: str) -> NDArray[np.bool_]:
        """Per body of the model, whether it is in a body's subtree."""
        found = np.zeros(self._model.nbody, dtype=bool)
        root = self._body(body)
        for number in range(root, self._model.nbody):  # parents come before their children
            found[number] = number == root or found[self._model.body_parentid[number]]
        return found

    def _geoms(self, wanted: NDArray[np.bool_]) -> tuple[str, ...]:
        names = (self._model.geom(g).name for g in np.flatnonzero(wanted & self._collides))
        return tuple(name for name in names if name)  # robosuite names all geoms
