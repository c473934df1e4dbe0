"""Collecting: every environment of a shard steps ``n_steps`` times, under ``lax.scan``."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.state import (
    EndedEpisodes,
    LocalState,
    Product,
    RunningEpisodes,
    SharedState,
    Transition,
)
from safe_rl.algos.jax.statistics import Moments, normalise

__all__ = ["Rollout", "collect"]


class Rollout(NamedTuple):
    """``T`` steps of ``N`` environments.

    Attributes:
        observations: as the networks saw them, ``[T, N, D]``.
        actions: as the policy drew them, int32 ``[T, N]`` or float32 ``[T, N, A]``.
        log_probs: ``[T, N]``.
        signals: raw reward and costs, ``[T, N, 1 + K]``.
        dones: whether the step ended its episode, ``[T, N]``.
        bootstraps: values of the final states of truncated episodes, else 0, ``[T, N, 1 + K]``.
        discounted: discounted return of the episode up to the step, ``[T, N]``.
    """

    observations: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    signals: jax.Array
    dones: jax.Array
    bootstraps: jax.Array
    discounted: jax.Array


def collect(
    product: Product,
    networks: Networks,
    arguments: Arguments,
    shared: SharedState,
    local: LocalState,
    keys: jax.Array,
) -> tuple[LocalState, Rollout, EndedEpisodes, Moments]:
    """Act with the present policy; return where the environments are and what happened.

    ``keys`` are ``[T, 2]``: of the actions and of the environments at each step. The last entry of
    the result holds the moments of the observations that the policy acted on.
    """

    def see(observation: jax.Array) -> jax.Array:
        if arguments.normalize_observations:
            return normalise(observation, shared.observations)
        return observation

    def step(carry: Any, step_keys: jax.Array) -> tuple[Any, Rollout]:
        state, observation, episodes, ended, moments = carry
        seen = see(observation)
        distribution = networks.policy(shared.params["actor"], seen)
        actions = distribution.sample(step_keys[0])
        log_probs = distribution.log_prob(actions)
        state, transition = product.step(state, networks.environment_action(actions), step_keys[1])
        costs = transition.constraint_costs[:, : networks.num_costs].astype(jnp.float32)
        signals = jnp.concatenate([transition.reward[:, None], costs], axis=1)
        dones = transition.terminated | transition.truncated
        cut = transition.truncated & ~transition.terminated

        def final_values() -> jax.Array:
            values = networks.values(shared.params, see(transition.final_observation))
            return jnp.where(cut[:, None], values, 0.0)

        # The critics look at final states in those steps alone that truncate an episode.
        bootstraps = jax.lax.cond(jnp.any(cut), final_values, lambda: jnp.zeros_like(signals))
        episodes, ended, discounted = _account(arguments, episodes, ended, transition, costs, dones)
        if arguments.normalize_observations:
            seen_now = shared.observations.measure(observation)
            moments = Moments(*(a + b for a, b in zip(moments, seen_now, strict=True)))
        row = Rollout(seen, actions, log_probs, signals, dones, bootstraps, discounted)
        return (state, transition.observation, episodes, ended, moments), row

    statistics = shared.observations.mean
    moments = Moments(jnp.zeros(()), jnp.zeros_like(statistics), jnp.zeros_like(statistics))
    ended = _nothing_ended(product, networks)
    carry = (local.env, local.observation, local.episodes, ended, moments)
    (env, observation, episodes, ended, moments), rollout = jax.lax.scan(step, carry, keys)
    return LocalState(env, observation, episodes), rollout, ended, moments


def _nothing_ended(product: Product, networks: Networks) -> EndedEpisodes:
    """Return the sums over no episodes."""
    instances = len(product.specs.instance_index)
    whole = jnp.zeros((), jnp.int32)
    return EndedEpisodes(
        episodes=whole,
        reward=jnp.zeros(()),
        length=whole,
        success=whole,
        costs=jnp.zeros(networks.num_costs),
        violations=jnp.zeros(instances, jnp.int32),
        triggers=jnp.zeros(instances, jnp.int32),
    )


def _account(
    arguments: Arguments,
    episodes: RunningEpisodes,
    ended: EndedEpisodes,
    transition: Transition,
    costs: jax.Array,
    dones: jax.Array,
) -> tuple[RunningEpisodes, EndedEpisodes, jax.Array]:
    """Add a step to the running sums; move those of the episodes that it ended."""
    reward = episodes.reward + transition.reward
    length = episodes.length + 1
    sums = episodes.costs + costs
    discounted = episodes.discounted * arguments.gamma + transition.reward
    over, over_costs = dones, dones[:, None]
    ended = EndedEpisodes(
        episodes=ended.episodes + jnp.sum(over, dtype=jnp.int32),
        reward=ended.reward + jnp.sum(jnp.where(over, reward, 0.0)),
        length=ended.length + jnp.sum(jnp.where(over, length, 0), dtype=jnp.int32),
        success=ended.success + jnp.sum(over & transition.success, dtype=jnp.int32),
        costs=ended.costs + jnp.sum(jnp.where(over_costs, sums, 0.0), axis=0),
        violations=ended.violations + jnp.sum(transition.counts.V, axis=0, dtype=jnp.int32),
        triggers=ended.triggers + jnp.sum(transition.counts.N, axis=0, dtype=jnp.int32),
    )
    running = RunningEpisodes(
        reward=jnp.where(over, 0.0, reward),
        length=jnp.where(over, 0, length),
        costs=jnp.where(over_costs, 0.0, sums),
        discounted=jnp.where(over, 0.0, discounted),
    )
    return running, ended, discounted
