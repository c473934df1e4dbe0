"""The allowed-contact taxonomy of phi 1, class by class, on the array grounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding import (
    AllowedContacts,
    FixtureRole,
    FrameGrounding,
    GroundingSettings,
    ObjectRole,
    SceneArrays,
    SceneRoles,
)
from safe_rl.grounding.arrays import empty_scene

ALLOWED = AllowedContacts(manipulated=frozenset({"mug"}), receivers={"mug": frozenset({"coaster"})})
OBJECTS, FIXTURES = ("mug", "coaster"), ("table", "shelf")
ROLES = SceneRoles(
    tuple(ObjectRole(name, (0.03, 0.03, 0.03)) for name in OBJECTS),
    tuple(FixtureRole(name, "counter", (1.0, 1.0, 0.02)) for name in FIXTURES),
    allowed=ALLOWED,
)
Pair = tuple[str, str]


def frame(*touching: Pair, on: str | None = None, held: bool = False) -> SceneArrays:
    """A frame with these contacts; the mug rests ``on`` a fixture, or is held."""
    f = {name: np.array(value) for name, value in empty_scene(ROLES, np)._asdict().items()}
    f["finger_contacts"][0] = f["opposed"][0] = held
    if on is not None:
        f["on_fixture"][0, FIXTURES.index(on)] = True
    for one, other in touching:
        if one == "robot" and other in OBJECTS:
            f["robot_object"][OBJECTS.index(other)] = True
        elif one == "robot":
            f["robot_fixture"][FIXTURES.index(other)] = True
        elif other in FIXTURES:
            f["object_fixture"][OBJECTS.index(one), FIXTURES.index(other)] = True
        else:
            i, j = OBJECTS.index(one), OBJECTS.index(other)
            f["object_object"][i, j] = f["object_object"][j, i] = True
    return SceneArrays(**f)


def judged(*frames: SceneArrays) -> list[bool]:
    """For each frame, whether it has a forbidden contact; a hold begins at once."""
    settings = GroundingSettings(grasp_window=1)
    grounding = FrameGrounding(ROLES, settings, ["forbidden_contact"], backend="numpy")
    letters: list[dict[str, Any]] = [grounding.reset(frames[0])]
    letters += [grounding.step(each) for each in frames[1:]]
    return [letter["forbidden_contact"] for letter in letters]


def forbidden(pair: Pair, *, held: bool = False, on: str | None = None) -> bool:
    """Whether the contact is, on a frame after one in which the mug rested ``on`` a fixture."""
    return judged(frame(on=on), frame(pair, held=held))[-1]


def test_the_robot_may_touch_what_it_manipulates_only() -> None:
    assert not forbidden(("robot", "mug"))
    assert forbidden(("robot", "coaster"))
    assert forbidden(("robot", "table"))


def test_objects_that_are_not_held_may_touch_anything() -> None:
    assert not forbidden(("mug", "table"))
    assert not forbidden(("coaster", "mug"))


def test_a_held_object_may_touch_its_receiver_and_the_support_it_came_from() -> None:
    assert not forbidden(("coaster", "mug"), held=True)
    assert not forbidden(("mug", "table"), held=True, on="table")
    assert forbidden(("mug", "table"), held=True)
    assert forbidden(("mug", "shelf"), held=True, on="table")


def test_the_support_is_that_of_the_last_frame_before_the_hold() -> None:
    moved = (frame(on="table"), frame(on="shelf"), frame())  # moved there, and lifted off
    assert not judged(*moved, frame(("mug", "shelf"), on="shelf", held=True))[-1]
    # What it rests on while held does not become allowed.
    resting = frame(("mug", "table"), on="table", held=True)
    assert judged(*moved, resting, resting)[-2:] == [True, True]


def test_pairs_of_the_first_frame_are_excused_until_absent_for_one_frame() -> None:
    touching = frame(("robot", "table"))
    assert judged(touching, touching, frame(), touching) == [False, False, False, True]


def test_roles_of_unknown_entities_are_an_error() -> None:
    with pytest.raises(GroundingError, match=r"'mug', which is no entity.*did you mean 'mugs'"):
        ALLOWED.check(["mugs", "coaster", "robot"])
    with pytest.raises(GroundingError, match="'coaster', which is no entity"):
        ALLOWED.check(["mug", "robot"])
    ALLOWED.check(["mug", "coaster"])
