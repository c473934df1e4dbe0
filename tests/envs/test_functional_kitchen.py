"""KitchenGrid in jax is the kitchen of the transition model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from safe_rl.envs.kitchen_grid import KitchenGridEnv
from safe_rl.envs.kitchen_grid.functional import KitchenGridFunctional
from safe_rl.envs.tabular.functional import TabularFunctionalEnv, TabularState
from safe_rl.wrappers import ProductMDP
from safe_rl.wrappers.functional import FunctionalProduct

ENV = KitchenGridFunctional()
MODEL = ENV.model
DRAWS = 20_000


def at(place: Any, **fields: Any) -> TabularState:
    nothing = jnp.float32(0.0)
    values = dict(
        place=place, reward=nothing, total=nothing, engaged=jnp.bool_(False), over=jnp.bool_(False)
    )
    return TabularState(**{**values, **fields})


def test_what_a_state_shows_is_what_the_twin_shows() -> None:
    twin = KitchenGridEnv(observation="features")
    places = jnp.arange(MODEL.num_states)
    states = jax.vmap(at)(places)
    shown = jax.vmap(ENV.observation, (0, None))(states, jax.random.key(0))
    assert ENV.observation_space == twin.observation_space
    assert ENV.proposition_names == twin.proposition_names
    assert np.array_equal(shown, twin.observation_table)
    assert np.array_equal(jax.vmap(ENV.letter)(states), MODEL.labels)


def test_outcomes_have_the_models_probabilities_and_rewards() -> None:
    """For every state and action: only possible outcomes, as often as they should."""
    rng = np.random.default_rng(0)
    rows = rng.choice(MODEL.num_states * MODEL.num_actions, 12, replace=False)
    step = jax.jit(jax.vmap(ENV.transition, (None, None, 0)))
    keys = jax.random.split(jax.random.key(1), DRAWS)
    over = 0
    for row in rows:
        place, action = divmod(int(row), MODEL.num_actions)
        after = step(at(jnp.int32(place)), jnp.int32(action), keys)
        chance: dict[tuple[int, float], float] = {}
        for k in range(MODEL.num_outcomes):
            key = (int(MODEL.next_state[place, action, k]), float(MODEL.reward[place, action, k]))
            chance[key] = chance.get(key, 0.0) + float(MODEL.probability[place, action, k])
        found: dict[tuple[int, float], int] = {}
        for pair in zip(after.place.tolist(), after.reward.tolist(), strict=True):
            found[pair] = found.get(pair, 0) + 1
        for pair, p in chance.items():
            spread = np.sqrt(p * (1 - p) / DRAWS)
            assert abs(found.get(pair, 0) / DRAWS - p) <= 5 * spread
        assert all(chance.get(pair, 0.0) > 0.0 for pair in found)
        over += int(after.over.sum())
    ended = over / (len(rows) * DRAWS)
    assert abs(ended - MODEL.termination) < 0.01  # the draws are the same for every row


def test_first_states_are_uniform() -> None:
    first = jax.jit(jax.vmap(ENV.initial))(jax.random.split(jax.random.key(2), DRAWS))
    share = np.bincount(np.asarray(first.place), minlength=MODEL.num_states) / DRAWS
    p = MODEL.initial
    assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / DRAWS)).all()


def test_success_and_engagement() -> None:
    env = TabularFunctionalEnv(MODEL, engaging=np.arange(MODEL.num_states) == 5, goal=2.0)
    assert env.observation_space.shape == (MODEL.num_states,)  # one-hot by default
    assert not env.success(at(jnp.int32(0), total=jnp.float32(1.5)))
    assert env.success(at(jnp.int32(0), total=jnp.float32(2.0)))
    key = jax.random.key(0)
    after = env.transition(at(jnp.int32(5), engaged=jnp.bool_(True)), jnp.int32(0), key)
    assert env.engaged(after)  # engaged once, engaged for the episode


@pytest.mark.slow
def test_episodes_cost_what_they_cost_in_the_twin() -> None:
    """Mean sums per episode under uniform actions: two independent estimates agree."""
    product = FunctionalProduct(ENV, "kitchen")
    lanes, steps = 256, 400

    @jax.jit
    def run(key: Any) -> Any:
        first, rest = jax.random.split(key)
        state, _ = product.reset(first, lanes)

        def one(state: Any, key: Any) -> Any:
            act, own = jax.random.split(key)
            actions = jax.random.randint(act, (lanes,), 0, 6)
            state, t = product.step(state, actions, own)
            return state, (t.constraint_costs, t.reward, t.terminated)

        return jax.lax.scan(one, state, jax.random.split(rest, steps))[1]

    costs, reward, ended = (np.asarray(x) for x in run(jax.random.key(0)))
    mine = np.concatenate([costs, reward[..., None]], axis=-1).reshape(-1, costs.shape[-1] + 1)
    twin = ProductMDP(KitchenGridEnv(observation="features"), "kitchen")
    twin.reset(seed=0)
    twin.action_space.seed(0)
    theirs = []
    for _ in range(8_000):
        _, r, end, _, info = twin.step(twin.action_space.sample())
        theirs.append([*info["constraint_costs"], r])
        if end:
            twin.reset()
    here, there = mine.mean(axis=0), np.mean(theirs, axis=0)
    spread = np.std(theirs, axis=0) / np.sqrt(len(theirs))
    assert (np.abs(here - there) < 5 * 2 * spread + 1e-3).all(), (here, there, spread)
    assert abs(ended.mean() - MODEL.termination) < 0.003
