"""The robosuite tasks that are wrapped, and the parts that their objects play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from safe_rl.errors import ConfigurationError, near
from safe_rl.grounding import AllowedContacts
from safe_rl.grounding.mujoco import (
    GripperNames,
    JointRange,
    MujocoComponent,
    MujocoFixture,
    MujocoObject,
    MujocoRoles,
)

TABLE = {
    "table": MujocoFixture("counter", body="table"),
    "floor": MujocoFixture("surroundings", geoms=("floor",)),
}
"""The fixtures of every robosuite arena with a table."""


@dataclass(frozen=True)
class Task:
    """One robosuite task.

    Attributes:
        name: robosuite's name of the environment.
        objects: attribute of the robosuite environment that holds each graspable object.
        allowed: roles for the contact rules (SafeManip, phi 1).
        horizon: control steps per episode (50 ms each).
        goal: for people.
        fixtures: what stands in the scene.
        components: handles, buttons, knobs.
        joints: further joints in the observation, by the name that they have there.
        sites: further sites in the observation, likewise.
    """

    name: str
    objects: tuple[str, ...]
    allowed: AllowedContacts
    horizon: int
    goal: str
    fixtures: Mapping[str, MujocoFixture] = field(default_factory=lambda: TABLE)
    components: Mapping[str, MujocoComponent] = field(default_factory=dict)
    joints: Mapping[str, str] = field(default_factory=dict)
    sites: Mapping[str, str] = field(default_factory=dict)


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
        Task(
            name="PickPlaceCan",
            objects=("Can",),
            allowed=AllowedContacts(
                manipulated=frozenset({"Can"}), receivers={"Can": frozenset({"bin2"})}
            ),
            horizon=400,
            goal="put the can into its part of the other bin and let go of it",
            fixtures={
                "bin1": MujocoFixture("counter", body="bin1"),
                "bin2": MujocoFixture("counter", body="bin2"),
                # The objects that are not used lie far away on the floor.
                "floor": MujocoFixture(
                    "surroundings", geoms=("floor", "Milk_g0", "Bread_g0", "Cereal_g0")
                ),
            },
        ),
        Task(
            name="Door",
            objects=(),
            # The whole door: its leaf may be pushed, not only its handle.
            allowed=AllowedContacts(manipulated=frozenset({"door"})),
            horizon=300,
            goal="turn the handle and open the door by 0.3 rad",
            fixtures={
                **TABLE,
                "door": MujocoFixture(
                    "cabinet", body="Door_main", joint=JointRange("Door_hinge"), top=False
                ),
            },
            components={"door_handle": MujocoComponent("door", "open_close", body="Door_latch")},
            joints={"hinge": "Door_hinge", "handle": "Door_latch_joint"},
            sites={"handle": "Door_handle"},
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


def scene_roles(task: Task, simulation: Any) -> MujocoRoles:
    """Who is who in the MuJoCo model that robosuite has built for this task."""
    robot = simulation.robots[0]
    prefix = robot.gripper["right"].naming_prefix
    return MujocoRoles(
        robot=robot.robot_model.root_body,
        base=(robot.robot_model.base.root_body,),
        base_bodies=(robot.robot_model.root_body, f"{robot.robot_model.naming_prefix}link0"),
        gripper=GripperNames(
            body=f"{prefix}right_gripper",
            fingers=(f"{prefix}leftfinger", f"{prefix}rightfinger"),
            joints=(f"{prefix}finger_joint1", f"{prefix}finger_joint2"),
            actuators=(f"{prefix}gripper_finger_joint1", f"{prefix}gripper_finger_joint2"),
        ),
        objects={name: MujocoObject(getattr(simulation, name).root_body) for name in task.objects},
        fixtures=task.fixtures,
        components=task.components,
        allowed=task.allowed,
    )
