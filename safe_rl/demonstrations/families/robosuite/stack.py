"""Stack: put cube A on cube B."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Segment
from safe_rl.demonstrations.families.carrying import CARRYING, begin, bring, put, take


def skeleton(situation: Situation) -> Iterator[Segment]:
    """Take cube A, bring it over cube B, put it down."""
    yield from begin(situation)
    yield from take(situation, "cubeA")
    low, high = situation.scene.bounds("cubeB")
    top = np.array([*(low + high)[:2] / 2, high[2]])
    yield from bring(situation, "cubeA", top, above=0.03)
    yield from put(situation, "cubeA", "cubeB")


FAMILY = Family(
    name="robosuite/stack",
    env_id="safe_rl/RobosuiteStack-v0",
    skeleton=skeleton,
    parameters=CARRYING,
    grasps={"cubeA": "robosuite/cubeA"},
    instruction="put the red cube on the green cube",
)
