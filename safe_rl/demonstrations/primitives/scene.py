"""Access to a scene by name: where things are, how large they are, what touches what."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.errors import ConfigurationError, near

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)


class Scene:
    """What the families and the planner read of a ``RobosuiteEnv``, LIBERO's included.

    A name is that of an object or fixture of the task, else of a MuJoCo body.

    Attributes:
        env: the environment.
        model: ``mujoco.MjModel``.
        data: ``mujoco.MjData``, live.
        arm_qpos: addresses of the arm's joints in ``qpos``, ``[7]``.
        arm_dofs: addresses in ``qvel``.
        finger_name: name of one finger's body.
        finger_qpos: addresses of the fingers' joints in ``qpos``, ``[2]``.
    """

    def __init__(self, env: RobosuiteEnv) -> None:
        """Look at ``env``, which must have been reset once."""
        self.env = env
        self.model: Any = env.simulation.sim.model._model
        self.data: Any = env.simulation.sim.data._data
        robot = env.simulation.robots[0]
        gripper = robot.gripper["right"]
        named = env.simulation.sim.model
        joints = robot.robot_model.joints
        self.arm_qpos = np.array([named.get_joint_qpos_addr(j) for j in joints])
        self.arm_dofs = np.array([named.get_joint_qvel_addr(j) for j in joints])
        self.site = named.site_name2id(gripper.important_sites["grip_site"])
        self.hand = named.body_name2id(f"{gripper.naming_prefix}eef")
        prefix = gripper.naming_prefix
        self.fingers = tuple(
            self.subtree(named.body_name2id(f"{prefix}{side}finger")) for side in ("left", "right")
        )
        self.finger_name = f"{prefix}leftfinger"
        self.finger_qpos = np.array([named.get_joint_qpos_addr(j) for j in gripper.joints])
        self.robot = self.subtree(named.body_name2id(robot.robot_model.root_body))
        self.base = named.body_name2id(f"{robot.robot_model.naming_prefix}link0")

    # --- bodies and geoms -----------------------------------------------------------------------

    def body(self, name: str) -> int:
        """The MuJoCo body of a name.

        Raises:
            ConfigurationError: nothing is called so.
        """
        simulation = self.env.simulation
        thing = getattr(simulation, "fixtures_dict", {}).get(name, getattr(simulation, name, None))
        wanted = getattr(thing, "root_body", name)
        names = [self.model.body(i).name for i in range(self.model.nbody)]
        if wanted not in names:
            raise ConfigurationError(f"the scene holds nothing called {name!r}{near(name, names)}")
        return names.index(wanted)

    def subtree(self, body: int) -> set[int]:
        """A body and all that hangs on it."""
        found = {body}
        for child in range(body + 1, self.model.nbody):
            if int(self.model.body_parentid[child]) in found:
                found.add(child)
        return found

    def geoms(self, name: str) -> list[int]:
        """The collision geoms of a thing, with all that hangs on it."""
        bodies = self.subtree(self.body(name))
        solid = (self.model.geom_contype != 0) | (self.model.geom_conaffinity != 0)
        return [int(g) for g in np.flatnonzero(solid) if int(self.model.geom_bodyid[g]) in bodies]

    # --- poses ----------------------------------------------------------------------------------

    @property
    def gripper(self) -> Pose:
        """Pose of the gripper."""
        return Pose.of(self.data.site_xpos[self.site], self.data.xquat[self.hand])

    @property
    def joints(self) -> Vector:
        """The arm's joints, ``[7]``, rad."""
        return np.array(self.data.qpos[self.arm_qpos])

    def pose(self, name: str) -> Pose:
        """Pose of a thing's body."""
        body = self.body(name)
        return Pose.of(self.data.xpos[body], self.data.xquat[body])

    def site_position(self, name: str) -> Vector:
        """Where a site is, ``[3]``, m."""
        return np.array(self.data.site(name).xpos)

    def joint(self, name: str) -> float:
        """Position of a hinge or slide, rad or m."""
        return float(self.data.joint(name).qpos[0])

    def corners(self, name: str) -> NDArray[np.float64]:
        """The corners of the boxes around a thing's collision geoms, ``[8 n, 3]``, world, m."""
        return np.concatenate([self._geom_corners(geom) for geom in self.geoms(name)])

    def bounds(self, name: str) -> tuple[Vector, Vector]:
        """Lowest and highest coordinates of a thing along the world's axes, m."""
        corners = self.corners(name)
        return corners.min(axis=0), corners.max(axis=0)

    def _geom_corners(self, geom: int) -> NDArray[np.float64]:
        centre, half = self.model.geom_aabb[geom, :3], self.model.geom_aabb[geom, 3:]
        turn = self.data.geom_xmat[geom].reshape(3, 3)
        return self.data.geom_xpos[geom] + (centre + CORNERS * half) @ turn.T

    # --- contacts -------------------------------------------------------------------------------

    def touching(self, name: str, other: str | None = None) -> bool:
        """Whether a thing touches another, or anything but the robot."""
        own = set(self.geoms(name))
        others = None if other is None else set(self.geoms(other))
        for first, second in self._pairs():
            for here, there in ((first, second), (second, first)):
                if here not in own or there in own:
                    continue
                robot = int(self.model.geom_bodyid[there]) in self.robot
                if there in others if others is not None else not robot:
                    return True
        return False

    def held(self, name: str) -> bool:
        """Whether both fingers touch a thing."""
        own = set(self.geoms(name))
        found = set()
        for first, second in self._pairs():
            for here, there in ((first, second), (second, first)):
                if here in own:
                    found.add(self._finger_of(int(self.model.geom_bodyid[there])))
        return found >= {0, 1}

    def _finger_of(self, body: int) -> int | None:
        for index, finger in enumerate(self.fingers):
            if body in finger:
                return index
        return None

    def _pairs(self) -> list[tuple[int, int]]:
        return [tuple(pair) for pair in self.data.contact.geom[: self.data.ncon].tolist()]
