"""The two action distributions that PPO needs, on arrays; the last axis is the action's."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

__all__ = ["Categorical", "DiagonalGaussian", "Distribution"]


class Distribution(Protocol):
    """What a policy gives for a batch ``[...]`` of observations."""

    def sample(self, key: jax.Array) -> jax.Array:
        """Return one action for each."""

    def mode(self) -> jax.Array:
        """Return the most likely action of each."""

    def log_prob(self, actions: jax.Array) -> jax.Array:
        """Return the log-probability (density) of actions, ``[...]``."""

    def entropy(self) -> jax.Array:
        """Return the entropy in nats, ``[...]``."""


class Categorical(NamedTuple):
    """Over the actions ``0 .. A - 1``; ``logits`` is ``[..., A]``, of any constant offset."""

    logits: jax.Array

    def sample(self, key: jax.Array) -> jax.Array:
        """Return one action for each row, int32 ``[...]`` (the Gumbel-max trick)."""
        noise = jax.random.gumbel(key, self.logits.shape, self.logits.dtype)
        return jnp.argmax(self.logits + noise, axis=-1).astype(jnp.int32)

    def mode(self) -> jax.Array:
        """Return the most likely action, int32 ``[...]``."""
        return jnp.argmax(self.logits, axis=-1).astype(jnp.int32)

    def log_prob(self, actions: jax.Array) -> jax.Array:
        """Return the log-probability of actions int32 ``[...]``."""
        normalised = jax.nn.log_softmax(self.logits)
        # A comparison, not a gather: a gather's gradient is a scatter, which is slow on a CPU.
        chosen = jnp.arange(self.logits.shape[-1]) == actions[..., None]
        return jnp.sum(jnp.where(chosen, normalised, 0.0), axis=-1)

    def entropy(self) -> jax.Array:
        """Return the entropy in nats, ``[...]``."""
        normalised = jax.nn.log_softmax(self.logits)
        return -jnp.sum(jnp.exp(normalised) * normalised, axis=-1)


class DiagonalGaussian(NamedTuple):
    """Independent normal components; ``mean`` is ``[..., A]``, ``log_std`` ``[A]``.

    Actions are not squashed: the learner clips what the environment sees to its bounds, and keeps
    the unclipped action for the likelihood, as Stable-Baselines3 does.
    """

    mean: jax.Array
    log_std: jax.Array

    def sample(self, key: jax.Array) -> jax.Array:
        """Return one action for each row, ``[..., A]``."""
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_std) * noise

    def mode(self) -> jax.Array:
        """Return the mean, ``[..., A]``."""
        return self.mean

    def log_prob(self, actions: jax.Array) -> jax.Array:
        """Return the log-density of actions ``[..., A]``."""
        scaled = (actions - self.mean) * jnp.exp(-self.log_std)
        each = -0.5 * scaled**2 - self.log_std - 0.5 * math.log(2.0 * math.pi)
        return jnp.sum(each, axis=-1)

    def entropy(self) -> jax.Array:
        """Return the entropy in nats, ``[...]``: the same in every row."""
        total = jnp.sum(self.log_std + 0.5 * math.log(2.0 * math.pi * math.e))
        return jnp.broadcast_to(total, self.mean.shape[:-1])
