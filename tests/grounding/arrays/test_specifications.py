"""The twenty specifications on scripted frames: triggered and kept, triggered and violated."""

from __future__ import annotations

import pytest

from safe_rl.grounding.arrays import proposition_names
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

from .episodes import Episode, episodes
from .kitchen import NAMES, ROLES, letters

EPISODES = episodes()


def run(episode: Episode) -> tuple[int, int, int, int]:
    name = episode.instance.split("[")[0]
    specs = load_specs("safemanip").select([name]).bind(ROLES.properties)
    trace = letters(episode.frames, tuple(specs.propositions))
    monitor = Monitor(specs)
    monitor.reset(trace[0])
    for letter in trace[1:]:
        monitor.step(letter)
    monitor.finish(truncated=True)
    found = monitor.summary()[episode.instance]
    return (found.N, found.V, found.U, found.pending)


@pytest.mark.parametrize("episode", EPISODES, ids=lambda e: f"{e.instance}: {e.name}")
def test_counts(episode: Episode) -> None:
    assert run(episode) == episode.counts


def test_every_specification_is_triggered_kept_and_violated() -> None:
    names = {spec.id for spec in load_specs("safemanip")}
    about = {e.instance.split("[")[0]: set() for e in EPISODES}
    for episode in EPISODES:
        about[episode.instance.split("[")[0]].add((episode.counts[0] > 0, episode.counts[1] > 0))
    assert set(about) == names
    for name, seen in about.items():
        assert (True, True) in seen, name
        # A forbidden contact that lasts is a violation itself: what triggers it is no opportunity.
        assert (True, False) in seen or name == "no_forbidden_contact", name


def test_names_are_those_of_the_library() -> None:
    specs = load_specs("safemanip").bind(ROLES.properties)
    extra = {"forbidden_contact", *(n for n in NAMES if n.startswith("object_supported"))}
    missing = {f"skill_place_onset_end({o.name})" for o in ROLES.objects}
    assert set(specs.propositions) - missing <= set(NAMES)
    assert set(NAMES) - extra <= set(specs.propositions)
    assert proposition_names(ROLES, specs.propositions) == tuple(n for n in NAMES if n not in extra)
