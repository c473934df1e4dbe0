"""Neighbouring rays in blocks, so that what cannot meet a solid is left out by the block.

Rays that are neighbours in the picture are neighbours in the lists too (tile after tile), so 64
consecutive ones lie close together, in the picture and mostly in the scene.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast.materials import Array

Index: TypeAlias = NDArray[np.int64]

SIZE = 64
_TILE = 8


@lru_cache(maxsize=8)
def tile_order(height: int, width: int) -> Index:
    """The pixels of a picture, tile after tile: places in row order, ``[height * width]``."""
    row, column = np.divmod(np.arange(height * width), width)
    order = np.lexsort((column % _TILE, row % _TILE, column // _TILE, row // _TILE))
    order.setflags(write=False)
    return order


class Blocks:
    """Bounds of values over blocks of 64 consecutive columns.

    Args:
        values: ``[d, n]`` with n at least 1.

    Attributes:
        low, high: ``[d, t]``, least and greatest value in each block.
    """

    def __init__(self, values: Array) -> None:
        self.count = values.shape[1]
        starts = np.arange(0, self.count, SIZE)
        self.low: Array = np.minimum.reduceat(values, starts, axis=1)
        self.high: Array = np.maximum.reduceat(values, starts, axis=1)
        self._within = np.arange(SIZE)

    def columns(self, chosen: NDArray[np.bool_]) -> Index:
        """The columns in the chosen blocks ``[t]``, in order."""
        blocks = np.flatnonzero(chosen)
        found: Index = (blocks[:, None] * SIZE + self._within).ravel()
        if blocks.size and (blocks[-1] + 1) * SIZE > self.count:
            found = found[: found.size - ((int(blocks[-1]) + 1) * SIZE - self.count)]
        return found


def put(target: Array, columns: Index, values: Array) -> None:
    """Set columns of ``target`` ``[d, n]`` to ``values`` ``[d, m]``, row by row.

    ``target[:, columns] = values`` is the same and several times slower.
    """
    if len(columns) == target.shape[1]:  # columns are ascending, so these are all of them
        target[:] = values
        return
    for row, value in zip(target, values, strict=True):
        row[columns] = value
