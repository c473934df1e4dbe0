"""Rigid poses: a position in metres and a rotation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.robosuite.motions import rotation, rotation_vector

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pose:
    """Where something is and how it is turned.

    Of a gripper: the point between its finger pads; its fingers close along the first axis, and it
    looks along the third.

    Attributes:
        position: ``[3]``, m.
        rotation: ``[3, 3]``, columns are the axes.
    """

    position: Vector
    rotation: Matrix

    @classmethod
    def of(cls, position: Vector, quaternion: Vector) -> Pose:
        """The pose of a position and a quaternion (w, x, y, z)."""
        return cls(np.array(position, np.float64), rotation(np.asarray(quaternion)))

    def __matmul__(self, inner: Pose) -> Pose:
        """The pose in the outer frame of what is at ``inner`` in this pose's frame."""
        return Pose(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def inverse(self) -> Pose:
        """The outer frame as seen from this one."""
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def shifted(self, by: Vector | list[float]) -> Pose:
        """The same, moved by so many metres in the outer frame."""
        return Pose(self.position + np.asarray(by, np.float64), self.rotation)

    def at(self, position: Vector) -> Pose:
        """The same rotation elsewhere."""
        return Pose(np.asarray(position, np.float64), self.rotation)

    def back(self, metres: float) -> Pose:
        """The same, drawn back against the direction in which a gripper looks."""
        return self.shifted(-metres * self.rotation[:, 2])

    def towards(self, other: Pose, part: float) -> Pose:
        """Between this (0) and ``other`` (1): a straight line, the shortest turn.

        >>> left = Pose(np.zeros(3), np.eye(3))
        >>> left.towards(left.shifted([0.2, 0.0, 0.0]), 0.5).position.tolist()
        [0.1, 0.0, 0.0]
        """
        turn = turned(part * rotation_vector(other.rotation @ self.rotation.T))
        return Pose(
            (1 - part) * self.position + part * other.position,
            turn @ self.rotation,
        )

    def apart(self, other: Pose) -> tuple[float, float]:
        """Distance in metres and angle in radians to ``other``."""
        turn = rotation_vector(other.rotation @ self.rotation.T)
        gap = other.position - self.position
        return float(np.linalg.norm(gap)), float(np.linalg.norm(turn))


def turned(vector: Vector) -> Matrix:
    """The matrix of a rotation vector (axis times angle)."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    axis = vector / angle
    return rotation(np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)]))


def quaternion(matrix: Matrix) -> Vector:
    """The quaternion (w, x, y, z) of a rotation, w not negative."""
    vector = rotation_vector(matrix)
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * vector / angle)])
