"""Lift: take the cube and hold it in the air."""

from __future__ import annotations

from collections.abc import Iterator

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Hold, Segment
from safe_rl.demonstrations.families.carrying import CARRYING, begin, take
from safe_rl.envs.robosuite.motions import CLOSE


def skeleton(situation: Situation) -> Iterator[Segment]:
    """Take the cube, lift it, hold it."""
    yield from begin(situation)
    yield from take(situation, "cube")
    yield Hold(15, CLOSE)


FAMILY = Family(
    name="robosuite/lift",
    env_id="safe_rl/RobosuiteLift-v0",
    skeleton=skeleton,
    parameters=CARRYING,
    grasps={"cube": "robosuite/cube"},
    instruction="lift the cube",
)
