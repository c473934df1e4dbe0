"""Monitors over whole episodes: the plain monitor's events, and an evaluation's counts."""

from __future__ import annotations

from dataclasses import fields

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import safe_rl.envs  # noqa: F401 - registers the environments
from safe_rl.data import Episode
from safe_rl.data.event_tape import letter_columns, tape_of
from safe_rl.errors import GroundingError
from safe_rl.evaluation import EpisodeRecords, RandomPolicy, replay, roll_out
from safe_rl.evaluation.audit import monitor_episodes
from safe_rl.monitors import Verdict, make_tables
from safe_rl.specs import Limit, Specification, SpecSet, load_specs
from safe_rl.wrappers import VectorProductMDP

NAMES = ("grasped(a)", "synced(a)", "grasped(b)", "synced(b)", "ask", "answer", "unused")
SPECS = SpecSet(
    [
        Specification(
            "held",
            "G(grasped(o) -> synced(o))",
            forall={"o": "graspable"},
            recovery="F synced(o)",
            limit=Limit("per_trigger", 0.1, 3),
            category="grasp",
        ),
        Specification("answered", "G(ask -> F answer)", limit=Limit("episode", 0.2)),
        Specification("quiet", "G !ask", trigger="ask", limit=Limit("probability", 0.3)),
    ],
    {"graspable": ["a", "b"]},
)


@st.composite
def episodes(draw) -> Episode:
    frames = draw(st.integers(1, 12))
    terminated = draw(st.booleans())
    return Episode(
        NAMES,
        draw(arrays.arrays(np.bool_, (frames, len(NAMES)))),
        np.ones(frames - 1),
        terminated,
        not terminated,
        engaged=draw(arrays.arrays(np.bool_, frames)),
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(episodes(), min_size=1, max_size=5))
def test_the_events_are_those_of_the_plain_monitor(given_episodes):
    tables = make_tables(SPECS)
    columns = letter_columns(SPECS, NAMES)
    tape = tape_of(tables, columns, given_episodes)
    monitored = monitor_episodes(SPECS, given_episodes)
    for row, own in enumerate(given_episodes):
        frames = len(own.letters)
        timeline = replay(
            SPECS,
            [dict(zip(NAMES, letter, strict=True)) for letter in own.letters],
            truncated=not own.terminated,
        )
        for kind, expected in timeline.events.items():
            found = np.asarray(getattr(tape.events, kind))
            np.testing.assert_array_equal(found[:frames, row], expected)
            assert not found[frames:, row].any()
        np.testing.assert_array_equal(tape.states[1:frames, row], timeline.states[:-1])
        records = monitored.records
        np.testing.assert_array_equal(records.pending[row], timeline.pending)
        triggered = timeline.events["triggered"].sum(axis=0) - timeline.pending
        np.testing.assert_array_equal(records.triggered[row], triggered)
        violated = timeline.events["violated"]
        np.testing.assert_array_equal(records.violations[row], violated.sum(axis=0))
        np.testing.assert_array_equal(records.exposure[row], timeline.events["exposed"].sum(axis=0))
        first = [int(np.argmax(column)) if column.any() else -1 for column in violated.T]
        assert records.first_violation[row].tolist() == first
        worst = monitored.verdicts[row] == Verdict.VIOLATED
        assert (violated.any(axis=0) <= worst).all()
        # held and quiet by instance, each in its own category, and all together
        exposed = timeline.events["exposed"]
        assert monitored.unsafe[row, -1] == exposed.any(axis=1).sum()
        assert monitored.unsafe[row, 0] == exposed[:, :2].any(axis=1).sum()


def test_charged_only_from_the_first_contact_on():
    def one(letters, engaged):
        letter = [{"ask"} if asked else set() for asked in letters]
        array = np.array([[name in own for name in NAMES] for own in letter])
        flags = None if engaged is None else np.array(engaged, bool)
        return Episode(NAMES, array, np.zeros(len(letters) - 1), False, True, engaged=flags)

    quiet = SPECS.select(["quiet"])
    cases = [
        one([1, 0, 0], [0, 0, 1]),  # before the contact
        one([0, 1, 0], [0, 1, 0]),  # at it
        one([0, 0, 1], [1, 0, 0]),  # after it, while nothing is touched
        one([0, 0, 0], [1, 1, 1]),
    ]
    assert monitor_episodes(quiet, cases).records.charged.tolist() == [False, True, True, False]
    # where contact is not reported, every violation is charged
    (unknown,) = monitor_episodes(quiet, [one([1, 0, 0], None)]).records.charged
    assert unknown


def test_a_missing_proposition_is_an_error_that_says_what_can_be_audited():
    letters = np.zeros((2, 2), bool)
    own = Episode(("ask", "answr"), letters, np.zeros(1), True, False)
    with pytest.raises(GroundingError, match="and 2 more are not recorded.*serve: quiet"):
        monitor_episodes(SPECS, [own])
    with pytest.raises(GroundingError, match=r"'answer' \(did you mean 'answr'"):
        monitor_episodes(SPECS.select(["answered"]), [own])


def assert_same(one: EpisodeRecords, other: EpisodeRecords) -> None:
    """Bit for bit, types included."""
    for field in fields(EpisodeRecords):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "columns":
            assert a == b
        else:
            assert (a is None) == (b is None), field.name
            assert a is None or a.dtype == b.dtype, field.name
            np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.mark.parametrize("vectorization", ["vector_entry_point", "sync"])
def test_an_audit_counts_what_the_evaluation_counted_kitchen(vectorization):
    kitchens = gym.make_vec("safe_rl/KitchenGrid-v0", num_envs=16, vectorization_mode=vectorization)
    envs = VectorProductMDP(kitchens, "kitchen")
    recorded: list[Episode] = []
    rollouts = roll_out(envs, RandomPolicy(envs, seed=3), 150, seed=3, on_recorded=recorded.append)
    assert rollouts.records.violations.sum() > 5
    assert_same(monitor_episodes(envs.specs, recorded).records, rollouts.records)
    assert {own.seed for own in recorded if own.seed is not None} == {*range(3, 19)}
    assert all(own.env_id == "safe_rl/KitchenGrid-v0" for own in recorded)


@pytest.mark.slow
def test_an_audit_counts_what_the_evaluation_counted_tabletop():
    pytest.importorskip("jax")
    # few propositions compile sooner
    specs = load_specs("tabletop_place").select(
        ["delicate_things_stay_whole", "things_come_down_gently"]
    )
    names = ["upset(glass)", "upset(cup)", "near(glass)", "near(cup)", "landed(block)"]
    tables = gym.make_vec(
        "safe_rl/TabletopPlace-v0",
        num_envs=48,
        vectorization_mode="vector_entry_point",
        propositions=[*names, "landed_hard(block)"],
    )
    envs = VectorProductMDP(tables, specs, cost="exposure")
    recorded: list[Episode] = []

    class Downwards(RandomPolicy):
        """Goes down with open fingers, so that things are upset."""

        def act(self, observations, starts):
            actions = super().act(observations, starts)
            actions[:, 2] -= 0.4
            return np.clip(actions, -1, 1)

    rollouts = roll_out(envs, Downwards(envs, 0), 60, seed=5, on_recorded=recorded.append)
    assert rollouts.records.violations.sum() > 5
    assert_same(monitor_episodes(envs.specs, recorded, "exposure").records, rollouts.records)
    assert recorded[0].instruction == envs.unwrapped.instruction
    assert "graspable" in recorded[0].objects
