"""Collision-aware motions of the gripper: RRT-Connect, shortcuts, and time-optimal timing.

The search runs over the gripper's position and over how far it has turned from the first
orientation to the last; each point is a posture by inverse kinematics, near the posture before, and
is tried for collisions. RRT-Connect: Kuffner and LaValle, ICRA 2000. Every draw comes from the
generator given, so that a seed decides the path; OMPL's generators are global to the process, and
its planners stop by the clock. The timing is TOPP-RA's (Pham and Pham, T-RO 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from safe_rl.demonstrations.primitives.pose import Pose, Vector
from safe_rl.demonstrations.primitives.world import World
from safe_rl.errors import MissingDependencyError, SafeRLError

_STEP, _CHECK = 0.06, 0.02  # m: a branch of a tree, and between two tries for collisions
_TURN = 0.1  # m: what the whole turn counts as
_TRIES, _SHORTCUTS = 150, 15
_MARGIN = np.array([0.25, 0.25, 0.30])  # m, around start and goal
_JOINT_SPEED = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])  # rad/s, a Panda's
_JOINT_ACCELERATION = 7.5  # rad/s^2
_PERIOD = 0.05  # s, a control step


class PlanError(SafeRLError):
    """A motion cannot be planned: out of reach, or nothing but collisions."""


@dataclass(frozen=True)
class _Node:
    point: Vector  # [4]: position in metres, and the turn's part times _TURN
    joints: Vector
    parent: int


class _Search:
    """Two trees that grow towards each other."""

    def __init__(
        self, world: World, start: Pose, goal: Pose, joints: Vector, rng: np.random.Generator
    ) -> None:
        self.world, self.start, self.goal, self.rng = world, start, goal, rng
        self.first = np.array([*start.position, 0.0])
        self.last = np.array([*goal.position, _TURN])
        low = np.minimum(start.position, goal.position) - _MARGIN
        high = np.maximum(start.position, goal.position) + _MARGIN
        self.low, self.high = np.array([*low, 0.0]), np.array([*high, _TURN])
        self.joints = joints

    def pose(self, point: Vector) -> Pose:
        return self.start.towards(self.goal, point[3] / _TURN).at(point[:3])

    def edge(self, point: Vector, joints: Vector, target: Vector) -> list[Vector] | None:
        """Postures on the straight way to ``target``, all free, or nothing."""
        steps = max(1, int(np.ceil(np.linalg.norm(target - point) / _CHECK)))
        found = []
        for part in np.arange(1, steps + 1) / steps:
            reached = self.world.reach(self.pose(point + part * (target - point)), joints)
            if reached is None or not self.world.free(reached):
                return None
            # A posture that leaps between two points is no motion.
            if np.abs(reached - joints).max() > 0.5:
                return None
            joints = reached
            found.append(joints)
        return found

    def extend(self, tree: list[_Node], towards: Vector) -> bool | None:
        """Grow ``tree`` by a branch: True where it arrives, False where not, nothing if stuck."""
        distances = [float(np.linalg.norm(node.point - towards)) for node in tree]
        nearest = int(np.argmin(distances))
        node, gap = tree[nearest], distances[nearest]
        target = node.point + (towards - node.point) * min(1.0, _STEP / max(gap, 1e-9))
        branch = self.edge(node.point, node.joints, target)
        if branch is None:
            return None
        tree.append(_Node(target, branch[-1], nearest))
        return gap <= _STEP

    def points(self) -> list[Vector]:
        """The corner points of a free way from start to goal.

        Raises:
            PlanError: there is none, or it was not found.
        """
        if self.edge(self.first, self.joints, self.last) is not None:
            return [self.first, self.last]
        end = self.end()
        if not self.world.free(end):
            raise PlanError("the arm would hit something at the goal")
        trees = [[_Node(self.first, self.joints, -1)], [_Node(self.last, end, -1)]]
        for attempt in range(_TRIES):
            here, there = trees[attempt % 2], trees[1 - attempt % 2]
            if self.extend(here, self.rng.uniform(self.low, self.high)) is None:
                continue
            meeting = here[-1].point
            while (arrived := self.extend(there, meeting)) is False:
                pass
            if arrived:
                ways = [_way(trees[0]), _way(trees[1])[::-1]]
                return self.shortened(ways[0] + ways[1][1:])
        raise PlanError(f"no way free of collisions was found in {_TRIES} tries")

    def end(self) -> Vector:
        """A posture at the goal, found step by step along the straight way, whatever is hit there.

        Raises:
            PlanError: the goal is out of reach.
        """
        joints: Vector | None = self.joints
        steps = max(1, int(np.ceil(np.linalg.norm(self.last - self.first) / _STEP)))
        for part in np.arange(1, steps + 1) / steps:
            point = self.first + part * (self.last - self.first)
            joints = self.world.reach(self.pose(point), self.joints if joints is None else joints)
        if joints is None:
            raise PlanError("the goal is out of the arm's reach")
        return joints

    def shortened(self, points: list[Vector]) -> list[Vector]:
        for _ in range(_SHORTCUTS):
            if len(points) < 3:
                break
            first, last = sorted(self.rng.choice(len(points), 2, replace=False))
            if last - first < 2:
                continue
            joints = (
                self.joints
                if first == 0
                else self.world.reach(self.pose(points[first]), self.joints)
            )
            if joints is not None and self.edge(points[first], joints, points[last]) is not None:
                points = points[: first + 1] + points[last:]
        return points

    def postures(self) -> list[Vector]:
        """Postures along the way, about 2 cm apart, the start included."""
        points, found = self.points(), [self.joints]
        for point, target in pairwise(points):
            edge = self.edge(point, found[-1], target)
            if edge is None:  # a tree grown from the goal may hang on another posture
                raise PlanError("the way found cannot be followed from this posture")
            found += edge
        return found


def _way(tree: list[_Node]) -> list[Vector]:
    index, found = len(tree) - 1, []
    while index >= 0:
        found.append(tree[index].point)
        index = tree[index].parent
    return found[::-1]


def plan(world: World, goal: Pose, rng: np.random.Generator, speed: float) -> list[Pose]:
    """Poses of the gripper, one per control step, that lead to ``goal`` and hit nothing.

    Args:
        world: the scene, with the arm where the motion starts.
        goal: of the gripper.
        rng: decides the path.
        speed: part of the speeds and accelerations that the joints may have.

    Raises:
        PlanError: there is no way, or none was found.
        MissingDependencyError: toppra is not installed.
    """
    joints = world.start
    start = world.put(joints)
    postures = _Search(world, start, goal, joints, rng).postures()
    timed = in_time(postures, speed)
    for joints in timed:
        if not world.free(joints):
            raise PlanError("the timed motion comes too near to something")
    return [world.put(joints) for joints in timed]


def first_reachable(world: World, goals: Iterable[Pose]) -> Pose:
    """The first of some poses of the gripper that the arm reaches without hitting anything.

    Raises:
        PlanError: it reaches none of them.
    """
    start, count = world.put(world.start), 0
    for goal in goals:
        count += 1
        search = _Search(world, start, goal, world.start, np.random.default_rng(0))
        try:
            if world.free(search.end()):
                return goal
        except PlanError:
            continue
    raise PlanError(f"the arm reaches none of {count} poses without hitting something")


def in_time(postures: Sequence[Vector], speed: float) -> NDArray[np.float64]:
    """The fastest motion ``[n, 7]`` through postures within the joints' limits, per control step.

    Raises:
        MissingDependencyError: toppra is not installed.
    """
    try:
        import toppra
        from toppra import algorithm, constraint
    except ImportError as error:
        raise MissingDependencyError("toppra", "demonstrations", "planning a motion") from error
    toppra.setup_logging("ERROR")
    apart = [0.0, *(float(np.linalg.norm(b - a)) for a, b in pairwise(postures))]
    places = np.cumsum(apart)
    kept = np.flatnonzero(np.diff(places, prepend=-1.0) > 1e-6)
    if len(kept) < 2:
        return np.array([postures[-1]])
    path = toppra.SplineInterpolator(places[kept], np.array(postures)[kept])
    fastest = speed * _JOINT_SPEED
    bounds = [
        constraint.JointVelocityConstraint(np.column_stack([-fastest, fastest])),
        constraint.JointAccelerationConstraint(
            np.tile([-speed * _JOINT_ACCELERATION, speed * _JOINT_ACCELERATION], (7, 1))
        ),
    ]
    timed = algorithm.TOPPRA(bounds, path, parametrizer="ParametrizeConstAccel")
    trajectory = timed.compute_trajectory()
    if trajectory is None:
        raise PlanError("the motion has no timing within the joints' limits")
    steps = int(np.ceil(trajectory.duration / _PERIOD))
    return np.asarray(
        trajectory(np.minimum(np.arange(1, steps + 1) * _PERIOD, trajectory.duration))
    )
