"""Running statistics that normalise observations and rewards, as SB3's ``VecNormalize`` does.

One difference: the statistics of observations take a rollout in when it is over, all at once, so
that every observation of a rollout is normalised alike; the first rollout sees raw observations.
Those of returns take a rollout in before its rewards are divided. Costs are never normalised.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

__all__ = ["Moments", "RunningMoments", "normalise", "scale_rewards"]

_EPSILON = 1e-8
_CLIP = 10.0


class Moments(NamedTuple):
    """Sums of a batch, taken about ``RunningMoments.mean`` so that float32 suffices.

    Attributes:
        number: how many values.
        first: sum of the differences from the mean so far.
        second: sum of their squares.
    """

    number: jax.Array
    first: jax.Array
    second: jax.Array


class RunningMoments(NamedTuple):
    """Mean and variance of all that was seen.

    Attributes:
        mean: of each entry.
        variance: of each entry, not corrected for the sample's size.
        number: how many values were seen.
    """

    mean: jax.Array
    variance: jax.Array
    number: jax.Array

    @classmethod
    def start(cls, shape: tuple[int, ...]) -> RunningMoments:
        """Return mean 0 and variance 1, of next to no weight."""
        return cls(jnp.zeros(shape), jnp.ones(shape), jnp.asarray(1e-4, jnp.float32))

    def measure(self, batch: jax.Array) -> Moments:
        """Return the moments of ``batch`` ``[n, ...]``."""
        away = batch - self.mean
        count = jnp.asarray(batch.shape[0], jnp.float32)
        return Moments(count, jnp.sum(away, axis=0), jnp.sum(away**2, axis=0))

    def take(self, moments: Moments) -> RunningMoments:
        """Return the statistics after a batch.

        Source: Chan, Golub & LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
        Sample Variances" (1979).
        """
        count = self.number + moments.number
        shift = moments.first / count
        # The sums about the old mean make the update of the second moment one line.
        second = self.variance * self.number + moments.second - count * shift**2
        return RunningMoments(self.mean + shift, jnp.maximum(second, 0.0) / count, count)


def normalise(observations: jax.Array, statistics: RunningMoments) -> jax.Array:
    """Return observations of mean 0 and variance 1, clipped to 10 deviations."""
    scaled = (observations - statistics.mean) / jnp.sqrt(statistics.variance + _EPSILON)
    return jnp.clip(scaled, -_CLIP, _CLIP)


def scale_rewards(rewards: jax.Array, statistics: RunningMoments) -> jax.Array:
    """Return rewards divided by the deviation of the discounted return, clipped to 10."""
    return jnp.clip(rewards / jnp.sqrt(statistics.variance + _EPSILON), -_CLIP, _CLIP)
