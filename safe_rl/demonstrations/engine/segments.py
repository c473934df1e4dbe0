"""The motions of which a family's skeleton is made: what to do, not how.

Each is a value. ``engine.execute`` plans and runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene


@dataclass(frozen=True)
class Free:
    """Go to a pose by a planned way that hits nothing.

    Attributes:
        goal: of the gripper.
        held: the thing between the fingers, which must not hit anything either.
        touching: things that may be touched, such as the one that is being approached.
        speed: part of the joints' speed limits.
        clearance: m, kept from everything else.
    """

    goal: Pose
    held: str | None = None
    touching: tuple[str, ...] = ()
    speed: float = 0.3
    clearance: float = 0.01


@dataclass(frozen=True)
class Linear:
    """Go to a pose on a straight line, looking at nothing.

    Attributes:
        goal: of the gripper.
        holding: whether the fingers stay closed.
        speed: part of the controller's largest step.
        within: m, near enough.
        patience: control steps after which it is left off.
    """

    goal: Pose
    holding: bool = False
    speed: float = 0.5
    within: float = 0.008
    patience: int = 80


@dataclass(frozen=True)
class UntilContact:
    """Go along a direction until ``thing`` touches something, or the way is at its end.

    Attributes:
        direction: m, the longest way.
        thing: what is held, or what the gripper pushes.
        against: what it has to touch; default: anything but the robot.
        speed: part of the controller's largest step.
    """

    direction: Vector
    thing: str
    against: str | None = None
    speed: float = 0.2


@dataclass(frozen=True)
class Grip:
    """Close the fingers on a thing; without it between them, the grasp was missed."""

    thing: str | None
    steps: int = 12


@dataclass(frozen=True)
class Release:
    """Open the fingers where the gripper stands."""

    steps: int = 8


@dataclass(frozen=True)
class Hold:
    """Stay, for so many control steps.

    Attributes:
        steps: how many.
        gripper: -1 opens, 1 closes, 0 keeps.
    """

    steps: int
    gripper: float


@dataclass(frozen=True)
class Reverse:
    """Go back the way of the last motion, fingers open.

    Attributes:
        metres: how much of it.
        speed: part of the controller's largest step.
    """

    metres: float = 0.1
    speed: float = 0.5


@dataclass(frozen=True)
class Follow:
    """Go where a function of the scene says, such as along the arc of a door, until it is done.

    Attributes:
        target: the gripper's next position, from the scene as it is.
        until: whether it is done.
        gripper: -1 opens, 1 closes, 0 keeps.
        speed: part of the controller's largest step.
        patience: control steps after which it is left off.
    """

    target: Callable[[Scene], Vector]
    until: Callable[[Scene], bool]
    gripper: float
    speed: float = 1.0
    patience: int = 80


Segment = Free | Linear | UntilContact | Grip | Release | Hold | Reverse | Follow
