"""Moments of demonstrations, against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from safe_rl.algos.imitation import Demonstrations
from safe_rl.algos.imitation.pairs import preference_pairs
from safe_rl.errors import ConfigurationError, RecordingError
from tests.algos.imitation.two_ways import SPECS, STEPS, episode, episodes


def two() -> Demonstrations:
    rng = np.random.default_rng(0)
    return Demonstrations.of([episode(False, rng), episode(True, rng)], SPECS, chunk=4)


def test_a_moment_is_what_was_seen_and_the_chunk_that_followed() -> None:
    found = two().windows
    assert len(found) == 2 * STEPS and found.actions.shape == (12, 4, 1)
    assert found.mask[0].tolist() == [True] * 4 and found.mask[5].tolist() == [True] + [False] * 3
    own = two().episodes[1]
    assert np.array_equal(found.observations["state"][6:], own.observations["state"][:-1])
    assert np.array_equal(found.actions[7], np.asarray(own.actions)[1:5])
    assert np.array_equal(found.actions[11], np.repeat(np.asarray(own.actions)[5:], 4, axis=0))


def test_violations_and_triggers_are_those_of_the_letters_ahead() -> None:
    found = two().windows
    # The wall is hit at letter 3, which step 2 (from letter 2) reaches: ahead of steps 0, 1, 2.
    assert found.violations[:, 0].tolist() == [0] * 6 + [1, 1, 1, 0, 0, 0]
    # The first step reaches the letter with the trigger.
    assert found.triggers[:, 0].tolist() == [1, 0, 0, 0, 0, 0] * 2
    near = Demonstrations.of(two().episodes, SPECS, chunk=4, horizon=2).windows
    assert near.violations[6:, 0].tolist() == [0, 1, 1, 0, 0, 0]


def test_what_is_kept() -> None:
    rng = np.random.default_rng(0)
    three = [episode(False, rng), episode(True, rng), episode(False, rng, success=False)]
    found = Demonstrations.of(three, SPECS, chunk=2)
    assert found.kept("all").tolist() == [True, True, True]
    assert found.kept("success").tolist() == [True, True, False]
    assert found.kept("safe").tolist() == [True, False, False]
    with pytest.raises(ConfigurationError, match="did you mean 'safe'"):
        found.kept("save")
    with pytest.raises(ConfigurationError, match="leaves none of 1 demonstrations"):
        Demonstrations.of([three[1]], SPECS, chunk=2).kept("safe")


def test_pairs_put_a_safe_moment_beside_each_that_led_to_a_violation() -> None:
    found = Demonstrations.of(episodes(6), SPECS, chunk=2)
    pairs = preference_pairs(found.windows, found.annotations, found.kept("safe"), chunk=2, lead=2)
    # Violations start at letter 3 of episodes 1, 3, 5: the two steps before are 1 and 2.
    assert pairs.rejected.tolist() == [7, 8, 19, 20, 31, 32]
    assert not (found.windows.episode[pairs.chosen] % 2).any()
    states = found.windows.observations["state"]
    safe = np.flatnonzero(found.windows.episode % 2 == 0)
    for chosen, rejected in zip(*pairs, strict=True):
        apart = ((states[safe] - states[rejected]) / states.std(axis=0)) ** 2
        assert chosen == safe[apart.sum(1).argmin()]


def test_episodes_without_observations_are_refused() -> None:
    from dataclasses import replace

    bare = replace(episodes(1)[0], observations={})
    with pytest.raises(RecordingError, match="no observations 'state'"):
        Demonstrations.of([bare], SPECS, chunk=2)
