"""Rollouts: the same records in every autoreset mode, and records that a replay confirms."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.rollouts import RandomPolicy, roll_out
from safe_rl.evaluation.timeline import replay
from safe_rl.specs import Limit, Specification, SpecSet
from safe_rl.wrappers import GroundingInfo, VectorProductMDP

MODES = list(AutoresetMode)


class Script(gym.Env):
    """Plays a written episode: one letter, one reward and one contact flag per step.

    Episode ``k`` of the environment plays ``plays[k % len(plays)]``, a list of
    ``(letter, reward, engaged)``; the first entry is the reset. The last entry ends the episode,
    as a termination unless the play's name is "cut".
    """

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, plays: list[tuple[str, list[tuple[set[str], float, bool]]]]) -> None:
        self.plays = plays
        self.count = -1

    def propositions(self) -> dict[str, bool]:
        letter = self.play[1][self.time][0]
        return {name: name in letter for name in ("hit", "ask", "answer")}

    def _info(self) -> dict[str, Any]:
        engaged = any(entry[2] for entry in self.play[1][: self.time + 1])
        return {"engaged": engaged, "success": self.play[0] == "good"}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count += 1
        self.play = self.plays[self.count % len(self.plays)]
        self.time = 0
        return np.zeros(1, np.float32), self._info()

    def step(self, action):
        self.time += 1
        last = self.time == len(self.play[1]) - 1
        cut = self.play[0] == "cut"
        reward = self.play[1][self.time][1]
        return np.zeros(1, np.float32), reward, last and not cut, last and cut, self._info()


HIT = Specification(
    "no_hit", "G !hit", trigger="hit", recovery="F !hit", limit=Limit("episode", 0.5)
)
ANSWER = Specification(
    "answered", "G(ask -> F answer)", limit=Limit("per_trigger", 0.25), category="talk"
)
SPECS = SpecSet([HIT, ANSWER])

FIRST = [
    # the scene is violated before anything is touched, then it recovers: seen, not charged
    ("good", [({"hit"}, 0.0, False), (set(), 1.0, False), (set(), 1.0, True)]),
    # asked and never answered: the end decides
    ("bad", [(set(), 0.0, False), ({"ask"}, 0.5, True), (set(), 0.5, True), (set(), 0.5, True)]),
]
SECOND = [
    # asked at the cut: pending
    ("cut", [(set(), 0.0, False), (set(), 2.0, False), ({"ask"}, 2.0, False)]),
    # violated at the very step of the first contact, and exposed for two steps
    (
        "good",
        [
            ({"ask"}, 0.0, False),
            ({"answer"}, 0.0, False),
            ({"hit"}, 3.0, True),
            ({"hit"}, 0.0, True),
            (set(), 0.0, True),
        ],
    ),
]


def product(mode: AutoresetMode) -> VectorProductMDP:
    makers = [lambda: GroundingInfo(Script(FIRST)), lambda: GroundingInfo(Script(SECOND))]
    return VectorProductMDP(SyncVectorEnv(makers, autoreset_mode=mode), SPECS)


def records_of(mode: AutoresetMode, keep: int = 0):
    envs = product(mode)
    return roll_out(envs, RandomPolicy(envs, 0), 4, keep_letters=keep)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_records_by_hand(mode):
    records = records_of(mode).records
    by_return = {round(float(value), 3): i for i, value in enumerate(records.returns)}
    scene, unanswered = by_return[2.0], by_return[1.5]
    cut, touched = by_return[4.0], by_return[3.0]

    np.testing.assert_array_equal(records.lengths[[scene, unanswered, cut, touched]], [2, 3, 2, 4])
    np.testing.assert_array_equal(records.terminated[[scene, cut]], [True, False])
    np.testing.assert_array_equal(records.success[[scene, unanswered, cut, touched]], [1, 0, 0, 1])
    np.testing.assert_array_equal(records.engaged[[scene, unanswered, cut, touched]], [1, 1, 0, 1])
    np.testing.assert_array_equal(records.charged[[scene, unanswered, cut, touched]], [0, 1, 0, 1])
    # columns: no_hit, answered
    np.testing.assert_array_equal(records.triggered[scene], [1, 0])
    np.testing.assert_array_equal(records.violations[scene], [1, 0])
    np.testing.assert_array_equal(records.first_violation[scene], [0, -1])
    np.testing.assert_array_equal(records.violations[unanswered], [0, 1])
    np.testing.assert_array_equal(records.first_violation[unanswered], [-1, 3])
    np.testing.assert_array_equal(records.triggered[cut], [0, 0])
    np.testing.assert_array_equal(records.pending[cut], [0, 1])
    np.testing.assert_array_equal(records.exposure[touched], [2, 0])
    np.testing.assert_array_equal(records.first_violation[touched], [2, -1])
    # the constraints' signals: violations, and V - d N with the pending trigger given back
    np.testing.assert_allclose(records.costs[unanswered], [0.0, 0.75])
    np.testing.assert_allclose(records.costs[cut], [0.0, 0.0])
    np.testing.assert_allclose(records.costs[touched], [1.0, -0.25])


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_replay_of_the_letters_gives_the_recorded_counts(mode):
    rollouts = records_of(mode, keep=4)
    records = rollouts.records
    assert {recording.episode for recording in rollouts.recordings} == {0, 1, 2, 3}
    assert records.violations[rollouts.recordings[0].episode].sum() > 0  # violated ones first
    for recording in rollouts.recordings:
        names = SPECS.propositions
        letters = [dict(zip(names, map(bool, row), strict=True)) for row in recording.letters]
        assert len(letters) == records.lengths[recording.episode] + 1
        timeline = replay(SPECS, letters, truncated=recording.truncated)
        for column, kind in (("violations", "violated"), ("exposure", "exposed")):
            np.testing.assert_array_equal(
                timeline.events[kind].sum(axis=0), getattr(records, column)[recording.episode]
            )
        np.testing.assert_array_equal(timeline.pending, records.pending[recording.episode])


def test_scores_charge_from_first_contact_on():
    scores = score(records_of(AutoresetMode.DISABLED).records, product(MODES[0]).constraints)
    assert scores.outcomes["svr"].value == 2 / 4
    assert scores.outcomes["any_violation"].value == 3 / 4
    assert scores.outcomes["vacuous_safe"].value == 1 / 4
    assert scores.outcomes["ssr"].value == 1 / 4


def test_every_environment_runs_its_share():
    """The first episodes to end would favour the short ones."""
    short = [("good", [(set(), 0.0, False), (set(), 1.0, False)])]
    long = [("good", [(set(), 0.0, False)] + [(set(), 1.0, False)] * 9)]
    envs = VectorProductMDP(
        SyncVectorEnv(
            [lambda: Script(short), lambda: Script(long)], autoreset_mode=AutoresetMode.DISABLED
        ),
        SPECS,
    )
    records = roll_out(envs, RandomPolicy(envs, 0), 6).records
    assert sorted(records.lengths.tolist()) == [1, 1, 1, 9, 9, 9]


def test_an_environment_that_reports_nothing_is_not_guessed_at():
    class Silent(Script):
        def _info(self):
            return {}

    envs = VectorProductMDP(
        SyncVectorEnv([lambda: Silent(FIRST)], autoreset_mode=AutoresetMode.DISABLED), SPECS
    )
    records = roll_out(envs, RandomPolicy(envs, 0), 2).records
    assert records.success is None
    assert records.engaged is None
    np.testing.assert_array_equal(records.charged, [True, True])  # also the one at the reset


def test_episodes_must_be_at_least_one():
    envs = product(AutoresetMode.DISABLED)
    with pytest.raises(ConfigurationError, match="episodes must be at least 1, got 0"):
        roll_out(envs, RandomPolicy(envs, 0), 0)


def test_the_same_seed_gives_the_same_records():
    import safe_rl.envs  # noqa: F401

    def once():
        envs = VectorProductMDP(
            gym.make_vec(
                "safe_rl/KitchenGrid-v0",
                4,
                vectorization_mode="vector_entry_point",
                autoreset_mode=AutoresetMode.SAME_STEP,
            ),
            "kitchen",
        )
        return roll_out(envs, RandomPolicy(envs, 3), 20, seed=1).records

    first, again = once(), once()
    np.testing.assert_array_equal(first.returns, again.returns)
    np.testing.assert_array_equal(first.triggered, again.triggered)
