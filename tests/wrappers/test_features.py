"""Monitor features: their layout, their bounds, and that they make the costs Markov."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError
from safe_rl.wrappers import ProductMDP, VectorProductMDP
from safe_rl.wrappers.features import MonitorFeatures, ObservationMerger
from tests.wrappers.scripted import NAMES, Script, ScriptedEnv, ScriptedVectorEnv, pool, script

SPECS = pool()


class Spaced(gym.Wrapper[Any, Any, Any, Any]):
    """Shows a sample of another space, so that every layout can be tried."""

    def __init__(self, env: gym.Env[Any, Any], space: gym.Space[Any]) -> None:
        super().__init__(env)
        self.observation_space = space

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        _, info = self.env.reset(**kwargs)
        return self.observation_space.sample(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        _, *rest = self.env.step(action)
        return self.observation_space.sample(), *rest


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        (spaces.Box(-1, 1, (3,), np.float32), spaces.Box),
        (spaces.Box(-1, 1, (3,), np.float64), spaces.Box),
        (spaces.Box(0, 255, (4, 4, 3), np.uint8), spaces.Dict),
        (spaces.Discrete(7), spaces.Dict),
        (spaces.Dict({"image": spaces.Box(0, 1, (2, 2)), "n": spaces.Discrete(3)}), spaces.Dict),
        (spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (2,))]), spaces.Dict),
    ],
)
@pytest.mark.parametrize("features", ["one_hot", "index"])
def test_observations_lie_in_the_space(space: gym.Space[Any], kind: type, features: Any) -> None:
    env = ProductMDP(Spaced(ScriptedEnv([script("- a b abc c")]), space), SPECS, features=features)
    assert isinstance(env.observation_space, kind)
    observation, _ = env.reset()
    assert observation in env.observation_space
    for _ in range(4):
        assert env.step(0)[0] in env.observation_space
    if isinstance(space, spaces.Box) and isinstance(env.observation_space, spaces.Box):
        assert env.observation_space.dtype == space.dtype
        assert env.observation_space.shape == (3 + len(env.feature_names),)


def test_none_leaves_the_observation_alone() -> None:
    env = ProductMDP(ScriptedEnv([script("- a")]), SPECS, features=None)
    assert env.observation_space == env.env.observation_space
    assert env.reset()[0].tolist() == [0.0, 0.0]
    assert env.feature_names == ()


def test_one_hot_and_index_say_the_same() -> None:
    layout = dict(instance_ids=["x", "y"], num_states=[3, 2], memory_names=["x:violated"])
    one_hot = MonitorFeatures(**layout, kind="one_hot")
    index = MonitorFeatures(**layout, kind="index")
    states, memory = np.array([2, 0]), np.array([1.0])
    assert one_hot.vector(states, memory).tolist() == [0, 0, 1, 1, 0, 1]
    assert index.vector(states, memory).tolist() == [2, 0, 1]
    assert index.high.tolist() == [2, 1, 1]
    assert one_hot.names[:4] == ("x:state=0", "x:state=1", "x:state=2", "y:state=0")
    batch = np.array([[2, 0], [0, 1]])
    assert one_hot.vector(batch, np.array([[1.0], [0.0]])).tolist() == [
        [0, 0, 1, 1, 0, 1],
        [1, 0, 0, 0, 1, 0],
    ]


def test_a_key_that_is_taken() -> None:
    taken = spaces.Dict({"monitor": spaces.Discrete(2)})
    with pytest.raises(ConfigurationError, match="already has a key 'monitor'"):
        ObservationMerger(taken, np.zeros(1), np.ones(1))


def test_unknown_features() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'one_hot'"):
        ProductMDP(ScriptedEnv([script("- a")]), SPECS, features="onehot")  # type: ignore[arg-type]


letters = st.frozensets(st.sampled_from(NAMES))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(letters, min_size=1, max_size=5).map(tuple), min_size=2, max_size=8))
def test_equal_features_and_equal_futures_give_equal_costs(histories: list[Any]) -> None:
    """Markov: what a letter costs depends on the features before it, not on the way to them."""
    future = (frozenset("a"), frozenset("b"), frozenset("ac"), frozenset())
    seen: dict[bytes, list[Any]] = {}
    for history in histories:
        # A termination decides from the automata alone, so it may be part of the future.
        env = ProductMDP(ScriptedEnv([Script((*history, *future), "terminated")]), SPECS)
        observation, info = env.reset()
        for _ in history[1:]:
            observation, *_, info = env.step(0)
        if len(history) == 1:  # what the first letter decided is charged later: one step more
            continue
        key = observation[2:].tobytes()
        paid: list[float] = []
        for _ in future:
            *_, info = env.step(0)
            paid += [*info["costs"], *info["constraint_costs"]]
        assert seen.setdefault(key, paid) == pytest.approx(paid)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_observations_lie_in_the_space_and_equal_the_single_ones(
    mode: AutoresetMode,
) -> None:
    own = [script("- a b"), script("b c -", "truncated")]
    envs = VectorProductMDP(ScriptedVectorEnv([own, own], mode), SPECS)
    single = ProductMDP(ScriptedEnv(own), SPECS)
    observations, _ = envs.reset()
    assert observations in envs.observation_space
    right, _ = single.reset()
    assert observations[1].tolist() == right.tolist()
    for _ in range(2):
        observations, _, terminations, truncations, infos = envs.step(np.zeros(2, int))
        right = single.step(0)[0]
        last = infos["final_obs"] if "final_obs" in infos else observations
        assert last[1].tolist() == right.tolist()
    assert (terminations | truncations).all()
    if mode is AutoresetMode.SAME_STEP:
        assert observations[0].tolist() == single.reset()[0].tolist()
