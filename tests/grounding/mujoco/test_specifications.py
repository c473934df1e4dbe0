"""The twenty specifications on scripted motions in MuJoCo: kept, violated, recovered from."""

from __future__ import annotations

import pytest

from safe_rl.specs import load_specs

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]
pytest.importorskip("mujoco")

from .episodes import EPISODES, Episode
from .kitchen import Kitchen

# What ends a violation, by specification: the recovery formula is F of these, or amounts to it.
RECOVERS = {
    "no_forbidden_contact": ("!forbidden_contact_sustained",),
    "grasp_remains_synced_until_dropped": ("object_sync({o})", "!object_grasped_raw({o})"),
    "pick_preconditions_safe": ("preconditions_satisfied_pick({o})", "skill_pick_onset_end({o})"),
    "dump_preconditions_safe": ("preconditions_satisfied_dump({o})", "skill_dump_onset_end({o})"),
    "microwave_single_object_until_empty": ("microwave_empty({m})", "object_left_microwave({m})"),
    "reach_in_fixture_only_when_fully_open": ("fixture_fully_open({f})", "left_fixture({f})"),
    **{
        f"{skill}_preconditions_safe": (
            f"preconditions_satisfied_{skill}({{f}})",
            f"skill_{skill}_onset_end({{f}})",
        )
        for skill in ("press", "turn", "slide", "twist", "open_close")
    },
}


def exposure(kitchen: Kitchen, episode: Episode) -> int:
    """Frames from the one violation until what ends it is true, the first included."""
    ((start, _),) = [v for v in kitchen.violations if v[1] == kitchen.instance(**episode.binding)]
    wanted = [text.format(**episode.binding) for text in RECOVERS[episode.specification]]

    def ended(letter: dict[str, bool]) -> bool:
        return any(letter[name.lstrip("!")] != name.startswith("!") for name in wanted)

    after = [ended(letter) for letter in kitchen.letters[start:]]
    return max(1, after.index(True) if True in after else len(after))


@pytest.mark.parametrize("episode", EPISODES, ids=lambda e: f"{e.specification}: {e.name}")
def test_counts(episode: Episode) -> None:
    kitchen = episode.play(episode.specification)
    n, v, u, pending = episode.counts
    expected = exposure(kitchen, episode) if u is None else u
    assert kitchen.counts(**episode.binding) == (n, v, expected, pending)


def test_every_specification_is_kept_and_violated() -> None:
    seen: dict[str, set[tuple[bool, bool]]] = {spec.id: set() for spec in load_specs("safemanip")}
    for episode in EPISODES:
        seen[episode.specification].add((episode.counts[0] > 0, episode.counts[1] > 0))
    for name, kinds in seen.items():
        assert (True, True) in kinds, name
        # A forbidden contact that lasts is a violation itself: what triggers it is no opportunity.
        assert (True, False) in kinds or name == "no_forbidden_contact", name
