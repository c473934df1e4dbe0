"""The tabletop's physics: rest, fall, push, hold, break, spill; and that it is repeatable."""

from __future__ import annotations

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from safe_rl.envs.tabletop import TabletopParameters
from safe_rl.envs.tabletop.fixtures import Box
from safe_rl.envs.tabletop.gripper import Point, half_height, push_out
from safe_rl.envs.tabletop.kinds import KINDS
from safe_rl.envs.tabletop.resting import Surface, fall
from safe_rl.errors import ConfigurationError
from safe_rl.wrappers.functional.saving import state_from_arrays, state_to_arrays
from tests.envs.tabletop.scenes import CLOSE, KEEP, OPEN, Scene, environment

APART = {"block": (0.0, -0.2), "plate": (0.3, 0.2), "glass": (-0.2, 0.1), "cup": (0.3, -0.3)}


@pytest.fixture
def scene() -> Scene:
    return Scene(environment("place")).put(APART)


def lift_up(scene: Scene, name: str, by: float) -> None:
    """Put an object into the air, at rest and on nothing."""
    world = scene.state.world
    i = scene.env.task.kinds.index(name)
    bodies = list(world.bodies)
    bodies[i] = bodies[i]._replace(z=bodies[i].z + by, support=jnp.int32(-1))
    scene.state = scene.state._replace(world=world._replace(bodies=tuple(bodies)))


def test_random_actions_leave_everything_on_or_above_its_support() -> None:
    scene = Scene(environment("place"))
    actions = np.random.default_rng(0).uniform(-1, 1, (150, 4))
    actions[:, 2] -= 0.4  # mostly near the table
    for action in actions:
        scene.step(*action)
        for kind, body in zip(scene.env.layout.kinds, scene.state.world.bodies, strict=True):
            bottom = float(body.z) - float(half_height(body, kind))
            on_table = abs(float(body.x)) < 0.6 and abs(float(body.y)) < 0.45
            assert bottom > -0.006 if on_table else bottom > -0.76
        assert float(scene.hand.z) > 0.0
        values = jax.tree.leaves(scene.state.world)
        assert all(np.isfinite(np.asarray(value)).all() for value in values)


def test_what_is_not_touched_does_not_move(scene: Scene) -> None:
    before = jax.tree.map(np.asarray, scene.state.world.bodies)
    scene.go(0.0, 0.0, 0.3, OPEN)
    after = jax.tree.map(np.asarray, scene.state.world.bodies)
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))


@pytest.mark.parametrize("height", [0.004, 0.03, 0.1, 0.4])
def test_a_fall_lands_with_the_speed_that_its_height_gives(height: float) -> None:
    p, kind = TabletopParameters(), KINDS["block"]
    body = Scene(environment("place")).body("block")
    body = body._replace(z=jnp.float32(0.025 + height), vz=jnp.float32(0.0))
    table = Surface(jnp.float32(0.0), jnp.int32(5))
    for _ in range(40):
        down = fall(body, kind, table, p)
        body = body._replace(z=down.z, vz=down.vz)
        if float(down.landing) > 0.0:
            break
    assert float(down.landing) == pytest.approx(math.sqrt(2 * p.gravity * height), rel=1e-3)
    assert float(body.z) == pytest.approx(0.025)
    assert int(down.support) == 5


def test_a_held_object_follows_and_rests_again(scene: Scene) -> None:
    scene.grasp("block")
    assert bool(scene.body("block").held)
    offset = float(scene.hand.z) - float(scene.body("block").z)
    scene.go(0.1, -0.1, 0.2, KEEP)
    block = scene.body("block")
    place = [float(block.x), float(block.y), float(scene.hand.z) - float(block.z)]
    np.testing.assert_allclose(place, [0.1, -0.1, offset], atol=1e-3)
    assert int(block.support) == -1
    scene.go(0.1, -0.1, 0.02, KEEP)  # the table stops it
    scene.wait(5, OPEN)
    block = scene.body("block")
    assert not bool(block.held)
    assert float(block.z) == pytest.approx(0.025, abs=1e-4)
    assert int(block.support) == scene.env.task.surface("table")


def test_what_is_moved_too_fast_stays_behind(scene: Scene) -> None:
    scene.grasp("block")
    scene.go(0.0, -0.2, 0.2, KEEP)
    scene.step(0.0, 0.7, 0.0, KEEP)
    assert float(scene.body("block").y) == pytest.approx(-0.172, abs=1e-3)  # at 0.56 m/s it holds
    scene.step(0.0, 1.0, 0.0, KEEP)
    scene.wait(8, KEEP)
    assert not bool(scene.body("block").held)
    assert float(scene.body("block").z) == pytest.approx(0.025, abs=1e-3)


def test_objects_stack_and_ride_on_the_plate(scene: Scene) -> None:
    scene.grasp("block")
    scene.go(0.0, -0.2, 0.15, KEEP)
    scene.go(0.3, 0.2, 0.15, KEEP)
    scene.go(0.3, 0.2, 0.05, KEEP)
    scene.wait(10, OPEN)
    block = scene.body("block")
    assert int(block.support) == scene.env.task.surface("plate")
    assert float(block.z) == pytest.approx(0.02 + 0.025, abs=1e-3)


