"""The robosuite tasks that are wrapped, and the parts that their objects play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safe_rl.errors import ConfigurationError, near
from safe_rl.grounding import AllowedContacts, SceneRoles


@dataclass(frozen=True)
class Task:
    """One robosuite task.

    Attributes:
        name: robosuite's name of the environment.
        objects: attribute of the robosuite environment that holds each graspable object.
        allowed: roles for the contact rules (SafeManip, phi 1).
        horizon: control steps per episode (50 ms each).
        goal: for people.
    """

    name: str
    objects: tuple[str, ...]
    allowed: AllowedContacts
    horizon: int
    goal: str


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="Lift",
            objects=("cube",),
            allowed=AllowedContacts(manipulated=frozenset({"cube"})),
            horizon=200,
            goal="raise the cube 4 cm above the table",
        ),
        Task(
            name="Stack",
            objects=("cubeA", "cubeB"),
            # Cube B receives cube A: the robot has no business with it.
            allowed=AllowedContacts(
                manipulated=frozenset({"cubeA"}), receivers={"cubeA": frozenset({"cubeB"})}
            ),
            horizon=300,
            goal="put cube A on cube B and let go of it",
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of that name, else ``ConfigurationError``."""
    if name not in TASKS:
        raise ConfigurationError(
            f"no robosuite task {name!r}{near(name, TASKS)}; wrapped: {', '.join(TASKS)}"
        )
    return TASKS[name]


def scene_roles(task: Task, simulation: Any) -> SceneRoles:
    """Who is who in the MuJoCo model that robosuite has built for this task."""
    robot = simulation.robots[0]
    prefix = robot.gripper["right"].naming_prefix
    return SceneRoles(
        robot=robot.robot_model.root_body,
        base=(robot.robot_model.base.root_body,),
        base_bodies=(robot.robot_model.root_body, f"{robot.robot_model.naming_prefix}link0"),
        gripper=f"{prefix}right_gripper",
        fingers=(f"{prefix}leftfinger", f"{prefix}rightfinger"),
        finger_joints=(f"{prefix}finger_joint1", f"{prefix}finger_joint2"),
        finger_actuators=(f"{prefix}gripper_finger_joint1", f"{prefix}gripper_finger_joint2"),
        objects={name: getattr(simulation, name).root_body for name in task.objects},
        fixtures={"table": "table"},
        surroundings={"floor": "floor"},
    )
