"""A small kitchen whose frames are written by hand, for tests of the array grounding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from safe_rl.grounding import AllowedContacts, GroundingSettings
from safe_rl.grounding.arrays import (
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneArrays,
    SceneRoles,
    empty_scene,
    ground,
    initial_memory,
    proposition_names,
)
from safe_rl.grounding.arrays.geometry import boxes_gap

Point = tuple[float, float, float]

OBJECTS = (
    ObjectRole("mug", (0.04, 0.04, 0.05), receptacle=True, liquid=True),
    ObjectRole("bowl", (0.08, 0.08, 0.03), receptacle=True, liquid=True),
    ObjectRole("meat", (0.03, 0.03, 0.02), raw=True, washable=False),
    ObjectRole("apple", (0.03, 0.03, 0.03), ready_to_eat=True, fragile=True),
    ObjectRole("block", (0.05, 0.05, 0.03), graspable=False),
)
FIXTURES = (
    FixtureRole("table", "counter", (1.0, 1.0, 0.02)),
    FixtureRole("drawer", "drawer", (0.2, 0.2, 0.1), (0.15, 0.15, 0.08), slides_when_open=True),
    FixtureRole("microwave", "microwave", (0.2, 0.2, 0.15), (0.16, 0.16, 0.12)),
    FixtureRole("sink", "sink", (0.15, 0.15, 0.05)),
)
COMPONENTS = (
    ComponentRole("drawer_handle", "drawer", "open_close"),
    ComponentRole("drawer_tray", "drawer", "slide"),
    ComponentRole("button", "microwave", "press"),
    ComponentRole("tap", "sink", "turn"),
    ComponentRole("plug", "sink", "twist"),
)
PLACES: dict[str, Point] = {
    "mug": (0.0, 0.0, 0.05),
    "bowl": (0.4, 0.0, 0.03),
    "meat": (-0.3, 0.0, 0.02),
    "apple": (0.0, 0.4, 0.03),
    "block": (0.4, 0.4, 0.03),
}
FIXTURE_PLACES: dict[str, Point] = {
    "table": (0.0, 0.0, -0.02),
    "drawer": (0.0, -0.6, 0.1),
    "microwave": (0.7, 0.5, 0.15),
    "sink": (-0.7, 0.5, -0.05),
}
COMPONENT_PLACES: dict[str, Point] = {
    "drawer_handle": (0.0, -0.38, 0.1),
    "drawer_tray": (0.2, -0.38, 0.1),
    "button": (0.85, 0.28, 0.2),
    "tap": (-0.7, 0.68, 0.2),
    "plug": (-0.45, 0.68, 0.1),
}
ROLES = SceneRoles(
    OBJECTS,
    FIXTURES,
    COMPONENTS,
    allowed=AllowedContacts(
        frozenset({"mug", "meat", "drawer", "microwave", "sink"}), {"mug": frozenset({"table"})}
    ),
)
SETTINGS = GroundingSettings()
AWAY: Point = (0.0, 0.0, 0.7)
OPEN, HOLDING = 0.04, 0.02
NAMES = proposition_names(ROLES)


def frame(
    *,
    gripper: Point = AWAY,
    fingers: float | None = None,
    target: float | None = None,
    hold: str | None = None,
    grip: bool = True,
    place: Mapping[str, Point] | None = None,
    on: Mapping[str, str | None] | None = None,
    speed: Mapping[str, Point] | None = None,
    turn: Mapping[str, tuple[float, float, float, float]] | None = None,
    touch: Iterable[str] = (),
    contacts: Iterable[tuple[str, str]] = (),
    blocked: Iterable[tuple[str, str]] = (),
    joints: Mapping[str, float] | None = None,
    liquid: Mapping[str, float] | None = None,
    moving: float = 0.0,
    spilled: float = 0.0,
    running: Iterable[str] = (),
    washed: bool = False,
    component_place: Mapping[str, Point] | None = None,
) -> SceneArrays:
    """One frame; everything not said is at rest on the table, and the gripper open and away.

    ``hold`` moves an object with the gripper, with both fingers on it unless ``grip`` is false;
    ``touch`` lists what else the robot touches, ``blocked`` pairs of an object and the fixture
    whose moving part it touches.
    """
    empty = empty_scene(ROLES, np)
    f: dict[str, Any] = {name: np.array(value) for name, value in empty._asdict().items()}
    objects = {o.name: i for i, o in enumerate(OBJECTS)}
    fixtures = {x.name: i for i, x in enumerate(FIXTURES)}
    parts = {c.name: i for i, c in enumerate(COMPONENTS)}
    places = {**PLACES, **(place or {})}
    rests: dict[str, str | None] = dict.fromkeys(objects, "table")
    if hold is not None:
        places[hold] = (place or {}).get(hold, gripper)
        rests[hold] = None
    rests |= on or {}
    f["gripper_position"][:] = gripper
    width = (HOLDING if hold is not None and grip else OPEN) if fingers is None else fingers
    f["finger_joints"][:] = width
    f["finger_targets"][:] = width if target is None else target
    f["object_positions"][:] = [places[name] for name in objects]
    f["fixture_positions"][:] = [FIXTURE_PLACES[name] for name in fixtures]
    f["interiors"][:] = f["fixture_positions"]
    f["outlets"][:] = f["fixture_positions"] + np.float32([0.0, 0.0, 0.3])
    f["component_positions"][:] = [
        (component_place or {}).get(name, COMPONENT_PLACES[name]) for name in parts
    ]
    for name, value in (speed or {}).items():
        f["object_linear"][objects[name]] = value
    for name, rotation in (turn or {}).items():
        f["object_quaternions"][objects[name]] = rotation
    for name, support in rests.items():
        if support in fixtures:
            f["on_fixture"][objects[name], fixtures[support]] = True
            f["object_fixture"][objects[name], fixtures[support]] = True
        elif support is not None:
            f["on_object"][objects[name], objects[support]] = True
            f["object_object"][objects[name], objects[support]] = True
            f["object_object"][objects[support], objects[name]] = True
    box = tuple(np.float32(h) for h in ROLES.gripper_half)
    hand = tuple(np.float32(x) for x in gripper)
    for kind, roles, columns in (
        ("object_positions", OBJECTS, "gripper_gaps"),
        ("component_positions", COMPONENTS, "component_gaps"),
    ):
        for i, role in enumerate(roles):
            there = tuple(f[kind][i])
            size = tuple(np.float32(h) for h in role.half)
            f[columns][i] = boxes_gap(np, hand, box, there, size)
    f["in_gripper_box"][:] = f["gripper_gaps"] <= 0
    for name in (*touch, *([hold] if hold is not None and grip else [])):
        if name in objects:
            f["robot_object"][objects[name]] = True
        elif name in fixtures:
            f["robot_fixture"][fixtures[name]] = True
        else:
            f["robot_component"][parts[name]] = True
    if hold is not None and grip:
        f["finger_contacts"][objects[hold]] = True
        f["opposed"][objects[hold]] = True
    for one, other in contacts:
        if other in fixtures:
            f["object_fixture"][objects[one], fixtures[other]] = True
        else:
            f["object_object"][objects[one], objects[other]] = True
            f["object_object"][objects[other], objects[one]] = True
    for one, other in blocked:
        f["part_contacts"][objects[one], fixtures[other]] = True
        f["object_fixture"][objects[one], fixtures[other]] = True
    for name, value in (joints or {}).items():
        f["joint_fractions"][fixtures[name]] = value
    for name, value in (liquid or {}).items():
        f["liquid"][objects[name]] = value
    f["liquid_moving"], f["liquid_spilled"] = np.float32(moving), np.float32(spilled)
    for name in running:
        f["dispensing"][fixtures[name]] = True
    f["sanitising"] = np.asarray(washed)
    return SceneArrays(**f)


def line(start: Point, end: Point, steps: int) -> list[Point]:
    """Points on the way from ``start`` to ``end``, the first left out."""
    a, b = np.asarray(start), np.asarray(end)
    return [tuple((a + (b - a) * (i + 1) / steps).tolist()) for i in range(steps)]


def letters(
    frames: list[SceneArrays],
    names: tuple[str, ...] | None = None,
    settings: GroundingSettings = SETTINGS,
) -> list[dict[str, bool]]:
    """The letters of an episode, in numpy."""
    words = proposition_names(ROLES, names)
    memory = initial_memory(ROLES, settings, frames[0], names)
    found = []
    for each in frames:
        memory, letter = ground(ROLES, settings, memory, each, names)
        found.append(dict(zip(words, letter.tolist(), strict=True)))
    return found


def column(trace: list[dict[str, bool]], name: str) -> list[int]:
    """The frames on which a proposition is true."""
    return [index for index, letter in enumerate(trace) if letter[name]]
