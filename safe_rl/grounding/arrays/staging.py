"""How computations are laid out for a compiler; values are those of the plain expressions.

XLA fuses a small computation into everything that uses it. Where the users are larger (one value
per object, used by every pair of objects), or where a sum over objects is written out, it is then
computed again and again, and everything takes several times as long. ``computed_once`` draws a line
that fusion does not cross. Reductions over a handful of objects are written out, because XLA's
loops for reductions do not run over neighbouring lanes. numpy has no such compiler, and reduces as
usual.

A single frame is so little work that starting its few hundred kernels, and handing them from thread
to thread, takes longer than what they compute: ``as_one_kernel`` makes one of them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, or_
from types import ModuleType
from typing import Any, TypeVar, cast

from safe_rl.grounding.arrays.scene import Array

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def computed_once(xp: ModuleType, arrays: T) -> T:
    """``arrays`` (any tree of tuples of arrays), not to be fused into what follows.

    An optimisation barrier would say the same, but XLA's CPU compiler drops those before it fuses.
    A call that must not be inlined stays.
    """
    return _called(_same, inlineable="false")(arrays) if _compiled(xp) else arrays


def as_one_kernel(function: F) -> F:
    """``function`` of jax arrays, for which XLA's CPU compiler is to make a single kernel.

    It does so for the bodies of its small loops, by an attribute of the call that it looks at
    wherever it finds it. A compiler that does not know the attribute gives the same values.
    """
    return _called(function, inlineable="false", xla_cpu_small_call="true")


def _called(function: F, **attributes: str) -> F:
    """``function`` as a call of its own, with attributes for the compiler."""
    import jax

    compiled = jax.jit(function)

    def call(*arguments: Any) -> Any:
        try:
            from jax.experimental.xla_metadata import set_xla_metadata
        except ImportError:  # an experimental module; without it the values are the same
            return function(*arguments)
        with set_xla_metadata(**attributes):
            return compiled(*arguments)

    return cast(F, call)


def _same(arrays: T) -> T:
    return arrays


def any_of(xp: ModuleType, array: Array, axis: int = 0) -> Array:
    """Whether any entry along an axis (0 or 1) is true; false where there is none."""
    return _over(xp, array, axis, or_, xp.any)


def least_of(xp: ModuleType, array: Array, axis: int = 0) -> Array:
    """The smallest entry along an axis (0 or 1), of which there must be one."""
    return _over(xp, array, axis, xp.minimum, xp.min)


def greatest_of(xp: ModuleType, array: Array, axis: int = 0) -> Array:
    """The largest entry along an axis (0 or 1), of which there must be one."""
    return _over(xp, array, axis, xp.maximum, xp.max)


def sum_of(xp: ModuleType, array: Array, axis: int = 0) -> Array:
    """The sum along an axis (0 or 1), from the first entry on, in the type of the entries."""
    count = array.shape[axis]
    if not count:
        return xp.sum(array, axis=axis, dtype=array.dtype)
    entries = [array[i] if axis == 0 else array[:, i] for i in range(count)]
    return computed_once(xp, reduce(add, entries))


def _over(
    xp: ModuleType,
    array: Array,
    axis: int,
    combine: Callable[[Array, Array], Array],
    plain: Callable[..., Array],
) -> Array:
    count, others = array.shape[axis], (*array.shape[:axis], *array.shape[axis + 1 :])
    if 0 in others:  # a scene without objects
        return xp.zeros(others, dtype=array.dtype)
    if not (_compiled(xp) and count):
        return plain(array, axis=axis)
    entries = [array[i] if axis == 0 else array[:, i] for i in range(count)]
    return computed_once(xp, reduce(combine, entries))


def _compiled(xp: ModuleType) -> bool:
    return xp.__name__ == "jax.numpy"
