"""The planner on robosuite's Stack: reach, collisions, and ways around what stands there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("robosuite")
pytest.importorskip("toppra")

from safe_rl.demonstrations.primitives.planner import PlanError, in_time, plan
from safe_rl.demonstrations.primitives.pose import Pose
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.envs.robosuite import RobosuiteEnv

pytestmark = pytest.mark.robosuite


@pytest.fixture(scope="module")
def env() -> Iterator[RobosuiteEnv]:
    made = RobosuiteEnv("Stack", propositions=[], backend="numpy")
    made.reset(seed=0)
    yield made
    made.close()


@pytest.fixture
def scene(env: RobosuiteEnv) -> Scene:
    return Scene(env)


def world_of(scene: Scene) -> World:
    return World(scene, held=None, touching=(), clearance=0.01)


def test_the_copy_reaches_a_pose_and_leaves_the_scene_alone(scene: Scene) -> None:
    before = scene.data.qpos.copy()
    world = world_of(scene)
    target = scene.gripper.shifted([0.05, -0.1, -0.05])
    joints = world.reach(target, world.start)
    assert joints is not None
    gap, angle = world.put(joints).apart(target)
    assert gap < 0.005 and angle < 0.04
    assert np.array_equal(scene.data.qpos, before)


def test_what_is_out_of_reach_is_not_reached(scene: Scene) -> None:
    world = world_of(scene)
    assert world.reach(scene.gripper.shifted([1.5, 0.0, 0.0]), world.start) is None
    with pytest.raises(PlanError, match="out of the arm's reach"):
        plan(world, scene.gripper.shifted([1.5, 0.0, 0.0]), np.random.default_rng(0), 0.3)


def test_the_table_is_hit_and_the_air_is_not(scene: Scene) -> None:
    world = world_of(scene)
    assert world.free(world.start)
    low = world.reach(scene.gripper.at(np.array([0.1, -0.2, 0.805])), world.start)
    assert low is not None and not world.free(low)


def test_a_plan_goes_around_a_wall(env: RobosuiteEnv, scene: Scene) -> None:
    """Cube B stands between start and goal, as high as the gripper: the straight way hits it."""
    start = scene.gripper
    body = scene.body("cubeB")
    address = scene.model.jnt_qposadr[scene.model.body_jntadr[body]]
    kept = scene.data.qpos.copy()
    scene.data.qpos[address : address + 3] = start.position + [0.0, 0.15, -0.02]
    try:
        world = world_of(scene)
        goal = start.shifted([0.0, 0.3, 0.0])
        poses = plan(world, goal, np.random.default_rng(0), 0.4)
        again = plan(world_of(scene), goal, np.random.default_rng(0), 0.4)
    finally:
        scene.data.qpos[:] = kept
    gap, _ = poses[-1].apart(goal)
    assert gap < 0.01
    straight = max(np.linalg.norm(pose.position[[0, 2]] - start.position[[0, 2]]) for pose in poses)
    assert straight > 0.03  # it left the straight line
    assert len(again) == len(poses)  # a seed decides the way
    assert all(np.array_equal(a.position, b.position) for a, b in zip(poses, again, strict=True))


def test_timing_keeps_the_joints_within_their_speed() -> None:
    postures = [np.full(7, angle) for angle in (0.0, 0.1, 0.4, 0.6)]
    slow, fast = (in_time(postures, speed) for speed in (0.2, 0.4))
    assert np.allclose(slow[-1], postures[-1], atol=1e-3)
    assert len(fast) < len(slow)
    assert np.abs(np.diff(slow, axis=0)).max() / 0.05 <= 0.2 * 2.61 + 1e-6


def test_a_held_thing_moves_with_the_gripper(env: RobosuiteEnv, scene: Scene) -> None:
    world = World(scene, held="cubeA", touching=(), clearance=0.0)
    inside = scene.gripper.inverse() @ scene.pose("cubeA")
    joints = world.reach(scene.gripper.shifted([0.0, 0.1, 0.05]), world.start)
    assert joints is not None
    gripper = world.put(joints)
    world.collisions()
    body = scene.body("cubeA")
    found = Pose.of(world.data.xpos[body], world.data.xquat[body])
    gap, angle = found.apart(gripper @ inside)
    assert gap < 1e-6 and angle < 1e-6
