"""Simulator states of recorded episodes: those that the letters are of, in every autoreset mode."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from safe_rl.data import SUFFIX, load_episodes, save_episodes
from safe_rl.evaluation.rollouts import RandomPolicy, roll_out
from safe_rl.specs import Specification, SpecSet
from safe_rl.wrappers import GroundingInfo, VectorProductMDP

SPECS = SpecSet([Specification("never_odd", "G !odd", trigger="odd", recovery="F !odd")])


class Counter(gym.Env):
    """Its state is the number of resets and steps so far; an episode takes three or four steps."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)
    clock = 0

    def propositions(self):
        return {"odd": self.clock % 2 == 1}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock += 10
        self.begun = self.clock
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.clock += 1
        return np.zeros(1, np.float32), 0.0, self.clock - self.begun > 2 + self.begun % 2, False, {}


class Simulated(Counter):
    """Tells its state, and its task."""

    instruction = "count"
    objects = {"graspable": ["bead"]}

    def recorded_state(self):
        return np.array([self.clock, 0.5])

    def placements(self):
        return {"door": (float(self.begun), 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}


def recorded(mode, kind=Simulated):
    made = SyncVectorEnv([lambda: GroundingInfo(kind())] * 2, autoreset_mode=mode)
    envs = VectorProductMDP(made, SPECS)
    found = []
    roll_out(envs, RandomPolicy(envs, 0), 5, on_recorded=found.append)
    return found


@pytest.mark.parametrize("mode", [AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP])
def test_each_letter_has_the_state_that_it_is_of(mode, tmp_path):
    episodes = recorded(mode)
    assert len(episodes) == 5
    for own in episodes:
        assert own.states.shape == (own.steps + 1, 2)
        np.testing.assert_array_equal(own.states[:, 0] % 2 == 1, own.letters[:, 0])
        assert own.placements["door"][0] == own.states[0, 0]
        assert (own.instruction, own.objects) == ("count", {"graspable": ("bead",)})
        np.testing.assert_array_equal(np.diff(own.states[:, 0]), 1.0)
    read = load_episodes(save_episodes(tmp_path / f"x{SUFFIX}", episodes))
    np.testing.assert_array_equal(read[4].states, episodes[4].states)
    assert read[4].placements == episodes[4].placements


def test_states_that_nobody_can_read_are_not_recorded():
    # the environment has already been reset when its last state could be read
    assert all(own.states is None for own in recorded(AutoresetMode.SAME_STEP))
    plain = recorded(AutoresetMode.DISABLED, Counter)
    assert all(own.states is None and own.placements == {} for own in plain)


class Seen(Counter):
    """Shows its clock, as a number and as a picture."""

    observation_space = spaces.Dict(
        {
            "state": spaces.Box(0.0, 1000.0, (1,), np.float32),
            "front": spaces.Box(0, 255, (2, 3, 3), np.uint8),
        }
    )

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        return self.shown(), info

    def step(self, action):
        _, *told = super().step(action)
        return self.shown(), *told

    def shown(self):
        picture = np.full((2, 3, 3), self.clock % 256, np.uint8)
        return {"state": np.array([self.clock], np.float32), "front": picture}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("monitored", [False, True])
def test_what_the_policy_saw_is_of_the_same_frame_as_the_letter(mode, monitored):
    made = SyncVectorEnv([lambda: GroundingInfo(Seen())] * 2, autoreset_mode=mode)
    envs = VectorProductMDP(made, SPECS, features="one_hot" if monitored else None)
    found = []
    roll_out(envs, RandomPolicy(envs, 0), 5, on_recorded=found.append)
    assert len(found) == 5
    for own in found:
        seen = own.observations
        assert {"state", "images.front"} <= seen.keys()
        clock = seen["state"][:, 0].astype(int)
        assert (np.diff(clock) == 1).all() and len(clock) in (4, 5)
        np.testing.assert_array_equal(clock % 2 == 1, own.letters[:, 0])
        np.testing.assert_array_equal(seen["images.front"][:, 0, 0, 0], clock % 256)


def test_an_observation_that_no_policy_is_given_is_not_recorded():
    made = SyncVectorEnv([lambda: GroundingInfo(Numbered())] * 2)
    envs = VectorProductMDP(made, SPECS, features=None)
    found = []
    roll_out(envs, RandomPolicy(envs, 0), 2, on_recorded=found.append)
    assert [own.observations for own in found] == [{}, {}]


class Numbered(Counter):
    observation_space = spaces.Discrete(100)

    def reset(self, *, seed=None, options=None):
        return 0, super().reset(seed=seed)[1]

    def step(self, action):
        return 1, *super().step(action)[1:]
