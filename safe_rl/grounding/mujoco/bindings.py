"""The parts of MuJoCo's model and data that are read, as protocols: MuJoCo is not imported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]

GeomDistance = Callable[[int, int, float], float]
"""Signed distance in metres between two geoms, or the third argument where it is larger."""


class MujocoElement(Protocol):
    """A named element of a model."""

    id: int
    name: str


Lookup = Callable[[int | str], MujocoElement]


class MujocoModel(Protocol):
    """The parts of ``mujoco.MjModel`` that are read."""

    nbody: int
    ngeom: int
    njnt: int
    nsite: int
    nu: int
    body_parentid: Array
    body_rootid: Array
    geom_bodyid: Array
    geom_contype: Array
    geom_conaffinity: Array
    geom_aabb: Array
    geom_rbound: Array
    jnt_qposadr: Array
    jnt_bodyid: Array
    jnt_range: Array
    site_bodyid: Array
    site_pos: Array
    site_quat: Array
    site_type: Array
    site_size: Array
    body: Lookup
    geom: Lookup
    joint: Lookup
    site: Lookup
    actuator: Lookup


class MujocoData(Protocol):
    """The parts of ``mujoco.MjData`` that are read."""

    contact: Any
    ctrl: Array
    qpos: Array
    xpos: Array
    xquat: Array
    xmat: Array
    xaxis: Array
    cvel: Array
    subtree_com: Array
    geom_xpos: Array
    geom_xmat: Array
    site_xpos: Array
    site_xmat: Array
