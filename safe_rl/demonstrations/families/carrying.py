"""Parts of skeletons for families that carry things: take, bring, put."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Situation
from safe_rl.demonstrations.engine.segments import (
    Free,
    Grip,
    Linear,
    Release,
    Reverse,
    Segment,
    UntilContact,
)
from safe_rl.demonstrations.engine.variation import Parameter, Range
from safe_rl.demonstrations.families.manners import (
    ASIDE,
    DROP,
    HASTY,
    LINGER,
    LOOSE,
    lean,
    loosen,
    manner,
)
from safe_rl.demonstrations.primitives.grasps import choose_grasp
from safe_rl.demonstrations.primitives.planner import first_reachable
from safe_rl.demonstrations.primitives.pose import Pose, Vector, turned
from safe_rl.demonstrations.primitives.world import World

_TURNS = (0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.2, -2.2)  # rad
START = tuple(Range(f"start_{axis}", -0.05, 0.05) for axis in "xyz")
"""Where the arm goes before it begins, m from where the reset left it."""
CARRYING: tuple[Parameter, ...] = (
    manner(careful=0.5, lean=0.25, rough=0.1, hasty=0.15),
    *START,
    Range("speed", 0.25, 0.5),
    Range("grasp", 0.0, 1.0),
    Range("approach", 0.05, 0.11),
    Range("height", 0.06, 0.14),
    LINGER,
    LOOSE,
    DROP,
    ASIDE,
    Range("side", -np.pi, np.pi),
)
"""Speed is a part of the joints' limits, grasp says which, approach and height are in metres."""


def begin(situation: Situation) -> Iterator[Segment]:
    """Begin somewhere else than where the reset left the arm."""
    away = [situation.number(f"start_{axis}") for axis in "xyz"]
    yield Linear(situation.scene.gripper.shifted(away), within=0.015)
    yield from lean(situation)


def take(situation: Situation, thing: str) -> Iterator[Segment]:
    """Take a thing from above and lift it; a rough hand may have to take it again."""
    yield from _take(situation, thing)
    yield from loosen(situation)
    if not situation.scene.held(thing):
        yield Release()
        yield from _take(situation, thing)


def _take(situation: Situation, thing: str) -> Iterator[Segment]:
    scene, number = situation.scene, situation.number
    approach = number("approach")
    grasp = choose_grasp(scene, thing, situation.grasps[thing], number("grasp"), approach)
    yield Free(grasp.back(approach), touching=(thing,), speed=number("speed"))
    yield Linear(grasp)
    yield Grip(thing)
    yield Linear(scene.gripper.shifted([0.0, 0.0, number("height")]), holding=True)


def bring(situation: Situation, thing: str, place: Vector, above: float) -> Iterator[Segment]:
    """Bring what is held over a place: its own lowest point to ``above`` metres over it.

    It is turned about the vertical where the arm reaches the place in no other way. A hasty hand
    stops, higher or lower and beside it, where it is going to let go.
    """
    scene = situation.scene
    low, high = scene.bounds(thing)
    middle = np.array([*(low + high)[:2] / 2, low[2]])
    if situation.draw["manner"] == HASTY:
        above, aside = situation.number("drop"), situation.number("aside")
        place = place + aside * _sideways(situation)
    held = Pose(middle, np.eye(3)).inverse() @ scene.gripper
    world = World(scene, held=thing, touching=(), clearance=0.005)
    over = place + [0.0, 0.0, above]
    turns = (turned(np.array([0.0, 0.0, angle])) for angle in _TURNS)
    goal = first_reachable(world, (Pose(over, turn) @ held for turn in turns))
    yield Free(goal, held=thing, speed=situation.number("speed"))


def put(situation: Situation, thing: str, support: str) -> Iterator[Segment]:
    """Lower what is held until it stands on something, let go, and leave the way it came."""
    if situation.draw["manner"] != HASTY:
        yield UntilContact(np.array([0.0, 0.0, -0.2]), thing, support)
    yield Release()
    yield Reverse(0.1)


def _sideways(situation: Situation) -> Vector:
    angle = situation.number("side")
    return np.array([np.cos(angle), np.sin(angle), 0.0])
