"""The allowed-contact taxonomy of phi 1, class by class."""

from __future__ import annotations

import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding import AllowedContacts, Contact, ContactRules

ALLOWED = AllowedContacts(manipulated=frozenset({"mug"}), receivers={"mug": frozenset({"coaster"})})
OBJECTS = ("mug", "coaster")
FREE, HOLDING = (False, False), (True, False)
NO_SUPPORT = (None, None)


def touch(first: str, second: str) -> Contact:
    return Contact((f"{first}_geom", f"{second}_geom"), (first, second))


def judge(
    contact: Contact,
    held: tuple[bool, bool] = FREE,
    supports: tuple[str | None, str | None] = NO_SUPPORT,
) -> bool:
    """Whether the contact is allowed, on a frame after an empty first one."""
    rules = ContactRules(ALLOWED, OBJECTS)
    rules.reset(frozenset(), FREE, supports)
    return not rules.step(frozenset({contact}), held, NO_SUPPORT)


def test_the_robot_may_touch_what_it_manipulates_only() -> None:
    assert judge(touch("robot", "mug"))
    assert not judge(touch("robot", "coaster"))
    assert not judge(touch("robot", "table"))


def test_objects_that_are_not_held_may_touch_anything() -> None:
    assert judge(touch("mug", "table"))
    assert judge(touch("coaster", "mug"))


def test_a_held_object_may_touch_its_receiver_and_the_support_it_came_from() -> None:
    assert judge(touch("coaster", "mug"), HOLDING)
    assert judge(touch("mug", "table"), HOLDING, supports=("table", None))
    assert not judge(touch("mug", "table"), HOLDING)
    assert not judge(touch("mug", "shelf"), HOLDING, supports=("table", None))


def test_the_support_is_that_of_the_last_frame_before_the_hold() -> None:
    rules = ContactRules(ALLOWED, OBJECTS)
    rules.reset(frozenset(), FREE, ("table", None))
    rules.step(frozenset(), FREE, ("shelf", None))  # moved there, and lifted off
    rules.step(frozenset(), FREE, NO_SUPPORT)  # the hold is not debounced yet
    assert rules.step(frozenset({touch("mug", "shelf")}), HOLDING, ("shelf", None)) == ()
    forbidden = touch("mug", "table")
    # What it rests on while held does not become allowed.
    assert rules.step(frozenset({forbidden}), HOLDING, ("table", None)) == (forbidden,)


def test_pairs_of_the_first_frame_are_excused_until_absent_for_one_frame() -> None:
    rules = ContactRules(ALLOWED, OBJECTS)
    pair = touch("robot", "table")
    assert rules.reset(frozenset({pair}), FREE, NO_SUPPORT) == ()
    assert rules.step(frozenset({pair}), FREE, NO_SUPPORT) == ()
    assert rules.step(frozenset(), FREE, NO_SUPPORT) == ()
    assert rules.step(frozenset({pair}), FREE, NO_SUPPORT) == (pair,)
    saved = rules.get_state()
    rules.reset(frozenset({pair}), FREE, NO_SUPPORT)
    rules.set_state(saved)
    assert rules.step(frozenset({pair}), FREE, NO_SUPPORT) == (pair,)


def test_roles_of_unknown_entities_are_an_error() -> None:
    with pytest.raises(GroundingError, match=r"'mug', which is no entity.*did you mean 'mugs'"):
        ALLOWED.check(["mugs", "coaster", "robot"])
    with pytest.raises(GroundingError, match="'coaster', which is no entity"):
        ALLOWED.check(["mug", "robot"])
    ALLOWED.check(["mug", "coaster"])
