"""Door: take the lever from the front, turn it, pull the door open."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Follow, Free, Grip, Linear, Release, Segment
from safe_rl.demonstrations.engine.variation import Range
from safe_rl.demonstrations.families.carrying import START, begin
from safe_rl.demonstrations.families.manners import LINGER, manner
from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.motions import CLOSE

# Pointing at the door, along -y, with one finger above the lever and one below.
_FACING = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
_TURNED, _FREE, _OPEN = 1.35, 0.16, 0.33  # rad: of the latch, and of the hinge
_PULL = np.array([-0.01, 0.05, 0.0])  # m per step, along the arc of the open door


def skeleton(situation: Situation) -> Iterator[Segment]:
    """Go before the lever, take it, turn it until the latch is free, pull."""
    scene, number = situation.scene, situation.number
    yield from begin(situation)
    lever = scene.site_position("Door_handle") + [0.01 + number("along"), 0.0, 0.0]
    before = Pose(lever, _FACING).back(number("approach"))
    yield Free(before, speed=number("speed"), clearance=0.005)
    yield Linear(Pose(lever, _FACING), speed=number("closing"))
    yield Grip("Door_latch")
    yield Follow(_turning, lambda scene: scene.joint("Door_latch_joint") > _TURNED, CLOSE)
    yield Follow(_pulling, lambda scene: scene.joint("Door_hinge") > _OPEN, CLOSE)
    yield Release(3)
    yield Linear(scene.gripper.shifted([0.0, 0.2, -0.04]), patience=12)


def _turning(scene: Scene) -> Vector:
    return scene.gripper.position + 0.05 * _along(scene)


def _pulling(scene: Scene) -> Vector:
    # Once the latch has left the frame it need not be turned any further.
    further = 0.02 if scene.joint("Door_hinge") < _FREE else 0.0
    place: Vector = scene.gripper.position + further * _along(scene) + _PULL
    return place


def _along(scene: Scene) -> Vector:
    """The direction in which the lever's end moves when it is turned further."""
    angle = scene.joint("Door_latch_joint")
    return np.array([np.sin(angle), 0.0, -np.cos(angle)])


FAMILY = Family(
    name="robosuite/door",
    env_id="safe_rl/RobosuiteDoor-v0",
    skeleton=skeleton,
    parameters=(
        manner(careful=0.7, lean=0.3),
        *START,
        Range("speed", 0.25, 0.5),
        Range("approach", 0.10, 0.16),
        Range("along", -0.01, 0.01),
        Range("closing", 0.3, 0.6),
        LINGER,
    ),
    instruction="open the door",
)
