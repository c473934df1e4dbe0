"""Ways of doing a task badly on purpose, so that there is something to learn from violations.

``careful`` does the task. The others do it too, as a rule, and break a rule on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Situation
from safe_rl.demonstrations.engine.segments import Follow, Hold, Linear, Segment, UntilContact
from safe_rl.demonstrations.engine.variation import Choice, Range
from safe_rl.envs.robosuite.motions import CLOSE, OPEN

CAREFUL, LEAN, ROUGH, HASTY = "careful", "lean", "rough", "hasty"
LINGER = Range("linger", 10.0, 50.0)
"""How long the hand leans, in control steps; a touch of 20 is still no forbidden contact."""
LOOSE = Range("loose", 2.0, 6.0)
"""For how many control steps a rough grip is loosened."""
DROP = Range("drop", 0.02, 0.12)
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
    yield UntilContact(down, scene.finger_name, speed=0.6)
    pressing = int(situation.number("linger"))
    yield Follow(lambda s: s.gripper.position + down / 10, lambda s: False, CLOSE, 0.6, pressing)
    yield Linear(start, within=0.03)


def loosen(situation: Situation) -> Iterator[Segment]:
    """Nearly let go of what is held, and grip it again."""
    if situation.draw["manner"] == ROUGH:
        yield Hold(int(situation.number("loose")), OPEN)
        yield Hold(6, CLOSE)
