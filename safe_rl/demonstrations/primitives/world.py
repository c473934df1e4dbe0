"""A copy of a scene in which the planner tries postures of the arm: reach, and collisions."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy

import numpy as np
from numpy.typing import NDArray

from safe_rl.demonstrations.primitives.pose import Pose, Vector, quaternion
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.motions import rotation_vector
from safe_rl.envs.robosuite.simulator import load

_ITERATIONS, _DAMPING, _POSTURE = 80, 0.03, 0.02
_NEAR, _ALIGNED = 0.004, 0.03  # m and rad, that is reached


class World:
    """The scene as it is now, with an arm that can be put anywhere without a step of physics.

    What is held moves with the gripper; where nothing is, the fingers are open.

    Attributes:
        start: the arm's joints in the scene, ``[7]``.
    """

    def __init__(
        self, scene: Scene, *, held: str | None, touching: Collection[str], clearance: float
    ) -> None:
        """Copy the scene.

        Args:
            scene: of which a copy is made.
            held: the thing between the fingers.
            touching: things that the motion may touch.
            clearance: metres that the arm keeps from everything else.
        """
        self._mujoco = load().mujoco
        self._scene = scene
        self.model = copy(scene.model)
        self.data = self._mujoco.MjData(self.model)
        self.data.qpos[:] = scene.data.qpos
        self._held: tuple[int, Pose] | None = None
        moving = scene.robot - {scene.base}
        if held is None:
            self.data.qpos[scene.finger_qpos] = self._widest()
        else:
            joint = int(self.model.body_jntadr[scene.body(held)])
            inside = scene.gripper.inverse() @ scene.pose(held)
            self._held = int(self.model.jnt_qposadr[joint]), inside
            moving = moving | scene.subtree(scene.body(held))
        bodies = np.asarray(self.model.geom_bodyid)
        self._moving = np.isin(bodies, list(moving))
        mounted = np.isin(bodies, list(scene.robot)) & ~self._moving
        spared = {geom for name in touching for geom in scene.geoms(name)}
        self._spared = np.isin(np.arange(len(bodies)), list(spared)) | mounted
        self._clearance = clearance
        self.model.geom_margin[self._moving] = clearance
        self.start = scene.joints
        arm = self._joint_ids(scene.arm_qpos)
        self._low = self.model.jnt_range[arm, 0] + 0.02
        self._high = self.model.jnt_range[arm, 1] - 0.02
        # What is touched at the start, say the table under the fingers, is not to be avoided.
        self._known: set[tuple[int, int]] = set()
        self.put(scene.joints)
        self._known = set(self.collisions())

    def _joint_ids(self, addresses: NDArray[np.int_]) -> list[int]:
        every = np.asarray(self.model.jnt_qposadr)
        return [int(np.flatnonzero(every == address)[0]) for address in addresses]

    def _widest(self) -> Vector:
        bounds = self.model.jnt_range[self._joint_ids(self._scene.finger_qpos)]
        widest: Vector = np.where(np.abs(bounds[:, 0]) > bounds[:, 1], bounds[:, 0], bounds[:, 1])
        return widest

    def put(self, joints: Vector) -> Pose:
        """Put the arm into a posture ``[7]``; returns the gripper's pose."""
        scene, data = self._scene, self.data
        data.qpos[scene.arm_qpos] = joints
        self._mujoco.mj_kinematics(self.model, data)
        gripper = Pose.of(data.site_xpos[scene.site], data.xquat[scene.hand])
        if self._held is not None:
            address, inside = self._held
            thing = gripper @ inside
            data.qpos[address : address + 3] = thing.position
            data.qpos[address + 3 : address + 7] = quaternion(thing.rotation)
        return gripper

    def reach(self, target: Pose, joints: Vector) -> Vector | None:
        """The posture near ``joints`` that brings the gripper to ``target``, or nothing.

        Damped least squares; what freedom is left draws towards the posture at the start, as the
        controller does.
        """
        scene, mujoco = self._scene, self._mujoco
        joints = joints.copy()
        jacobian = np.zeros((6, self.model.nv))
        for _ in range(_ITERATIONS):
            now = self.put(joints)
            error = np.concatenate(
                [target.position - now.position, rotation_vector(target.rotation @ now.rotation.T)]
            )
            if np.linalg.norm(error[:3]) < _NEAR and np.linalg.norm(error[3:]) < _ALIGNED:
                return joints
            mujoco.mj_comPos(self.model, self.data)
            mujoco.mj_jacSite(self.model, self.data, jacobian[:3], jacobian[3:], scene.site)
            own = jacobian[:, scene.arm_dofs]
            pseudo = own.T @ np.linalg.inv(own @ own.T + _DAMPING**2 * np.eye(6))
            drawn = _POSTURE * (self.start - joints)
            change = pseudo @ error + drawn - pseudo @ (own @ drawn)
            joints = np.clip(joints + np.clip(change, -0.3, 0.3), self._low, self._high)
        return None

    def collisions(self) -> list[tuple[int, int]]:
        """Pairs of geoms, of the arm and of what it must not touch, that are too near."""
        data = self.data
        self._mujoco.mj_kinematics(self.model, data)
        self._mujoco.mj_comPos(self.model, data)
        self._mujoco.mj_collision(self.model, data)
        if data.ncon == 0:
            return []
        pairs = data.contact.geom[: data.ncon]
        near = data.contact.dist[: data.ncon] < self._clearance
        moving, spared = self._moving[pairs], self._spared[pairs]
        wrong = near & (moving[:, 0] ^ moving[:, 1]) & ~spared.any(axis=1)
        found = [(int(a), int(b)) for a, b in pairs[wrong]]
        return [pair for pair in found if pair not in self._known]

    def free(self, joints: Vector) -> bool:
        """Whether nothing is hit in a posture."""
        self.put(joints)
        return not self.collisions()
