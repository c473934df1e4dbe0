"""The array grounding and the scalar one give the same letters on the same frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.grounding import (
    AllowedContacts,
    BodyMotion,
    Contact,
    ContactRules,
    GroundingSettings,
    ManipulationGrounding,
    ObjectFacts,
    SceneFrame,
)
from safe_rl.grounding.arrays import (
    FixtureRole,
    ObjectRole,
    SceneArrays,
    SceneRoles,
    empty_scene,
    ground,
    initial_memory,
    proposition_names,
)
from safe_rl.grounding.scene import STILL

OBJECTS, FIXTURES = ("a", "b", "c"), ("shelf", "table")
ALLOWED = AllowedContacts(
    frozenset({"a", "table"}), {"a": frozenset({"b"}), "b": frozenset({"table"})}
)
ROLES = SceneRoles(
    tuple(ObjectRole(name, (0.03, 0.03, 0.03)) for name in OBJECTS),
    tuple(FixtureRole(name, "counter", (0.5, 0.5, 0.02)) for name in FIXTURES),
    allowed=ALLOWED,
)
# Short windows, so that short episodes see everything happen.
SETTINGS = GroundingSettings(
    grasp_window=2, stability_window=2, forbidden_contact_tolerance=2, settle_timeout=4
)
HALF_TURN = (0.70710678, 0.0, 0.0, 0.70710678)
SMALL_TURN = (0.995004165, 0.0998334166, 0.0, 0.0)  # 0.2 rad
LARGE_TURN = (0.98006658, 0.0, 0.198669331, 0.0)  # 0.4 rad

# Values that no sum of them brings near a threshold.
positions = st.tuples(*[st.sampled_from([0.0, 0.01, 0.5])] * 3)
turns = st.sampled_from([(1.0, 0.0, 0.0, 0.0), HALF_TURN, SMALL_TURN, LARGE_TURN])
speeds = st.tuples(*[st.sampled_from([0.0, 0.0, 0.0, 0.011, 0.3])] * 3)
spins = st.tuples(*[st.sampled_from([0.0, 0.0, 0.0, 0.07, 1.1])] * 3)
motions = st.builds(BodyMotion, positions, turns, speeds, spins)
widths = st.sampled_from([0.0, 0.01, 0.02, 0.045])
likely = st.sampled_from([True, True, True, False])


@st.composite
def scene_frames(draw: Any) -> SceneFrame:
    bodies = [draw(motions) for _ in OBJECTS]
    objects, contacts = [], set()
    for index, name in enumerate(OBJECTS):
        carriers = [None, *FIXTURES, *(o for o in OBJECTS if o != name)]
        support = draw(st.sampled_from(carriers))
        held = draw(likely) if index < 2 else False
        fingers = 2 if held else draw(st.integers(0, 2))
        carried = bodies[OBJECTS.index(support)] if support in OBJECTS else STILL
        objects.append(
            ObjectFacts(
                motion=bodies[index],
                fingers=fingers,
                opposed=held or (fingers == 2 and draw(st.booleans())),
                touched=fingers > 0,
                support=support,
                support_motion=carried,
                in_gripper_box=draw(st.booleans()),
                cleared=fingers == 0 and draw(likely),
            )
        )
        if draw(st.booleans()):
            contacts.add(Contact(("robot", name), ("robot", name)))
        for other in (*FIXTURES, *OBJECTS[index + 1 :]):
            if draw(st.booleans()):
                contacts.add(Contact((name, other), (name, other)))
    for name in FIXTURES:
        if draw(st.booleans()):
            contacts.add(Contact(("robot", name), ("robot", name)))
    joints = draw(st.tuples(widths, widths))
    targets = draw(st.tuples(widths, widths))
    return SceneFrame(draw(motions), joints, targets, tuple(objects), frozenset(contacts))


def arrays(frame: SceneFrame) -> SceneArrays:
    """The same facts as arrays."""
    f = {k: np.array(v) for k, v in empty_scene(ROLES, np)._asdict().items()}
    hand = frame.gripper
    f["gripper_position"][:], f["gripper_quaternion"][:] = hand.position, hand.quaternion
    f["gripper_linear"][:], f["gripper_angular"][:] = hand.linear, hand.angular
    f["finger_joints"][:], f["finger_targets"][:] = frame.finger_joints, frame.finger_targets
    for i, facts in enumerate(frame.objects):
        f["object_positions"][i], f["object_quaternions"][i] = facts.motion[:2]
        f["object_linear"][i], f["object_angular"][i] = facts.motion[2:]
        f["finger_contacts"][i, : facts.fingers] = True
        f["opposed"][i], f["in_gripper_box"][i] = facts.opposed, facts.in_gripper_box
        f["gripper_gaps"][i] = 0.02 if facts.cleared else 0.005
        if facts.support in FIXTURES:
            f["on_fixture"][i, FIXTURES.index(facts.support)] = True
        elif facts.support is not None:
            f["on_object"][i, OBJECTS.index(facts.support)] = True
    for contact in frame.contacts:
        one, other = contact.entities
        if one == "robot":
            key, row = (
                ("robot_object", OBJECTS) if other in OBJECTS else ("robot_fixture", FIXTURES)
            )
            f[key][row.index(other)] = True
        elif other in FIXTURES:
            f["object_fixture"][OBJECTS.index(one), FIXTURES.index(other)] = True
        else:
            i, j = OBJECTS.index(one), OBJECTS.index(other)
            f["object_object"][i, j] = f["object_object"][j, i] = True
    return SceneArrays(**f)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(scene_frames(), min_size=1, max_size=12),
    st.lists(st.integers(1, 4), min_size=12, max_size=12),
)
def test_same_letters(frames: list[SceneFrame], repeats: list[int]) -> None:
    frames = [f for f, n in zip(frames, repeats, strict=False) for _ in range(n)]
    scalar = ManipulationGrounding(OBJECTS, ContactRules(ALLOWED, OBJECTS), SETTINGS)
    names = proposition_names(ROLES, scalar.proposition_names)
    assert set(names) == set(scalar.proposition_names)
    memory = initial_memory(ROLES, SETTINGS, arrays(frames[0]), names)
    for index, frame in enumerate(frames):
        expected = scalar.step(frame) if index else scalar.reset(frame)
        memory, letter = ground(ROLES, SETTINGS, memory, arrays(frame), names)
        found = dict(zip(names, letter.tolist(), strict=True))
        assert found == expected
