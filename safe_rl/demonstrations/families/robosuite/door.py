"""Door: take the lever from the front, turn it, pull the door open."""

from __future__ import annotations

from collections.abc import Iterator

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Follow, Free, Grip, Linear, Release, Segment
from safe_rl.demonstrations.engine.variation import Range
from safe_rl.demonstrations.families.carrying import START, begin
from safe_rl.demonstrations.families.manners import LINGER, manner
from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.door import FACING, OPEN_ENOUGH, TURNED, pulling, turning
from safe_rl.envs.robosuite.motions import CLOSE


def skeleton(situation: Situation) -> Iterator[Segment]:
    """Go before the lever, take it, turn it until the latch is free, pull."""
    scene, number = situation.scene, situation.number
    yield from begin(situation)
    lever = scene.site_position("Door_handle") + [0.01 + number("along"), 0.0, 0.0]
    before = Pose(lever, FACING).back(number("approach"))
    yield Free(before, speed=number("speed"), clearance=0.005)
    yield Linear(Pose(lever, FACING), speed=number("closing"))
    yield Grip("Door_latch")
    yield Follow(_turning, lambda scene: scene.joint("Door_latch_joint") > TURNED, CLOSE)
    yield Follow(_pulling, lambda scene: scene.joint("Door_hinge") > OPEN_ENOUGH, CLOSE)
    yield Release(3)
    yield Linear(scene.gripper.shifted([0.0, 0.2, -0.04]), patience=12)


def _turning(scene: Scene) -> Vector:
    return turning(scene.gripper.position, scene.joint("Door_latch_joint"))


def _pulling(scene: Scene) -> Vector:
    latch, hinge = scene.joint("Door_latch_joint"), scene.joint("Door_hinge")
    return pulling(scene.gripper.position, latch, hinge)


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
