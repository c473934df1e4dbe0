"""Trees of arrays as one flat array per type.

A compiled function is called with a handful of arrays instead of a hundred, which for a single
frame costs less than half; and what it remembers is a value of three arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from safe_rl.grounding.arrays.scene import Array

T = TypeVar("T")
KINDS = (np.float32, np.bool_, np.int16)


class Packed(NamedTuple):
    """All floats, all Booleans and all integers of a tree, one-dimensional each."""

    floats: Array
    booleans: Array
    integers: Array


class Packing(Generic[T]):
    """How trees (tuples, ``None``, arrays) of one shape are packed.

    >>> packing = Packing((np.zeros(2, np.float32), None, (np.asarray(True),)))
    >>> packed = packing.pack(np, (np.ones(2, np.float32), None, (np.asarray(False),)))
    >>> [part.tolist() for part in packed]
    [[1.0, 1.0], [False], []]
    >>> packing.unpack(np, packed)[1:]
    (None, (array(False),))
    """

    def __init__(self, example: T) -> None:
        """Pack trees like ``example``, whose leaves are float32, bool or int16."""
        self._example = example
        leaves = list(_leaves(example))
        unknown = {leaf.dtype for leaf in leaves} - set(map(np.dtype, KINDS))
        if unknown:
            raise TypeError(f"leaves must be float32, bool or int16, got {unknown}")
        # By type: which leaves, in their order.
        self._which = [[i for i, leaf in enumerate(leaves) if leaf.dtype == kind] for kind in KINDS]
        self._places: list[tuple[int, slice, tuple[int, ...]]] = [(0, slice(0), ())] * len(leaves)
        for number, which in enumerate(self._which):
            start = 0
            for i in which:
                end = start + leaves[i].size
                self._places[i] = (number, slice(start, end), leaves[i].shape)
                start = end

    def pack(self, xp: ModuleType, tree: T) -> Packed:
        """One array per type; floats become float32."""
        leaves = list(_leaves(tree))
        parts = []
        for kind, which in zip(KINDS, self._which, strict=True):
            if which:
                part = xp.concat([leaves[i].reshape(-1) for i in which])
                parts.append(part if part.dtype == kind else xp.astype(part, kind))
            else:
                parts.append(xp.zeros(0, dtype=kind))
        return Packed(*parts)

    def unpack(self, xp: ModuleType, packed: Packed) -> T:
        """The tree of ``pack``."""
        found = [xp.reshape(packed[number][place], shape) for number, place, shape in self._places]
        rebuilt: T = _rebuilt(self._example, iter(found))
        return rebuilt


def _leaves(tree: Any) -> Iterator[Array]:
    if isinstance(tree, tuple):
        for part in tree:
            yield from _leaves(part)
    elif tree is not None:
        yield tree


def _rebuilt(example: Any, leaves: Iterator[Array]) -> Any:
    if isinstance(example, tuple):
        parts = [_rebuilt(part, leaves) for part in example]
        return type(example)(*parts) if hasattr(example, "_fields") else tuple(parts)
    return None if example is None else next(leaves)
