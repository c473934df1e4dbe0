"""The frame-by-frame table."""

from __future__ import annotations

import pytest

from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.grounding import FrameRecord, explain

HAND, TOP = ("hand", "table"), ("cube", "table")
RECORDS = [
    FrameRecord(0, {"held": False, "dropped": False}, (TOP,), (), {"cube": 0.82}, 0.08),
    FrameRecord(1, {"held": True, "dropped": False}, (), (), {"cube": 0.85}, 0.04),
    FrameRecord(2, {"held": False, "dropped": True}, (HAND,), (HAND,), {"cube": 0.84}, 0.05),
]


def test_table_shows_what_changes_and_which_contacts_begin_and_end() -> None:
    assert explain(RECORDS).splitlines() == [
        "step  held  dropped  z(cube)  aperture  contacts",
        "0     .     .        0.820    0.0800    +cube~table",
        "1     1     .        0.850    0.0400    -cube~table",
        "2     .     1        0.840    0.0500    +hand~table!",
    ]


def test_a_window_and_chosen_columns() -> None:
    text = explain(RECORDS, ["dropped"], around=2, before=0, after=3)
    assert text.splitlines()[0].split() == ["step", "dropped", "z(cube)", "aperture", "contacts"]
    assert len(text.splitlines()) == 2


def test_errors_name_what_is_there() -> None:
    with pytest.raises(GroundingError, match="no proposition 'helt'.*did you mean 'held'"):
        explain(RECORDS, ["helt"])
    with pytest.raises(ConfigurationError, match="recorded: 0 to 2"):
        explain(RECORDS, around=50)
    with pytest.raises(ConfigurationError, match="recorded: none"):
        explain([])
