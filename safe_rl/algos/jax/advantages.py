"""Advantages for the reward and for every cost at once, and their combination, on the device.

The definitions are those of :mod:`safe_rl.algos.torch.advantages`, which also says why the signals
are combined in their own units and only their sum is normalised.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from safe_rl.algos.jax.shards import Axis, mean

__all__ = ["generalised_advantages", "lagrangian_advantages"]


def generalised_advantages(
    signals: jax.Array,
    values: jax.Array,
    last_values: jax.Array,
    dones: jax.Array,
    bootstraps: jax.Array,
    discounts: jax.Array,
    lambdas: jax.Array,
) -> jax.Array:
    """Return GAE(lambda) of ``C`` signals, termination and truncation apart.

    Args:
        signals: reward and costs of each step, ``[T, N, C]``.
        values: of the state in which the step was taken, ``[T, N, C]``.
        last_values: of the state after the last step, ``[N, C]``.
        dones: whether the step ended its episode, ``[T, N]``.
        bootstraps: value of the final state of an episode that was *truncated* at this step, else
            0, ``[T, N, C]``. An episode that terminated has no future to add.
        discounts: discount factor of each signal, ``[C]``.
        lambdas: GAE factor of each signal, ``[C]``.

    Returns:
        The advantages, ``[T, N, C]``; adding ``values`` gives the TD(lambda) returns.
    """
    continues = (1.0 - dones.astype(jnp.float32))[..., None]
    following = jnp.concatenate([values[1:], last_values[None]])
    # The next state belongs to another episode where one ended: nothing flows over that edge.
    deltas = signals + discounts * (following * continues + bootstraps) - values

    def back(running: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        delta, going = step
        running = delta + discounts * lambdas * going * running
        return running, running

    _, advantages = jax.lax.scan(
        back, jnp.zeros_like(last_values), (deltas, continues), reverse=True
    )
    return advantages


def lagrangian_advantages(
    advantages: jax.Array, multipliers: jax.Array, normalise: bool, axis: Axis = None
) -> tuple[jax.Array, jax.Array]:
    """Return ``A_r - sum_i lambda_i A_i`` on one scale, and that scale.

    Args:
        advantages: ``[T, N, 1 + K]``, of the reward and of each cost.
        multipliers: ``[K]``.
        normalise: centre and divide by the standard deviation over the whole rollout.
        axis: over which the rollout's environments are spread.

    Returns:
        The combined advantages ``[T, N]``, and the number that they were divided by: an entropy
        bonus in units of reward has to be divided by it too.
    """
    combined = advantages[..., 0] - advantages[..., 1:] @ multipliers
    if not normalise:
        return combined, jnp.ones(())
    centred = combined - mean(combined, axis)
    scale = jnp.sqrt(mean(centred**2, axis)) + 1e-8
    return centred / scale, scale
