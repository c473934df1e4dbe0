"""Learning from a rollout: epochs of minibatches, under two nested ``lax.scan``."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.networks import Networks, Parameters
from safe_rl.algos.jax.shards import Axis, tree_mean
from safe_rl.algos.jax.state import Controls

__all__ = ["Batch", "Losses", "adam", "learn", "shuffled"]


class Batch(NamedTuple):
    """Steps to learn from; any leading axes.

    Attributes:
        observations: as the networks saw them, ``[..., D]``.
        actions: ``[...]`` or ``[..., A]``.
        log_probs: of the actions when they were drawn, ``[...]``.
        advantages: of the Lagrangian, ``[...]``.
        returns: targets of the critics, reward first, ``[..., 1 + K]``.
    """

    observations: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    advantages: jax.Array
    returns: jax.Array


class Losses(NamedTuple):
    """Means over the updates of an iteration, as they are logged under ``train/``."""

    policy_gradient_loss: jax.Array
    value_loss: jax.Array
    cost_value_loss: jax.Array
    entropy_loss: jax.Array
    approx_kl: jax.Array
    clip_fraction: jax.Array


def adam() -> optax.GradientTransformation:
    """Return Adam with SB3's epsilon, before its step size, which changes from call to call."""
    return optax.scale_by_adam(eps=1e-5)


def shuffled(key: jax.Array, steps: int, num_envs: int) -> jax.Array:
    """Return a permutation of ``steps * num_envs`` indices into ``[T, N]`` arrays, flattened.

    Every environment's steps are rotated by an offset of its own, then steps and environments are
    permuted. So each minibatch holds different times of different environments, even where all
    episodes run in step. Sorting all ``T N`` indices at random would cost a tenth of an iteration
    on a CPU; this sorts ``T + N``.
    """
    bits = jax.random.bits(key, (steps + 2 * num_envs,))
    times = jnp.argsort(bits[:steps])
    envs = jnp.argsort(bits[steps : steps + num_envs])
    offsets = (bits[steps + num_envs :] % steps).astype(times.dtype)
    rows = (times[:, None] + offsets[None, :]) % steps
    return (rows * num_envs + envs[None, :]).reshape(-1)


def _loss(
    params: Parameters,
    batch: Batch,
    networks: Networks,
    arguments: Arguments,
    controls: Controls,
    scale: jax.Array,
) -> tuple[jax.Array, Losses]:
    """Return PPO's loss and its parts; everything is a mean over the batch."""
    distribution = networks.policy(params["actor"], batch.observations)
    values = networks.values(params, batch.observations)
    log_ratio = distribution.log_prob(batch.actions) - batch.log_probs
    ratio = jnp.exp(log_ratio)
    low, high = 1.0 - controls.clip_range, 1.0 + controls.clip_range
    clipped = jnp.clip(ratio, low, high)
    policy_loss = -jnp.mean(jnp.minimum(batch.advantages * ratio, batch.advantages * clipped))
    errors = jnp.mean((values - batch.returns) ** 2, axis=0)
    value_loss = errors[0]
    # Summed over the heads: the number of constraints must not weaken each.
    cost_loss = jnp.sum(errors[1:])
    entropy_loss = -jnp.mean(distribution.entropy())
    loss = (
        policy_loss
        + controls.ent_coef / scale * entropy_loss
        + arguments.vf_coef * value_loss
        + arguments.for_costs("vf_coef") * cost_loss
    )
    approx_kl = jnp.mean((ratio - 1.0) - log_ratio)
    outside = jnp.mean((jnp.abs(ratio - 1.0) > controls.clip_range).astype(jnp.float32))
    return loss, Losses(policy_loss, value_loss, cost_loss, entropy_loss, approx_kl, outside)


def clip_groups(gradients: Parameters, max_norm: float) -> Parameters:
    """Scale down each group's gradient whose norm passes ``max_norm``.

    The critics regress episode sums in their own units, and one clip over all would let a large
    cost error shrink the step of the policy.
    """
    clipped = {}
    for name, group in gradients.items():
        factor = jnp.minimum(1.0, max_norm / (optax.tree.norm(group) + 1e-6))
        clipped[name] = jax.tree.map(lambda g, f=factor: g * f, group)
    return clipped


def learn(
    networks: Networks,
    arguments: Arguments,
    params: Parameters,
    optimizer: Any,
    batch: Batch,
    controls: Controls,
    scale: jax.Array,
    keys: jax.Array,
    axis: Axis = None,
) -> tuple[Parameters, Any, Losses]:
    """Update the networks on a shard's rollout ``[T, N, ...]``; gradients are means over shards.

    Args:
        networks: the functions.
        arguments: of the run.
        params: the present parameters.
        optimizer: the state of :func:`adam`.
        batch: the shard's steps.
        controls: of this iteration; the multipliers are in the advantages already.
        scale: what the advantages were divided by.
        keys: of this shard's shuffles, one per epoch.
        axis: over which shards are mapped.

    Returns:
        The new parameters, the optimiser's state, and this shard's mean losses.
    """
    steps, num_envs = batch.log_probs.shape
    flat = jax.tree.map(lambda x: x.reshape(steps * num_envs, *x.shape[2:]), batch)
    transformation = adam()
    gradient = jax.grad(_loss, has_aux=True)

    def minibatch(carry: Any, indices: jax.Array) -> tuple[Any, Losses]:
        params, optimizer = carry
        part = jax.tree.map(lambda x: x[indices], flat)
        gradients, losses = gradient(params, part, networks, arguments, controls, scale)
        gradients = clip_groups(tree_mean(gradients, axis), arguments.max_grad_norm)
        updates, optimizer = transformation.update(gradients, optimizer)
        params = jax.tree.map(lambda p, u: p - controls.learning_rate * u, params, updates)
        return (params, optimizer), losses

    def epoch(carry: Any, epoch_key: jax.Array) -> tuple[Any, Losses]:
        indices = shuffled(epoch_key, steps, num_envs)
        return jax.lax.scan(minibatch, carry, indices.reshape(arguments.num_minibatches, -1))

    (params, optimizer), losses = jax.lax.scan(epoch, (params, optimizer), keys)
    return params, optimizer, jax.tree.map(jnp.mean, losses)
