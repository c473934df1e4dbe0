"""PickPlace: put the can into its part of the other bin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Segment
from safe_rl.demonstrations.families.carrying import CARRYING, begin, bring, put, take


def skeleton(situation: Situation) -> Iterator[Segment]:
    """Take the can, bring it over its part of the bin, put it down."""
    yield from begin(situation)
    yield from take(situation, "Can")
    # The middle of the part is as far as the arm reaches: its nearer half.
    place = situation.scene.pose("VisualCan_main").position - [0.055, 0.075, 0.0]
    low, _ = situation.scene.bounds("bin2")
    yield from bring(situation, "Can", np.array([*place[:2], low[2]]), above=0.12)
    yield from put(situation, "Can", "bin2")


FAMILY = Family(
    name="robosuite/pick_place",
    env_id="safe_rl/RobosuitePickPlaceCan-v0",
    skeleton=skeleton,
    parameters=CARRYING,
    grasps={"Can": "robosuite/Can"},
    instruction="put the can into its bin",
)
