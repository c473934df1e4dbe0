"""What a simulator must tell the grounding about one control frame.

The predicates never see a simulator: they see a ``SceneFrame``, so that each can be tested on
frames written by hand, and serves every simulator that can fill one in.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from safe_rl.grounding.geometry import Quaternion, Vector


class BodyMotion(NamedTuple):
    """Where a body is and how it moves, in the world frame and SI units."""

    position: Vector  # m
    quaternion: Quaternion  # (w, x, y, z)
    linear: Vector  # m/s, of the body's origin
    angular: Vector  # rad/s


STILL = BodyMotion((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class Contact(NamedTuple):
    """Two geoms that touched during the frame, and the entities that they belong to.

    An entity is ``"robot"`` (any robot geom but the base's), or the name of an object, of a fixture
    or of a part of the surroundings. The robot comes first, else an object does.
    """

    geoms: tuple[str, str]
    entities: tuple[str, str]


class ObjectFacts(NamedTuple):
    """One object in one frame."""

    motion: BodyMotion
    fingers: int  # how many distinct fingers touched it
    opposed: bool  # two fingers touched it at the same instant, from opposite sides
    touched: bool  # any part of the robot touched it
    support: str | None  # the entity that it rests on
    support_motion: BodyMotion  # STILL where there is none, or it cannot move
    in_gripper_box: bool  # its contact-geom box overlaps the gripper's
    cleared: bool  # the gap between its surface and the gripper's exceeds the clearance


class SceneFrame(NamedTuple):
    """One control frame, contacts gathered over all its physics substeps."""

    gripper: BodyMotion
    finger_joints: tuple[float, ...]  # m, distance of each finger from the closed position
    finger_targets: tuple[float, ...]  # m, where each finger's actuator wants it
    objects: tuple[ObjectFacts, ...]  # in the order of ``Scene.objects``
    contacts: frozenset[Contact]  # robot or object against anything that is not the robot


class Scene(Protocol):
    """A simulator, seen by the grounding."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that can be grasped."""
        ...

    def frame(self) -> SceneFrame:
        """The facts about the control frame that has just ended."""
        ...
