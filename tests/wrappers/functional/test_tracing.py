"""What cannot be jitted is one clear error that names the torch path."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from gymnasium import spaces
from gymnasium.experimental.functional import FuncEnv

from safe_rl.errors import ConfigurationError
from safe_rl.specs import Specification
from safe_rl.wrappers.functional import FunctionalGymEnv, FunctionalProduct, FunctionalVectorEnv
from tests.wrappers.functional.analytic import Slope

SPECS = [Specification("near", "G !far", trigger="true")]
TORCH = r"algo=ppo_lagrangian, with ProductMDP .* or VectorProductMDP"


def test_a_gymnasium_environment() -> None:
    with pytest.raises(
        ConfigurationError, match=f"CartPoleEnv is a Gymnasium environment.*{TORCH}"
    ):
        FunctionalProduct(gym.make("CartPole-v1"), SPECS)  # type: ignore[arg-type]
    vector = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(ConfigurationError, match=f"steps in Python and cannot be jitted.*{TORCH}"):
        FunctionalProduct(vector, SPECS)  # type: ignore[arg-type]


def test_other_things_that_are_no_functional_environment() -> None:
    with pytest.raises(ConfigurationError, match="a FuncEnv without labels"):
        FunctionalProduct(FuncEnv(), SPECS)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=f"the environment is a str.*{TORCH}"):
        FunctionalProduct("kitchen", SPECS)  # type: ignore[arg-type]


class Branches(Slope):
    def transition(self, state: Any, action: Any, rng: Any, params: Any = None) -> Any:
        return state if state["x"] > 0.5 else super().transition(state, action, rng)


class LeavesJax(Slope):
    def letter(self, state: Any) -> Any:
        return np.array([float(state["x"]) > 0.5])


class Unfinished(Slope):
    def reward(self, *_: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kind", "function"),
    [(Branches, "transition"), (LeavesJax, "letter"), (Unfinished, "reward")],
)
@pytest.mark.parametrize("maker", [lambda e: FunctionalProduct(e, SPECS), FunctionalGymEnv])
def test_a_function_that_jax_cannot_trace(kind: Any, function: str, maker: Any) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"{kind.__name__}\.{function} cannot be traced by jax.*{TORCH}"
    ) as caught:
        maker(kind())
    assert caught.value.__cause__ is not None


class Grows(Slope):
    def transition(self, state: Any, action: Any, rng: Any, params: Any = None) -> Any:
        return {**state, "x": jnp.stack([state["x"], action])}


class Half(Slope):
    def letter(self, state: Any) -> Any:
        return jnp.stack([state["x"]])


class Flat(Slope):
    def observation(self, state: Any, rng: Any, params: Any = None) -> Any:
        return state["x"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Grows, r"Grows\.transition must return a state of the structure"),
        (Half, r"Half\.letter must return bool of shape \(1,\)"),
        (Flat, r"Flat\.observation must return float32 of shape \(1,\)"),
    ],
)
def test_results_of_the_wrong_form(kind: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FunctionalVectorEnv(kind(), 2)


def test_an_observation_space_that_is_no_vector() -> None:
    env = Slope()
    env.observation_space = spaces.Discrete(3)
    with pytest.raises(ConfigurationError, match=r"Box of shape \[D\]"):
        FunctionalProduct(env, SPECS)