def test_a_push_moves_and_does_not_enter(scene: Scene) -> None:
    scene.go(0.0, -0.3, 0.02, CLOSE)
    scene.go(0.0, -0.1, 0.02, CLOSE, cap=0.2)
    block = scene.body("block")
    assert float(block.y) >= -0.1 + 0.025 + 0.012 - 2e-3
    assert abs(float(block.x)) < 0.05


def test_food_cannot_be_pushed_over_the_sill_of_the_oven() -> None:
    kitchen = Scene(environment("cook")).put({"chicken": (-0.3, 0.0), "plate": (0.3, -0.3)})
    front = kitchen.env.task.fixtures.microwave.front
    kitchen.go(-0.3, -0.12, 0.02, CLOSE)
    kitchen.go(-0.3, front + 0.05, 0.02, CLOSE, cap=0.4)
    chicken = kitchen.body("chicken")
    assert float(chicken.y) <= front - 0.03
    assert int(chicken.support) == kitchen.env.task.surface("table")


@pytest.mark.parametrize(("cap", "broken"), [(0.3, False), (0.55, True)])
def test_a_glass_breaks_only_when_hit_faster_than_the_limit(
    scene: Scene, cap: float, broken: bool
) -> None:
    p = scene.env.layout.parameters
    assert (cap * p.speed > p.break_speed) == broken
    scene.go(-0.2, 0.0, 0.2, CLOSE)
    scene.go(-0.2, 0.0, 0.02, CLOSE)
    scene.go(-0.2, 0.12, 0.02, CLOSE, cap=cap)
    assert bool(scene.body("glass").broken) == broken
    assert scene.letter()["broken(glass)"] == broken


@pytest.mark.parametrize("height", [0.025, 0.045])
def test_a_glass_breaks_only_when_dropped_from_above_the_limit(scene: Scene, height: float) -> None:
    p = scene.env.layout.parameters
    lift_up(scene, "glass", height)
    scene.wait(6)
    fast = math.sqrt(2 * p.gravity * height) > p.drop_break_speed
    assert bool(scene.body("glass").broken) == fast
    assert any(letter["landed_hard(glass)"] for letter in scene.letters) == fast
    assert any(letter["landed(glass)"] for letter in scene.letters)


def test_a_cup_tips_when_pushed_high_but_slides_when_pushed_low(scene: Scene) -> None:
    for height, falls in ((0.01, False), (0.07, True)):
        scene.put(APART)
        scene.go(0.3, -0.15, 0.2, CLOSE)
        scene.go(0.3, -0.15, height, CLOSE)
        scene.go(0.3, -0.3, height, CLOSE, cap=0.3)
        scene.wait(10, CLOSE)
        assert scene.letter()["tipped(cup)"] == falls
        assert scene.letter()["spilled(cup)"] == falls
        assert float(scene.body("cup").y) < -0.3
        if falls:  # it lies on its side
            assert float(scene.body("cup").z) == pytest.approx(KINDS["cup"].radius, abs=2e-3)
            assert float(scene.state.world.spilled) == pytest.approx(1.0)


def test_a_solid_lets_nothing_in() -> None:
    box = Box(-0.1, 0.1, 0.2, 0.4, 0.0, 0.14)
    generator = np.random.default_rng(1)
    for x, y, z in generator.uniform((-0.3, 0.0, 0.0), (0.3, 0.4, 0.3), (60, 3)):
        inside = abs(x) < 0.13 and y > 0.17 and z < 0.14
        out, met = push_out(Point(*map(jnp.float32, (x, y, z))), box, 0.03, 0.03)
        assert bool(met) == inside
        still = abs(out.x) < 0.13 - 1e-5 and out.y > 0.17 + 1e-5 and out.z < 0.14 - 1e-5
        assert not still


def test_the_same_seed_and_actions_give_the_same_bits() -> None:
    first, second = (Scene(environment("place"), seed=3) for _ in range(2))
    other = Scene(environment("place"), seed=4)
    for action in np.random.default_rng(2).uniform(-1, 1, (40, 4)):
        first.step(*action)
        second.step(*action)
    same = jax.tree.map(lambda a, b: np.array_equal(a, b), first.state, second.state)
    assert jax.tree.all(same)
    assert float(first.first.bodies[0].x) != float(other.first.bodies[0].x)


def test_a_frozen_scene_continues_bit_for_bit(scene: Scene) -> None:
    scene.grasp("block")
    frozen = state_to_arrays(scene.state)
    twin = Scene(scene.env)
    twin.state = state_from_arrays(scene.env, frozen)
    for action in np.random.default_rng(5).uniform(-1, 1, (60, 4)):
        scene.step(*action)
        twin.step(*action)
    assert all(
        value.tobytes() == state_to_arrays(twin.state)[name].tobytes()
        for name, value in state_to_arrays(scene.state).items()
    )


def test_parameters_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'break_speed'"):
        environment("place", break_sped=1.0)
    with pytest.raises(ConfigurationError, match="gravity must be positive"):
        environment("place", gravity=0.0)
