"""robosuite's arm controller between two actions, without the work that repeats.

robosuite computes the torques of a command anew in each of the 25 physics substeps that hold it,
and spends three quarters of a control step on looking up names, on limits that never change, on the
same Jacobian four times and on the velocity of a base that is bolted down. Here what does change is
computed, once, by the same operations in the same order: the torques are the same bit for bit.

Source of the control law: Khatib, "A unified approach for motion and force control of robot
manipulators: the operational space formulation" (1987), as robosuite 1.5 writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from safe_rl.envs.robosuite.simulator import load

ARM, GRIPPER = "right", "right_gripper"


def suits(simulation: Any) -> bool:
    """Tell whether a :class:`HeldCommand` computes what this robot's controllers would."""
    from robosuite.controllers.parts.arm.osc import OperationalSpaceController
    from robosuite.robots.fixed_base_robot import FixedBaseRobot

    robot = simulation.robots[0]
    if len(simulation.robots) != 1 or type(robot) is not FixedBaseRobot:
        return False
    parts = robot.part_controllers
    if set(parts) != {ARM, GRIPPER} or type(parts[ARM]) is not OperationalSpaceController:
        return False
    arm, gripper = parts[ARM], parts[GRIPPER]
    return (
        arm.num_ref_sites == 1
        and arm.interpolator_pos is None
        and arm.interpolator_ori is None
        and arm.input_ref_frame == "base"
        and arm.uncoupling
        and arm.lite_physics
        and gripper.interpolator is None
    )


class HeldCommand:
    """The torques of a command that is held, for one arm on a fixed base.

    Args:
        simulation: a robosuite environment that it :func:`suits`, after its reset.
    """

    def __init__(self, simulation: Any) -> None:
        libraries = load()
        robot, sim = simulation.robots[0], simulation.sim
        self.controller = robot.part_controllers[ARM]
        self._laws = libraries.robosuite.utils.control_utils
        self._jacobian, self._full = libraries.mujoco.mj_jacSite, libraries.mujoco.mj_fullM
        self._model, self._data = sim.model._model, sim.data._data
        self._site = sim.model.site_name2id(self.controller.ref_name)
        self._base = sim.model.site_name2id(
            f"{self.controller.naming_prefix}{self.controller.part_name}_center"
        )
        size = self._model.nv
        self._jacp, self._jacr = np.zeros((3, size)), np.zeros((3, size))
        self._mass = np.zeros((size, size))
        joints = len(self.controller.qvel_index)
        # Contiguous, as robosuite's are: another layout would be added up in another order.
        self._whole = np.zeros((6, joints))
        self._linear, self._angular = np.zeros((3, joints)), np.zeros((3, joints))
        self._qpos = np.asarray(self.controller.qpos_index)
        self._qvel = np.asarray(self.controller.qvel_index)
        self._composite, self._enabled = robot.composite_controller, robot._enabled_parts
        self._parts = {}
        for part in (ARM, GRIPPER):
            actuators = np.asarray(robot._ref_actuators_indexes_dict[part])
            self._parts[part] = (actuators, *self._model.actuator_ctrlrange[actuators].T.copy())

    @classmethod
    def of(cls, simulation: Any, earlier: HeldCommand | None = None) -> HeldCommand | None:
        """Return what holds a command, ``earlier`` if it belongs to this episode.

        ``None``: the robot is not one arm on a fixed base under plain operational space control,
        and robosuite's own code has to be called.
        """
        robot = simulation.robots[0]
        if earlier is not None and earlier.controller is robot.part_controllers.get(ARM):
            return earlier
        return cls(simulation) if suits(simulation) else None

    def take(self, action: np.ndarray) -> None:
        """Begin a control step: set the goals of arm and gripper, and write their first commands.

        It stands for ``_pre_action(action, True)``; robosuite's record of recent actions, torques
        and accelerations, which only its own observables read, is not kept.
        """
        self._composite.update_state()
        self._composite.set_goal(action)
        commands = self._composite.run_controller(self._enabled)
        for part, (actuators, low, high) in self._parts.items():
            self._data.ctrl[actuators] = np.clip(commands[part], low, high)

    def apply(self) -> None:
        """Write the arm's torques for the state that has been derived; the gripper's command stays.

        It stands for every ``_pre_action`` of a control step but the first.
        """
        arm, data, laws = self.controller, self._data, self._laws
        self._jacobian(self._model, data, self._jacp, self._jacr, self._site)
        self._full(self._model, self._mass, data.qM)
        mass = self._mass[self._qvel, :][:, self._qvel]
        position, rotation = data.site_xpos[self._site], data.site_xmat[self._site].reshape(3, 3)
        origin, frame = data.site_xpos[self._base], data.site_xmat[self._base].reshape(3, 3)
        jacobian = self._whole
        jacobian[:3] = self._linear[:] = self._jacp[:, self._qvel]
        jacobian[3:] = self._angular[:] = self._jacr[:, self._qvel]
        kp, kd = arm.kp, arm.kd

        error = origin + np.dot(frame, arm.goal_pos) - position
        force = error * kp[0:3] - np.dot(self._jacp, data.qvel) * kd[0:3]
        turn = laws.orientation_error(np.dot(frame, arm.goal_ori), rotation)
        torque = turn * kp[3:6] - np.dot(self._jacr, data.qvel) * kd[3:6]

        _, by_force, by_torque, null = laws.opspace_matrices(
            mass, jacobian, self._linear, self._angular
        )
        wrench = np.concatenate([np.dot(by_force, force), np.dot(by_torque, torque)])
        torques = np.dot(jacobian.T, wrench) + data.qfrc_bias[self._qvel]
        torques += laws.nullspace_torques(
            mass, null, arm.initial_joint, data.qpos[self._qpos], data.qvel[self._qvel]
        )
        actuators, low, high = self._parts[ARM]
        data.ctrl[actuators] = np.clip(torques, low, high)
