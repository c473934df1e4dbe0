"""Tries grasps in simulation: take the object, lift it, hold it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import gymnasium
import numpy as np

from safe_rl.demonstrations.engine.execute import Executor, GraspMissedError
from safe_rl.demonstrations.engine.family import Family
from safe_rl.demonstrations.engine.segments import Free, Grip, Hold, Linear, Segment
from safe_rl.demonstrations.primitives.antipodal import candidates
from safe_rl.demonstrations.primitives.grasps import Grasp
from safe_rl.demonstrations.primitives.planner import PlanError
from safe_rl.demonstrations.primitives.pose import Pose
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.motions import CLOSE

_LIFT, _LIFTED = 0.12, 0.09  # m, that the gripper rises, and at least the object
_SLIPPED, _TWISTED = 0.02, 0.25  # m and rad, that it may move while the fingers close
_STILL = 0.003, 0.04  # m and rad, that it may move while it is held
_HELD = 20  # control steps
_APART = 0.02, 0.3  # m and rad between two grasps that are kept


def sample_grasps(
    family: Family, thing: str, *, keep: int = 12, tries: int = 60, seed: int = 0
) -> tuple[list[Grasp], int]:
    """Grasps of ``thing`` that held in simulation, and how many were tried.

    Args:
        family: in whose scene the object stands.
        thing: the object.
        keep: how many grasps are enough.
        tries: how many are tried at most.
        seed: of the scenes and of the candidates.
    """
    env = family.make_env(propositions=[], backend="numpy", horizon=10_000)
    base = env.unwrapped
    assert isinstance(base, RobosuiteEnv)
    rng = np.random.default_rng(seed)
    found: list[Grasp] = []
    tried = 0
    try:
        env.reset(seed=seed)
        scene = Scene(base)
        place = scene.pose(thing)
        world = World(scene, held=None, touching=(), clearance=0.0)
        for grasp in list(islice(candidates(scene, thing, rng), 40 * tries)):
            if tried == tries or len(found) == keep:
                break
            if any(_alike(grasp, other) for other in found) or not _clear(
                world, place @ grasp.pose
            ):
                continue
            tried += 1
            env.reset(seed=seed)
            if _holds(env, Scene(base), thing, grasp, rng):
                found.append(grasp)
    finally:
        env.close()
    return found, tried


def _alike(grasp: Grasp, other: Grasp) -> bool:
    gap, angle = grasp.pose.apart(other.pose)
    return gap < _APART[0] and angle < _APART[1]


def _clear(world: World, gripper: Pose) -> bool:
    """Whether open fingers fit around the object, and the arm gets there."""
    joints = world.reach(gripper, world.start)
    return joints is not None and world.free(joints)


def _holds(
    env: gymnasium.Env[Any, Any], scene: Scene, thing: str, grasp: Grasp, rng: np.random.Generator
) -> bool:
    executor = Executor(scene, rng)
    height = scene.pose(thing).position[2]
    try:
        for segment in _lift(scene, thing, grasp):
            for action in executor.run(segment):
                env.step(action.astype(np.float32))
        inside = scene.gripper.inverse() @ scene.pose(thing)
        for action in executor.run(Hold(_HELD, CLOSE)):
            env.step(action.astype(np.float32))
    except (PlanError, GraspMissedError):
        return False
    drift, turn = inside.apart(scene.gripper.inverse() @ scene.pose(thing))
    slip, twist = (scene.pose(thing) @ grasp.pose).apart(scene.gripper)
    risen = scene.pose(thing).position[2] - height > _LIFTED
    still = drift < _STILL[0] and turn < _STILL[1]
    return scene.held(thing) and risen and still and slip < _SLIPPED and twist < _TWISTED


def _lift(scene: Scene, thing: str, grasp: Grasp) -> Iterator[Segment]:
    there = scene.pose(thing) @ grasp.pose
    yield Free(there.back(0.08), touching=(thing,))
    yield Linear(scene.pose(thing) @ grasp.pose)
    yield Grip(thing)
    yield Linear(scene.gripper.shifted([0.0, 0.0, _LIFT]), holding=True)
