"""Scene frames written by hand, for tests of the predicates."""

from __future__ import annotations

from safe_rl.grounding import BodyMotion, Contact, ObjectFacts, SceneFrame
from safe_rl.grounding.scene import STILL

OPEN, HOLDING = 0.04, 0.02  # m, joint reading of each finger


def motion(
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0),
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0),
    angular: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> BodyMotion:
    return BodyMotion(position, quaternion, linear, angular)


def facts(
    *,
    body: BodyMotion = STILL,
    held: bool = False,
    fingers: int | None = None,
    opposed: bool | None = None,
    support: str | None = None,
    support_motion: BodyMotion = STILL,
    near: bool | None = None,
    cleared: bool | None = None,
) -> ObjectFacts:
    """An object; ``held`` sets what the other arguments do not."""
    return ObjectFacts(
        motion=body,
        fingers=(2 if held else 0) if fingers is None else fingers,
        opposed=held if opposed is None else opposed,
        touched=held or bool(fingers),
        support=support,
        support_motion=support_motion,
        in_gripper_box=held if near is None else near,
        cleared=(not held) if cleared is None else cleared,
    )


def frame(
    *objects: ObjectFacts,
    joints: float = HOLDING,
    target: float = 0.0,
    gripper: BodyMotion = STILL,
    contacts: tuple[Contact, ...] = (),
) -> SceneFrame:
    return SceneFrame(
        gripper=gripper,
        finger_joints=(joints, joints),
        finger_targets=(target, target),
        objects=objects,
        contacts=frozenset(contacts),
    )
