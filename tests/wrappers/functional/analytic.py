"""Small functional environments whose every state is known, and random play in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from safe_rl.specs import Limit, Specification, SpecSet
from safe_rl.wrappers.functional import FunctionalEnv
from tests.wrappers.scripted import pool

NAMES = ("a", "b", "c", "p(x)", "p(y)")
OBJECTS = {"thing": ("x", "y")}
ENDS = 1 << len(NAMES)
"""Actions from here on also terminate the episode."""


def told_specs() -> SpecSet:
    """Every rule of the monitors and every kind of limit, also with several instances."""
    each = Specification(
        "each",
        "G !p(o)",
        trigger="a",
        recovery="F !p(o)",
        forall={"o": "thing"},
        limit=Limit("per_trigger", 0.2, cap=3),
    )
    any_of = Specification(
        "any", "G(p(o) -> F a)", forall={"o": "thing"}, limit=Limit("probability", 0.1)
    )
    return SpecSet([*pool(), each, any_of]).bind(OBJECTS)


class ToldState(NamedTuple):
    letter: Any
    step: Any
    over: Any


class ToldEnv(FunctionalEnv):
    """The action says which letter comes next and whether the episode terminates there.

    First letters are drawn. The observation is (the letter as a number, the step).
    """

    def __init__(self, max_episode_steps: int | None = 5) -> None:
        super().__init__()
        self.observation_space = spaces.Box(0.0, 1e6, (2,), np.float32)
        self.action_space = spaces.Discrete(2 * ENDS)
        self.proposition_names = NAMES
        self.objects = OBJECTS
        self.max_episode_steps = max_episode_steps

    def initial(self, rng: Any, params: Any = None) -> ToldState:
        letter = jax.random.randint(rng, (), 0, ENDS)
        return ToldState(letter, jnp.int32(0), jnp.bool_(False))

    def transition(self, state: Any, action: Any, rng: Any, params: Any = None) -> ToldState:
        action = jnp.asarray(action, jnp.int32)
        return ToldState(action % ENDS, state.step + 1, action >= ENDS)

    def observation(self, state: Any, rng: Any, params: Any = None) -> Any:
        return jnp.stack([state.letter, state.step]).astype(jnp.float32)

    def reward(self, state: Any, action: Any, next_state: Any, rng: Any, params: Any = None) -> Any:
        return next_state.letter.astype(jnp.float32)

    def terminal(self, state: Any, rng: Any, params: Any = None) -> Any:
        return state.over

    def letter(self, state: Any) -> Any:
        return (state.letter >> jnp.arange(len(NAMES))) & 1 == 1

    def success(self, state: Any) -> Any:
        return state.letter == 0

    def engaged(self, state: Any) -> Any:
        return state.step > 1


def letter_of(number: int) -> frozenset[str]:
    return frozenset(name for i, name in enumerate(NAMES) if number >> i & 1)


class Slope(FunctionalEnv):
    """A point that the action pushes along a line; smooth, so that it has gradients."""

    def __init__(self, max_episode_steps: int | None = None) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (), np.float32)
        self.proposition_names = ("far",)
        self.max_episode_steps = max_episode_steps

    def initial(self, rng: Any, params: Any = None) -> Any:
        return {"x": jax.random.uniform(rng), "count": jnp.int32(0), "key": rng}

    def transition(self, state: Any, action: Any, rng: Any, params: Any = None) -> Any:
        return {**state, "x": jnp.tanh(state["x"] + action), "count": state["count"] + 1}

    def observation(self, state: Any, rng: Any, params: Any = None) -> Any:
        return state["x"][None]

    def reward(self, state: Any, action: Any, next_state: Any, rng: Any, params: Any = None) -> Any:
        return -jnp.square(next_state["x"])

    def terminal(self, state: Any, rng: Any, params: Any = None) -> Any:
        return jnp.bool_(False)

    def letter(self, state: Any) -> Any:
        return (state["x"] > 0.5)[None]
