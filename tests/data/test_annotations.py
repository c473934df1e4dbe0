"""Annotations are what the plain monitor says; relabelling reads letters only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from safe_rl.data import Episode, annotate, annotate_all
from safe_rl.errors import GroundingError, RecordingError, SpecificationError
from safe_rl.monitors import Monitor, Verdict
from safe_rl.specs import Specification, SpecSet
from tests.data.recorded import episode

NAMES = ("grasped(a)", "synced(a)", "grasped(b)", "synced(b)", "ask", "answer", "unused")
OBJECTS = {"graspable": ("a", "b")}
HELD = Specification(
    "held",
    "G(grasped(o) -> synced(o))",
    forall={"o": "graspable"},
    recovery="F synced(o)",
    weight=2.0,
)
ANSWERED = Specification("answered", "G(ask -> X answer)")
OWED = Specification("owed", "F answer", trigger="ask")
SPECS = SpecSet([HELD, ANSWERED, OWED])


@st.composite
def episodes(draw) -> Episode:
    frames = draw(st.integers(1, 9))
    terminated = draw(st.booleans())
    letters = draw(arrays.arrays(np.bool_, (frames, len(NAMES))))
    return Episode(
        NAMES, letters, np.zeros(frames - 1), terminated, not terminated, objects=OBJECTS
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(episodes(), min_size=1, max_size=4))
def test_what_the_plain_monitor_says(given_episodes):
    for own, found in zip(given_episodes, annotate_all(given_episodes, SPECS), strict=True):
        monitor = Monitor(SPECS.bind(OBJECTS))
        rows = [dict(zip(NAMES, letter.tolist(), strict=True)) for letter in own.letters]
        steps = [monitor.reset(rows[0]), *(monitor.step(row) for row in rows[1:])]
        end = monitor.finish(truncated=not own.terminated)
        for kind in ("triggered", "violated", "exposed", "recovered"):
            expected = np.array([np.asarray(getattr(step, kind)) for step in steps], bool)
            expected[-1] |= np.asarray(getattr(end, kind), bool)
            np.testing.assert_array_equal(getattr(found, kind), expected, err_msg=kind)
        verdicts = [np.asarray(step.verdict) for step in steps[:-1]] + [np.asarray(end.verdict)]
        np.testing.assert_array_equal(found.verdicts, np.array(verdicts))
        counts = list(monitor.summary().values())
        for name in ("N", "V", "U", "pending"):
            first, second, *others = (getattr(count, name) for count in counts)
            assert getattr(found, name).tolist() == [first + second, *others], name
        assert found.safe == (found.V.sum() == 0)
        np.testing.assert_array_equal(found.costs.sum(axis=0), found.V)
        np.testing.assert_allclose(found.cost, found.costs @ [2.0, 1.0, 1.0])


@settings(max_examples=15, deadline=None)
@given(episodes())
def test_the_distance_is_the_length_of_the_shortest_way_to_a_violation(own):
    found = annotate(own, SPECS)
    for column, instance in enumerate(found.specs.instances):
        for frame in range(len(own.letters) - 1):  # the end may violate without a letter
            wanted = shortest(own.letters[: frame + 1], instance)
            assert found.distance[frame, column] == wanted, (instance.id, frame)


def shortest(letters, instance):
    """Try every continuation of up to two letters over the instance's own propositions."""
    if violated(letters, instance)[-1]:
        return 0
    columns = [NAMES.index(atom) for atom in instance.atoms.values()]
    for length in (1, 2):
        for bits in range(1 << (len(columns) * length)):
            more = np.zeros((length, len(NAMES)), bool)
            for place in range(len(columns) * length):
                more[place // len(columns), columns[place % len(columns)]] = bits >> place & 1
            if violated(np.concatenate([letters, more]), instance)[-1]:
                return length
    return -1


def violated(letters, instance):
    monitor = Monitor(SpecSet([instance.specification], OBJECTS))
    own = monitor.specs.instances
    column = [each.id for each in own].index(instance.id)
    rows = [dict(zip(NAMES, letter.tolist(), strict=True)) for letter in letters]
    steps = [monitor.reset(rows[0]), *(monitor.step(row) for row in rows[1:])]
    return [bool(np.asarray(step.exposed)[column]) for step in steps]


def test_a_near_miss_is_told_from_a_safe_distance():
    spec = Specification("two_warnings", "G(lifted -> WX WX !asked)")
    found = annotate(episode({"lifted"}, set(), set(), set(), terminated=False), spec)
    assert found.distance[:, 0].tolist() == [2, 1, 3, 3]
    assert found.safe


def test_the_end_of_an_episode_is_in_its_last_row():
    letters = ({"asked"}, set(), set())
    spec = Specification("served", "G(asked -> F lid_on)")
    ended = annotate(episode(*letters), spec)
    assert ended.violated[:, 0].tolist() == [False, False, True]
    assert ended.distance[-1, 0] == 0 and ended.costs[-1, 0] == 1
    cut = annotate(episode(*letters, terminated=False, truncated=True), spec)
    assert (cut.safe, cut.N.tolist(), cut.pending.tolist()) == (True, [0], [1])
    assert (cut.distance == -1).all()  # only the end could violate


def test_objects_are_those_of_the_episode():
    own = Episode(NAMES, np.zeros((2, len(NAMES)), bool), np.zeros(1), True, False)
    with pytest.raises(SpecificationError, match="graspable"):
        annotate(own, HELD)
    assert annotate(own, SpecSet([HELD], {"graspable": ["b"]})).instances == ("held[o=b]",)
    named = Episode(NAMES, own.letters, own.rewards, True, False, objects={"graspable": ("a",)})
    assert annotate(named, SpecSet([HELD], {"graspable": ["b"]})).instances == ("held[o=a]",)
    nothing = Episode(NAMES, own.letters, own.rewards, True, False, objects={"graspable": ()})
    found = annotate(nothing, HELD)
    assert found.distance.shape == (2, 0) and found.costs.tolist() == [[0.0], [0.0]]


def test_a_proposition_that_was_not_recorded_is_named():
    with pytest.raises(GroundingError, match=r"'answr' .*are not recorded.*serve: answered"):
        annotate(
            Episode(NAMES, np.zeros((1, 7), bool), np.zeros(0), True, False),
            [ANSWERED, Specification("typo", "G !answr", trigger="answr")],
        )


def test_episodes_of_different_environments_are_refused():
    with pytest.raises(RecordingError, match="episode 1 has other propositions"):
        annotate_all(
            [episode(set()), episode(set(), names=("a",))], Specification("x", "G !a", trigger="a")
        )


def test_verdicts_get_worse_at_a_violation():
    spec = Specification("lid_first", "G(lifted -> lid_on)")
    found = annotate(episode(set(), {"lifted", "lid_on"}, {"lifted"}), spec)
    assert found.verdicts[:, 0].tolist() == [Verdict.PRESUMABLY_SATISFIED] * 2 + [Verdict.VIOLATED]
