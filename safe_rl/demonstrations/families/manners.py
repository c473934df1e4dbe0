"""Ways of doing a task badly on purpose, so that there is something to learn from violations.

``careful`` does the task. The others do it too, as a rule, and break a rule on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from safe_rl.demonstrations.engine.family import Situation
from safe_rl.demonstrations.engine.segments import Follow, Hold, Linear, Segment, UntilContact
from safe_rl.demonstrations.engine.variation import Choice, Range
from safe_rl.demonstrations.primitives.pose import Vector
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite.motions import CLOSE, KEEP, OPEN

CAREFUL, LEAN, ROUGH, HASTY = "careful", "lean", "rough", "hasty"
LINGER = Range("linger", 15.0, 45.0)
"""How long the hand leans, in control steps; a touch of 20 is still no forbidden contact."""
LOOSE = Range("loose", 3.0, 7.0)
"""For how many control steps a rough grip is loosened; after seven the fingers open."""
ASIDE = Range("aside", 0.0, 0.05)
"""How far beside the place a hasty hand lets go, m."""
DROP = Range("drop", 0.02, 0.15)
"""From how high a hasty hand lets go, m."""


def manner(**weights: float) -> Choice:
    """The choice of a manner, careful as a rule."""
    return Choice("manner", tuple(weights), tuple(weights.values()))


def lean(situation: Situation) -> Iterator[Segment]:
    """Rest the fist on what is below, for a while, before the work begins."""
    if situation.draw["manner"] != LEAN:
        return
    scene, start = situation.scene, situation.scene.gripper
    down = np.array([0.0, 0.0, -0.3])
    yield Hold(6, CLOSE)
    yield UntilContact(down, scene.finger_name, speed=1.0)
    pressing = int(situation.number("linger"))
    yield Follow(partial(_beside, down / 10), lambda s: False, CLOSE, 0.6, pressing)
    yield Linear(start, speed=1.0, within=0.05)


def loosen(situation: Situation) -> Iterator[Segment]:
    """Hold weakly what is held, and swing it, so that it may slip out and fall."""
    if situation.draw["manner"] == ROUGH:
        yield Hold(int(situation.number("loose")), OPEN)
        for side in (0.05, -0.05):
            swing = np.array([0.0, side, 0.0])
            yield Follow(partial(_beside, swing), lambda s: False, KEEP, 1.0, 6)
        yield Hold(6, KEEP)


def _beside(by: Vector, scene: Scene) -> Vector:
    place: Vector = scene.gripper.position + by
    return place
