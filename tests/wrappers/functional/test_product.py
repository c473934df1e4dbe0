"""FunctionalProduct against VectorProductMDP on the same letters, and its own laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from gymnasium.vector import AutoresetMode

from safe_rl.errors import ConfigurationError, GroundingError, SpecificationError
from safe_rl.specs import Limit, Specification
from safe_rl.wrappers import VectorProductMDP
from safe_rl.wrappers.functional import FunctionalProduct
from tests.wrappers.functional.analytic import (
    ENDS,
    NAMES,
    OBJECTS,
    Slope,
    ToldEnv,
    letter_of,
    told_specs,
)
from tests.wrappers.scripted import Script, ScriptedVectorEnv

FIELDS = ("N", "V", "U", "pending", "verdict")


def random_actions(steps: int, lanes: int, seed: int = 0) -> Any:
    """Random letters; one action in six terminates."""
    rng = np.random.default_rng(seed)
    ends = ENDS * (rng.random((steps, lanes)) < 1 / 6)
    return (rng.integers(0, ENDS, (steps, lanes)) + ends).astype(np.int32)


def play(product: FunctionalProduct, actions: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Return the first observations, the states after each step, the transitions, the first state.

    Everything is stacked over the steps.
    """

    def one(state: Any, given: Any) -> Any:
        action, own = given
        state, transition = product.step(state, action, own)
        return state, (state, transition)

    @jax.jit
    def run(key: Any, actions: Any) -> Any:
        first, rest = jax.random.split(key)
        state, observation = product.reset(first, actions.shape[1])
        keys = jax.random.split(rest, len(actions))
        _, (states, transitions) = jax.lax.scan(one, state, (actions, keys))
        return observation, states, transitions, state

    return jax.tree.map(plain, run(key, jnp.asarray(actions)))


def plain(leaf: Any) -> Any:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def scripts_of(actions: Any, states: Any, start: Any, transitions: Any) -> list[list[Script]]:
    """The episodes of each lane, as the scripted environment plays them again."""
    found = []
    for lane in range(actions.shape[1]):
        letters = [int(start.env.letter[lane])]
        own = []
        for t, action in enumerate(actions[:, lane]):
            letters.append(int(action) % ENDS)
            if transitions.terminated[t, lane] or transitions.truncated[t, lane]:
                end = "terminated" if transitions.terminated[t, lane] else "truncated"
                own.append(Script(tuple(map(letter_of, letters)), end))
                letters = [int(states.env.letter[t, lane])]
        # The last episode goes on for a step more, so that it does not end within the test.
        own.append(Script((*map(letter_of, letters), frozenset()), "terminated"))
        found.append(own)
    return found


@pytest.mark.parametrize(
    ("features", "cost", "limit"),
    [
        ("one_hot", "violation", 5),
        ("index", "per_trigger", None),
    ],
)
def test_the_same_letters_give_what_the_vector_product_gives(
    features: Any, cost: Any, limit: Any
) -> None:
    steps, lanes = 60, 7
    product = FunctionalProduct(ToldEnv(limit), told_specs(), features=features, cost=cost)
    actions = random_actions(steps, lanes)
    first, states, transitions, start = play(product, actions, jax.random.key(3))
    check_own_part(actions, states, transitions)
    twin = VectorProductMDP(
        ScriptedVectorEnv(
            scripts_of(actions, states, start, transitions), AutoresetMode.SAME_STEP, NAMES
        ),
        told_specs(),
        features=features,
        cost=cost,
    )
    assert product.constraints == twin.constraints
    assert product.feature_names == twin.feature_names
    observation, infos = twin.reset()
    assert np.array_equal(first[:, 2:], observation[:, 2:])
    assert first.dtype == np.float32
    ended_lanes = 0
    for t in range(steps):
        observation, _, terminated, truncated, infos = twin.step(np.zeros(lanes, int))
        assert np.array_equal(transitions.terminated[t], terminated)
        assert np.array_equal(transitions.truncated[t], truncated)
        assert np.array_equal(transitions.observation[t][:, 2:], observation[:, 2:])
        assert np.allclose(transitions.costs[t], infos["costs"], atol=1e-6)
        assert np.allclose(transitions.cost[t], infos["cost"], atol=1e-5)
        assert np.allclose(transitions.constraint_costs[t], infos["constraint_costs"], atol=1e-6)
        assert np.array_equal(transitions.events.codes[t], infos["safety"]["events"].codes)
        ended = terminated | truncated
        ended_lanes += ended.sum()
        last = observation.copy()
        if ended.any():
            last[ended] = np.stack(infos["final_obs"][ended])
        assert np.array_equal(transitions.final_observation[t][:, 2:], last[:, 2:])
        for name in FIELDS:
            own = getattr(transitions.counts, name)[t]
            counts = infos["safety"].get("counts")
            assert np.array_equal(own, np.zeros_like(own) if counts is None else counts[name])
    assert ended_lanes > 30
    if limit is not None:
        assert transitions.counts.pending.any() and transitions.truncated.any()


def check_own_part(actions: Any, states: Any, transitions: Any) -> None:
    """Rewards, facts and observations are those of the state reached; after it, of the new one."""
    reached = actions % ENDS
    done = transitions.terminated | transitions.truncated
    assert np.array_equal(transitions.reward, reached)
    assert np.array_equal(transitions.success, reached == 0)
    assert np.array_equal(transitions.final_observation[..., 0], reached)
    assert np.array_equal(transitions.engaged, transitions.final_observation[..., 1] > 1)
    assert np.array_equal(transitions.observation[..., 0], states.env.letter)
    assert np.array_equal(states.env.step == 0, done)
    assert np.array_equal(states.steps, states.env.step)
    assert np.array_equal(transitions.observation[~done], transitions.final_observation[~done])
    assert not (transitions.terminated & transitions.truncated).any()


