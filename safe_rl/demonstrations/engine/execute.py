"""Plans a segment and turns it into actions, looking at the scene before each one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatchmethod

import numpy as np

from safe_rl.demonstrations.engine.segments import (
    Follow,
    Free,
    Grip,
    Hold,
    Linear,
    Release,
    Reverse,
    Segment,
    UntilContact,
)
from safe_rl.demonstrations.primitives.controller import Action, servo
from safe_rl.demonstrations.primitives.planner import plan
from safe_rl.demonstrations.primitives.pose import Pose
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.envs.robosuite.motions import CLOSE, OPEN
from safe_rl.errors import SafeRLError

_BEHIND = 0.03  # m, how far the arm may lag behind a timed motion
_ARRIVED, _ALIGNED, _SETTLE = 0.008, 0.08, 25  # m, rad, control steps
_AHEAD = 0.03  # m per step, where a direction is followed
_STALLED = 8  # control steps without a millimetre


class GraspMissedError(SafeRLError):
    """The fingers closed, and not on the thing."""


class Executor:
    """Runs segments one after the other; remembers the last motion, which ``Reverse`` needs."""

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        """Act on ``scene``; ``rng`` decides the planner's paths."""
        self._scene, self._rng = scene, rng
        self._trace: list[Pose] = []

    def run(self, segment: Segment) -> Iterator[Action]:
        """Actions of one segment; the caller steps the simulation between two of them.

        Raises:
            PlanError: a motion cannot be planned.
            GraspMissedError: a grip closed on nothing.
        """
        if isinstance(segment, Free | Linear | UntilContact | Follow):
            self._trace = []
        for action in self._actions(segment):
            self._trace.append(self._scene.gripper)
            yield action

    @singledispatchmethod
    def _actions(self, segment: Segment) -> Iterator[Action]:
        raise TypeError(f"no motion is known for {segment!r}")

    @_actions.register
    def _free(self, segment: Free) -> Iterator[Action]:
        scene = self._scene
        world = World(
            scene, held=segment.held, touching=segment.touching, clearance=segment.clearance
        )
        fingers = OPEN if segment.held is None else CLOSE
        for pose in plan(world, segment.goal, self._rng, segment.speed):
            for _ in range(_SETTLE):
                yield servo(scene.gripper, pose, fingers)
                if scene.gripper.apart(pose)[0] < _BEHIND:
                    break
        yield from self._settle(segment.goal, fingers)

    @_actions.register
    def _linear(self, segment: Linear) -> Iterator[Action]:
        scene = self._scene
        for _ in range(segment.patience):
            gap, angle = scene.gripper.apart(segment.goal)
            if gap < segment.within and angle < _ALIGNED:
                return
            fingers = CLOSE if segment.holding else OPEN
            yield servo(scene.gripper, segment.goal, fingers, segment.speed)

    @_actions.register
    def _until_contact(self, segment: UntilContact) -> Iterator[Action]:
        scene = self._scene
        start, length = scene.gripper, float(np.linalg.norm(segment.direction))
        along = segment.direction / length
        ways = [-1.0] * _STALLED
        while not scene.touching(segment.thing, segment.against):
            way = float((scene.gripper.position - start.position) @ along)
            begun = len(ways) > 4 * _STALLED
            if way >= length or (begun and way - ways[-_STALLED] < 0.001):
                return
            ways.append(way)
            yield servo(scene.gripper, start.shifted((way + _AHEAD) * along), CLOSE, segment.speed)

    @_actions.register
    def _grip(self, segment: Grip) -> Iterator[Action]:
        yield from stay(self._scene, segment.steps, CLOSE)
        if segment.thing is not None and not self._scene.held(segment.thing):
            raise GraspMissedError(f"{segment.thing} is not between the fingers")

    @_actions.register
    def _release(self, segment: Release) -> Iterator[Action]:
        yield from stay(self._scene, segment.steps, OPEN)

    @_actions.register
    def _hold(self, segment: Hold) -> Iterator[Action]:
        yield from stay(self._scene, segment.steps, segment.gripper)

    @_actions.register
    def _reverse(self, segment: Reverse) -> Iterator[Action]:
        scene, way = self._scene, 0.0
        for target, before in zip(self._trace[::-1], [*self._trace[-2::-1], None], strict=False):
            for _ in range(_SETTLE):
                if scene.gripper.apart(target)[0] < _BEHIND:
                    break
                yield servo(scene.gripper, target, OPEN, segment.speed)
            way += 0.0 if before is None else before.apart(target)[0]
            if way > segment.metres:
                break

    @_actions.register
    def _follow(self, segment: Follow) -> Iterator[Action]:
        scene = self._scene
        for _ in range(segment.patience):
            if segment.until(scene):
                return
            target = scene.gripper.at(segment.target(scene))  # free to turn as it is led
            yield servo(scene.gripper, target, segment.gripper, segment.speed)

    def _settle(self, goal: Pose, gripper: float) -> Iterator[Action]:
        for _ in range(_SETTLE):
            gap, angle = self._scene.gripper.apart(goal)
            if gap < _ARRIVED and angle < _ALIGNED:
                return
            yield servo(self._scene.gripper, goal, gripper)


def stay(scene: Scene, steps: int, gripper: float) -> Iterator[Action]:
    """Actions that keep the gripper where it is."""
    place = scene.gripper
    for _ in range(steps):
        yield servo(scene.gripper, place, gripper)
