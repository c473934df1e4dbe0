"""Coverage and steering on letters written by hand, so that every count is known."""

from __future__ import annotations

import numpy as np

from safe_rl.data import Episode
from safe_rl.demonstrations.collection import Boundary, coverage_of, steered
from safe_rl.demonstrations.collection.coverage import marks_of
from safe_rl.demonstrations.engine.variation import Choice, Mixture
from safe_rl.specs import Specification, SpecSet

PICK = Specification("clear_way", "G(pick -> clear)", recovery="F clear")
LID = Specification("lid_first", "G(lift -> (held W down))")
NAMES = ("pick", "clear", "lift", "held", "down")


def episode(*letters: str) -> Episode:
    rows = [[name in letter.split() for name in NAMES] for letter in letters]
    return Episode(NAMES, np.array(rows, bool), np.zeros(len(rows) - 1), False, True)


CLEAR = episode("clear", "pick clear", "clear")
BLOCKED = episode("", "pick", "clear")
IDLE = episode("clear", "clear")


def test_a_prerequisite_is_seen_from_both_sides() -> None:
    (found,) = coverage_of([CLEAR, BLOCKED, IDLE], SpecSet([PICK]))
    assert (found.N, found.V, found.triggered) == (2, 1, 2)
    prerequisite = next(b for b in found.boundaries if b.atom == "clear")
    # CLEAR picked with a clear way, BLOCKED without; IDLE never picked, so clear decided nothing.
    assert prerequisite == Boundary("clear_way", "clear", safe=1, unsafe=1)
    # BLOCKED's first letter would violate with pick; its second would not without it.
    assert next(b for b in found.boundaries if b.atom == "pick") == Boundary(
        "clear_way", "pick", safe=1, unsafe=1
    )


def test_what_never_happened_is_said_so() -> None:
    found = coverage_of([IDLE], SpecSet([PICK, LID]))
    assert [row.lacking() for row in found] == [("never triggered",), ("never triggered",)]


def test_what_happened_seldom_is_named() -> None:
    (found,) = coverage_of([CLEAR] * 6 + [BLOCKED], SpecSet([PICK]))
    assert set(found.lacking(few=5)) == {
        "clear: 1 from the unsafe side",
        "pick: 1 from the safe side",
        "pick: 1 from the unsafe side",
    }


def test_a_near_miss_is_nearer_to_doom_than_a_fresh_monitor() -> None:
    rule = Specification("twice", "G(lift -> !X lift)", trigger="lift")
    near, far = episode("", "lift", "held"), episode("", "held")
    (found,) = coverage_of([near, far], SpecSet([rule]))
    # From the start two letters violate; after a lift one does.
    assert (found.near_misses, found.least_distance, found.V) == (1, 1, 0)


def test_a_violation_does_not_hide_what_comes_after_recovery() -> None:
    again = episode("", "pick", "clear", "pick clear")
    marks = marks_of([again], SpecSet([PICK]))["clear_way"]
    assert marks["clear unsafe"][0] and marks["clear safe"][0]


def test_steering_moves_weight_to_what_brings_the_rare() -> None:
    choice = Choice("manner", ("careful", "hasty"), (0.9, 0.1))
    mixture = Mixture.of([choice], None)
    episodes = [CLEAR] * 18 + [BLOCKED] * 2
    draws = [{"manner": "careful"}] * 18 + [{"manner": "hasty"}] * 2
    after = steered(mixture, episodes, draws, SpecSet([PICK]))
    weights = after.weights["manner"]
    assert weights[1] > 0.3 and weights[0] > 0.1  # towards the rare, and nothing dies out
    assert np.isclose(weights.sum(), 1.0)


def test_steering_by_what_is_even_changes_little() -> None:
    choice = Choice("manner", ("careful", "hasty"), (0.5, 0.5))
    mixture = Mixture.of([choice], None)
    draws = [{"manner": name} for name in ("careful", "hasty") * 10]
    after = steered(mixture, [CLEAR] * 20, draws, SpecSet([PICK]))
    assert np.allclose(after.weights["manner"], 0.5, atol=0.02)
