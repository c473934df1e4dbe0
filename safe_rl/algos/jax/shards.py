"""The environments of a run in equal shards: on several devices, or one after another on one.

What a run computes depends on the number of shards (each has random numbers of its own), and not on
where they are: the same functions run under ``shard_map`` over devices and under ``vmap`` on one
device, and differ by the order of floating-point sums alone.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

__all__ = ["AXIS", "Axis", "mean", "own_key", "total", "tree_mean"]

Axis = str | None
"""Name of the mapped axis of shards, or None where there is one shard."""
AXIS = "shards"

Tree = TypeVar("Tree")


def mean(values: jax.Array, axis: Axis) -> jax.Array:
    """Return the mean of all values of all shards, a scalar."""
    own = jnp.mean(values)
    return own if axis is None else jax.lax.pmean(own, axis)


def total(tree: Tree, axis: Axis) -> Tree:
    """Return the sum over the shards of every leaf."""
    return tree if axis is None else jax.lax.psum(tree, axis)


def tree_mean(tree: Tree, axis: Axis) -> Tree:
    """Return the mean over the shards of every leaf, in one message."""
    if axis is None:
        return tree
    flat, unravel = ravel_pytree(tree)
    averaged: Any = unravel(jax.lax.pmean(flat, axis))
    return averaged


def own_key(key: jax.Array, axis: Axis) -> jax.Array:
    """Return a key that differs from shard to shard."""
    return key if axis is None else jax.random.fold_in(key, jax.lax.axis_index(axis))