def test_every_reset_draws_a_first_state_of_its_own() -> None:
    """Lanes that go on are left alone, and first states are fresh and of the right distribution."""
    lanes, steps = 50, 120
    product = FunctionalProduct(Slope(3), [far()], reset_batch=3)
    _, states, transitions, start = play(
        product, np.zeros((steps, lanes), np.float32), jax.random.key(1)
    )
    done = transitions.truncated
    assert np.array_equal(done, np.tile((np.arange(steps) % 3 == 2)[:, None], (1, lanes)))
    drawn = np.concatenate([start.env["key"], states.env["key"][done]])
    assert len(np.unique(drawn, axis=0)) == len(drawn) == lanes * (1 + steps // 3)
    first = np.concatenate([start.env["x"], states.env["x"][done]])
    # Kolmogorov and Smirnov's distance to the uniform distribution, at a level of one in a million.
    ordered = np.sort(first)
    distance = np.abs(ordered - (np.arange(len(first)) + 0.5) / len(first)).max()
    assert distance < 2.7 / np.sqrt(len(first))
    before = np.concatenate([start.env["x"][None], states.env["x"][:-1]])
    assert np.allclose(states.env["x"][~done], np.tanh(before)[~done], atol=1e-6)


def far(**arguments: Any) -> Specification:
    return Specification("near", "G !far", trigger="true", recovery="F !far", **arguments)


def test_the_initial_gate_rejects_first_states() -> None:
    product = FunctionalProduct(Slope(2), [far(initial=True)], reset_batch=4)
    actions = np.zeros((40, 30), np.float32)
    _, states, transitions, start = play(product, actions, jax.random.key(0))
    first = np.concatenate([start.env["x"], states.env["x"][transitions.truncated]])
    assert (first <= 0.5).all()
    drawn = np.concatenate([start.env["key"], states.env["key"][transitions.truncated]])
    assert len(np.unique(drawn, axis=0)) == len(drawn) > 500
    assert abs(first.mean() - 0.25) < 0.03  # uniform on what the gate leaves
    never = Specification("never", "G (far & !far)", trigger="true", initial=True)
    with pytest.raises(ConfigurationError, match=r"30 first states in a row violated 'never'"):
        FunctionalProduct(Slope(), [never], gate_attempts=30)


def test_gradients_pass_through_the_environment_and_not_through_monitors() -> None:
    product = FunctionalProduct(Slope(3), [far()], features="one_hot")
    state, _ = product.reset(jax.random.key(0), 4)

    def rollout(push: Any) -> Any:
        def one(carry: Any, key: Any) -> Any:
            carry, transition = product.step(carry, push * jnp.ones(4), key)
            return carry, transition

        found = jax.lax.scan(one, state, jax.random.split(jax.random.key(1), 5))[1]
        sums = [found.reward.sum(), found.cost.sum(), found.observation[..., 1:].sum()]
        return jnp.stack([*sums, found.costs.sum()]), found.observation[2, :, 0]

    at = jnp.float32(0.1)
    (values, again), slopes = jax.jit(
        lambda push: (rollout(push), jax.jacrev(lambda p: rollout(p)[0])(push))
    )(at)

    def by_hand(push: Any) -> Any:
        """The same five steps; the episode is cut after the third."""
        found, x = jnp.float32(0.0), state.env["x"]
        for t in range(5):
            x = jnp.tanh(x + push)
            found -= jnp.square(x).sum()
            x = jax.lax.stop_gradient(again) if t == 2 else x
        return found

    expected, expected_slope = jax.value_and_grad(by_hand)(at)
    assert np.isclose(values[0], expected, rtol=1e-5)
    assert np.isclose(slopes[0], expected_slope, rtol=1e-5) and slopes[0] != 0.0
    assert values[1] > 0.0 and not np.asarray(slopes[1:]).any()
    forward = jax.jit(lambda push: jax.jvp(lambda p: rollout(p)[0], (push,), (push,))[1])(at)
    assert np.allclose(forward, slopes * at, rtol=1e-5)


@pytest.mark.slow
def test_many_seeds_at_once() -> None:
    """Mapping over seeds gives each what it gives alone."""
    specs = [Specification("answered", "G(a -> F b)", limit=Limit("per_trigger", 0.5, cap=2))]
    product = FunctionalProduct(ToldEnv(4), specs)
    actions = random_actions(12, 6)
    keys = jax.random.split(jax.random.key(5), 3)

    def run(key: Any) -> Any:
        first, rest = jax.random.split(key)
        state, _ = product.reset(first, 6)
        step = lambda s, given: product.step(s, *given)  # noqa: E731
        return jax.lax.scan(step, state, (jnp.asarray(actions), jax.random.split(rest, 12)))[1]

    together = jax.jit(jax.vmap(run))(keys)
    run_one = jax.jit(run)
    for i, one in enumerate(run_one(key) for key in keys):
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(one), strict=True):
            assert np.array_equal(np.asarray(a)[i], np.asarray(b))


def test_missing_propositions_and_objects() -> None:
    with pytest.raises(GroundingError, match=r"lacks the propositions 'fer'; did you mean 'far'"):
        FunctionalProduct(Slope(), [Specification("x", "G !fer", trigger="true")])
    each = Specification("each", "G !p(o)", trigger="true", forall={"o": "thing"})
    assert FunctionalProduct(ToldEnv(), [each]).tables.num_instances == len(OBJECTS["thing"])
    with pytest.raises(SpecificationError):
        FunctionalProduct(Slope(), [each])
    with pytest.raises(ConfigurationError, match="reset_batch"):
        FunctionalProduct(Slope(), [far()], reset_batch=0)
