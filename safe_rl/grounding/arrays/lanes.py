"""Mapping the array grounding over lanes in jax, with the lanes last.

``jax.vmap`` puts the lanes of what it maps wherever they come from, usually first, and the array
grounding is several times slower that way (see :mod:`safe_rl.grounding.arrays.scene`). A function
from ``lanes_last`` moves them to the end, runs once on the whole batch and moves them back. Where
the arrays came from a map over their last axis (``jax.vmap(step, in_axes=-1, out_axes=-1)``), both
moves cancel out; where they came first, the moves cost more than they save.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from safe_rl.errors import MissingDependencyError

F = TypeVar("F", bound=Callable[..., Any])


def lanes_last(function: F) -> F:
    """``function`` of trees of arrays with trailing batch axes, to be called inside ``jax.vmap``.

    Everything static (roles, settings, names) must be bound already, and the function must not be
    differentiated.

        step = lanes_last(lambda memory, frame: ground(roles, settings, memory, frame))
        jax.vmap(step)(memories, frames)  # lanes first outside, last inside

    Raises:
        MissingDependencyError: without jax.
    """
    try:
        import jax
        from jax.custom_batching import custom_vmap
    except ImportError:
        raise MissingDependencyError("jax", "jax", "mapping the grounding over lanes") from None
    mapped = custom_vmap(function)

    def rule(axis_size: int, in_batched: Any, *arguments: Any) -> tuple[Any, Any]:
        def last(array: Any, batched: bool) -> Any:
            if batched:
                return jax.numpy.moveaxis(array, 0, -1)
            return jax.numpy.broadcast_to(array[..., None], (*array.shape, axis_size))

        moved = jax.tree.map(last, arguments, tuple(in_batched))
        results = jax.tree.map(lambda array: jax.numpy.moveaxis(array, -1, 0), mapped(*moved))
        return results, jax.tree.map(lambda _: True, results)

    mapped.def_vmap(rule)
    return cast(F, mapped)
