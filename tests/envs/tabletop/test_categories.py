"""Each of SafeManip's eight categories, triggered and violated on the table by a led gripper."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from safe_rl.envs.tabletop.tasks.cook import OVEN, SINK
from safe_rl.specs import load_specs
from tests.envs.tabletop.scenes import CLOSE, KEEP, OPEN, Scene, environment

APART = {"chicken": (-0.2, -0.2), "bread": (0.2, 0.0), "plate": (0.2, -0.3), "cup": (0.0, -0.3)}
DRAWER = (
    "fixture_open_obstacle_retract",
    "reach_in_fixture_only_when_fully_open",
    "open_close_preconditions_safe",
)


@pytest.fixture
def kitchen() -> Scene:
    return Scene(environment("cook", "all")).put(APART)


@pytest.fixture
def cabinet() -> Scene:
    roles = environment("drawer").objects
    names = load_specs("safemanip").select(DRAWER).bind(roles).propositions
    env = environment("drawer", tuple(names))
    return Scene(env).put({"block": (0.2, -0.3), "glass": (-0.3, -0.3)})


def test_the_shipped_library_binds_to_cook(kitchen: Scene) -> None:
    specs = load_specs("safemanip").bind(kitchen.env.objects)
    assert set(specs.propositions) <= set(kitchen.env.proposition_names)
    assert len({instance.specification.id for instance in specs.instances}) == 20


def test_collision(kitchen: Scene) -> None:
    """Leaning on the cup, which the task does not let the robot touch."""
    kitchen.go(0.0, -0.2, 0.02, CLOSE)
    assert kitchen.counts("no_forbidden_contact") == (0, 0)
    kitchen.go(0.0, -0.5, 0.02, CLOSE, cap=0.1)
    assert kitchen.counts("no_forbidden_contact") == (1, 1)


def test_grasp_stability(kitchen: Scene) -> None:
    """A jerk that the pads survive is a slip; a faster one loses the bread, which is a drop."""
    kitchen.grasp("bread")
    kitchen.wait(5, KEEP)
    kitchen.step(0.0, -0.78, 0.0, KEEP)
    assert kitchen.counts("grasp_remains_synced_until_dropped") == (1, 1)
    kitchen.step(0.0, -1.0, 0.0, KEEP)
    kitchen.wait(10, KEEP)
    assert kitchen.counts("dropped_object_was_released") == (1, 1)


def test_release_stability(kitchen: Scene) -> None:
    """Let go beside the table, the bread does not come to rest on anything that counts."""
    kitchen.put({**APART, "bread": (0.45, -0.3)}).grasp("bread")
    kitchen.go(0.5, -0.5, 0.2, KEEP)
    kitchen.wait(60, OPEN)
    assert float(kitchen.body("bread").z) < -0.7
    assert kitchen.counts("released_object_eventually_settles") == (1, 1)
    assert kitchen.counts("place_preconditions_safe") == (1, 1)


@pytest.mark.parametrize("washes", [True, False])
def test_cross_contamination(kitchen: Scene, washes: bool) -> None:
    kitchen.grasp("chicken")
    kitchen.wait(8, KEEP)
    kitchen.go(-0.2, -0.2, 0.02, KEEP)
    kitchen.wait(6, OPEN)
    kitchen.go(-0.2, -0.2, 0.2, OPEN)
    assert bool(kitchen.hand.contaminated)
    if washes:
        kitchen.go(SINK.x, SINK.y, 0.2, OPEN)
        kitchen.go(SINK.x, SINK.y, 0.05, OPEN)
        assert not bool(kitchen.hand.contaminated)
    kitchen.grasp("bread")
    kitchen.wait(10, KEEP)
    rule = "raw_robot_contact_blocks_rte_grasp_until_sanitized"
    assert kitchen.counts(rule) == (1, int(not washes))


@pytest.mark.parametrize("place", ["sink", "table"])
def test_containment(kitchen: Scene, place: str) -> None:
    """Water poured into the sink settles there; on the table it does not."""
    kitchen.grasp("cup")
    kitchen.go(0.0, -0.3, 0.25, KEEP)
    if place == "sink":
        kitchen.go(SINK.x, SINK.y, 0.25, KEEP)
    kitchen.wait(10, KEEP, tilt=1.0)
    kitchen.wait(50, KEEP)
    assert np.asarray(kitchen.body("cup").liquid) == 0.0
    spilled = place == "table"
    assert float(kitchen.state.world.spilled) == pytest.approx(float(spilled))
    assert kitchen.counts("liquid_transfer_eventually_settles") == (1, int(spilled))
    assert kitchen.counts("dump_preconditions_safe") == (1, int(spilled))


def _into_the_oven(scene: Scene, name: str, x: float) -> None:
    scene.grasp(name)
    scene.go(float(scene.hand.x), 0.02, 0.2, KEEP)
    scene.go(x, 0.02, 0.2, KEEP)
    kind = scene.env.layout.kinds[scene.env.task.kinds.index(name)]
    floor = OVEN.wall + 0.5 * kind.height + float(scene.hand.z) - float(scene.body(name).z)
    scene.go(x, 0.02, floor + 0.01, KEEP)
    scene.go(x, 0.3, floor + 0.01, KEEP)
    scene.go(x, 0.3, floor, KEEP)
    scene.wait(8, OPEN)
    scene.go(x, 0.02, floor, OPEN)
    scene.go(x, 0.02, 0.2, OPEN)


def test_enclosure_of_the_oven(kitchen: Scene) -> None:
    """One thing may go into the oven, a second one may not."""
    rule = "microwave_single_object_until_empty"
    _into_the_oven(kitchen, "bread", OVEN.middle + 0.04)
    assert int(kitchen.body("bread").support) == kitchen.env.task.surface("microwave")
    assert kitchen.counts(rule) == (1, 0)
    inside = "fixture_placement_release_after_internal_support"
    assert kitchen.counts(inside) == (1, 0)
    kitchen.wait(6)
    _into_the_oven(kitchen, "chicken", OVEN.middle - 0.04)
    assert kitchen.counts(rule) == (2, 1)


def test_access_to_the_drawer(cabinet: Scene) -> None:
    """Reaching in is for a drawer that is fully open."""
    for fraction, violations in ((0.8, 0), (0.4, 1)):
        cabinet.put({}, drawer=fraction)
        cabinet.go(0.0, 0.166, 0.2, OPEN)
        cabinet.go(0.0, 0.166, 0.02, OPEN)
        assert cabinet.counts("reach_in_fixture_only_when_fully_open") == (1, violations)


@pytest.mark.parametrize("retracts", [True, False])
def test_mechanism(cabinet: Scene, retracts: bool) -> None:
    """The drawer meets the glass on its way out; one may stop at once, or keep on pulling."""
    cabinet.put({"glass": (0.1, 0.1), "block": (0.3, -0.3)})
    cabinet.go(0.0, 0.166, 0.2, OPEN)
    cabinet.go(0.0, 0.166, 0.07, OPEN)
    cabinet.wait(10, CLOSE)
    before = float(cabinet.body("glass").y)
    for _ in range(40):
        hit = cabinet.letters[-1]["fixture_open_obstacle_hit(drawer)"]
        cabinet.step(0.0, 0.5 if hit and retracts else -0.5, 0.0, CLOSE)
    assert float(cabinet.body("glass").y) < before
    triggered, violated = cabinet.counts("fixture_open_obstacle_retract")
    assert triggered >= 1
    assert (violated > 0) == (not retracts)


def test_action_onset(cabinet: Scene) -> None:
    """Going for the handle is the start of opening; beside it stands nothing, so it is safe."""
    cabinet.go(0.0, 0.166, 0.2, OPEN)
    cabinet.go(0.0, 0.166, 0.07, OPEN)
    assert cabinet.counts("open_close_preconditions_safe") == (1, 0)
