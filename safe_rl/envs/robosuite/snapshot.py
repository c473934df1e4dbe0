"""Saving and restoring a robosuite simulation exactly.

Positions and velocities are not enough: MuJoCo's solver starts from the accelerations of the step
before, the arm's controller keeps the joint posture it was reset with, and the gripper's set point
follows its command with a ramp. Fixtures (a door, a cabinet) are placed in the model, not in the
positions. All of it is saved, so that a restored simulation replays bit for bit.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from safe_rl.envs.robosuite.simulator import load

_ROBOT_MEMORY = (
    "recent_qpos", "recent_actions", "recent_torques", "recent_ee_forcetorques",
    "recent_ee_pose", "recent_ee_vel", "recent_ee_vel_buffer", "recent_ee_acc", "torques",
)  # fmt: skip
_PLAIN = (bool, int, float, str, np.ndarray, np.generic, type(None))


@dataclass(frozen=True)
class SimulationState:
    """One simulation, saved. Pickles; holds no reference to the simulation."""

    physics: np.ndarray
    controllers: dict[str, dict[str, Any]]
    gripper_target: np.ndarray
    robot_memory: dict[str, Any]
    clock: tuple[float, int]
    generator: dict[str, Any]
    bodies: tuple[np.ndarray, np.ndarray]


def _signature() -> int:
    # Everything that the integration of the next step depends on, warm start included.
    return int(load().mujoco.mjtState.mjSTATE_INTEGRATION)


def save(simulation: Any) -> SimulationState:
    """The state of ``simulation``."""
    mujoco = load().mujoco
    model, data = simulation.sim.model._model, simulation.sim.data._data
    physics = np.empty(mujoco.mj_stateSize(model, _signature()))
    mujoco.mj_getState(model, data, physics, _signature())
    robot = simulation.robots[0]
    controllers = {
        name: {k: deepcopy(v) for k, v in vars(part).items() if isinstance(v, _PLAIN)}
        for name, part in robot.composite_controller.part_controllers.items()
    }
    return SimulationState(
        physics=physics,
        controllers=controllers,
        gripper_target=np.array(robot.gripper["right"].current_action),
        robot_memory={name: deepcopy(getattr(robot, name)) for name in _ROBOT_MEMORY},
        clock=(simulation.cur_time, simulation.timestep),
        generator=deepcopy(simulation.rng.bit_generator.state),
        bodies=(model.body_pos.copy(), model.body_quat.copy()),
    )


def restore(simulation: Any, state: SimulationState) -> None:
    """Put ``simulation`` back into a saved state, derived quantities and contacts included."""
    mujoco = load().mujoco
    model, data = simulation.sim.model._model, simulation.sim.data._data
    model.body_pos[:], model.body_quat[:] = state.bodies
    mujoco.mj_setState(model, data, state.physics, _signature())
    robot = simulation.robots[0]
    for name, memory in state.controllers.items():
        part = robot.composite_controller.part_controllers[name]
        for attribute, value in memory.items():
            setattr(part, attribute, deepcopy(value))
    robot.gripper["right"].current_action = np.array(state.gripper_target)
    for attribute, value in state.robot_memory.items():
        setattr(robot, attribute, deepcopy(value))
    simulation.cur_time, simulation.timestep = state.clock
    simulation.rng.bit_generator.state = deepcopy(state.generator)
    # Not mj_forward: that would run the solver and so move the warm start.
    mujoco.mj_step1(model, data)
