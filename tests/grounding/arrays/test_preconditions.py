"""What is in the way of a hand that is wider than what it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from safe_rl.grounding.arrays import ground, initial_memory

from .kitchen import AWAY, ROLES, SETTINGS, Point, frame, line

WIDE = replace(ROLES, gripper_half=(0.03, 0.11, 0.05))
NAMES = ("skill_pick_onset(mug)", "preconditions_satisfied_pick(mug)")


@pytest.mark.parametrize(
    ("block", "ready"),
    [
        ((0.0, 0.1, 0.03), True),  # on the table, 1 cm beside the mug: below the hand at its height
        ((0.0, 0.1, 0.16), False),  # in the air, where the hand still is wide
        ((0.0, 0.0, 0.13), False),  # above the mug
        ((0.0, 0.2, 0.16), True),
    ],
)
def test_the_corridor_leads_from_the_hands_box_to_the_targets(block: Point, ready: bool) -> None:
    frames = [
        frame(gripper=p, place={"block": block})
        for p in (AWAY, *line((0.0, 0.0, 0.61), (0.0, 0.0, 0.19), 21))
    ]
    memory, letters = initial_memory(WIDE, SETTINGS, frames[0], NAMES), []
    for each in frames:
        memory, letter = ground(WIDE, SETTINGS, memory, each, NAMES)
        letters.append(letter.tolist())
    assert letters[-1] == [True, ready]
    assert not any(onset for onset, _ in letters[:-1])
