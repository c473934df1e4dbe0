"""What a leader device is: a stream of joint positions or of gripper poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from safe_rl.demonstrations.primitives.controller import Action, servo
from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.errors import ConfigurationError


@dataclass(frozen=True)
class JointCommand:
    """Where a leader arm with the follower's kinematics stands.

    Attributes:
        joints: ``[7]``, rad.
        gripper: -1 opens, 1 closes, 0 keeps.
    """

    joints: Vector
    gripper: float


@dataclass(frozen=True)
class PoseCommand:
    """Where the gripper is to be, in the world.

    Attributes:
        pose: of the gripper.
        gripper: -1 opens, 1 closes, 0 keeps.
    """

    pose: Pose
    gripper: float


Command = JointCommand | PoseCommand


class Leader(Protocol):
    """A device that leads the arm; asked once per control step."""

    def start(self, scene: Scene) -> None:
        """Begin an episode in the scene as it stands."""

    def read(self) -> Command | None:
        """The newest command; ``None`` ends the episode."""

    def close(self) -> None:
        """Let the device go."""


class Retargeting:
    """Turns commands into actions of the OSC_POSE controller.

    A joint command leads the gripper to where it would be in that posture (forward kinematics on a
    copy of the scene).
    """

    def __init__(self, scene: Scene, speed: float = 1.0) -> None:
        """Lead the arm of ``scene``, with at most ``speed`` of the largest step."""
        self._scene, self._speed = scene, speed
        self._world: World | None = None

    def action(self, command: Command) -> Action:
        """The action that follows a command now.

        Raises:
            ConfigurationError: a device sent joints of another arm.
        """
        if isinstance(command, PoseCommand):
            target = command.pose
        else:
            if command.joints.shape != (7,):
                raise ConfigurationError(
                    f"a leader arm sends 7 joints, but {command.joints.shape} came; use a device "
                    "with the follower's kinematics, or one that sends poses"
                )
            if self._world is None:
                self._world = World(self._scene, held=None, touching=(), clearance=0.0)
            target = self._world.put(command.joints)
        return servo(self._scene.gripper, target, command.gripper, self._speed)
