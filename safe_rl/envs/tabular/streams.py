"""Random streams addressed by a counter: one key per environment, no hidden state.

A draw is a pure function of ``(key, counter)``: output ``counter`` of the SplitMix64 generator
seeded with ``key`` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
2014). So one environment in plain integers and row ``i`` of an array of environments give the same
numbers for the same seed, whatever the others do, and the whole random state is two integers.
"""

from __future__ import annotations

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_TO_UNIT = 2.0**-53

# Array constants, made once: building a numpy scalar costs as much as the arithmetic on 256 rows.
_ONE, _S11, _S27, _S30, _S31 = (np.uint64(value) for value in (1, 11, 27, 30, 31))
_ARRAY_GAMMA, _ARRAY_MIX_1, _ARRAY_MIX_2 = (np.uint64(v) for v in (_GAMMA, _MIX_1, _MIX_2))


def stream_key(generator: np.random.Generator) -> int:
    """Draw the key of a stream, a 64-bit integer, from a numpy generator."""
    return int(generator.integers(0, 1 << 64, dtype=np.uint64))


def key_of_seed(seed: int | None) -> int:
    """Return the stream key that ``env.reset(seed=seed)`` uses; ``None`` takes fresh entropy."""
    return stream_key(seeding.np_random(seed)[0])


def uniform(key: int, counter: int) -> float:
    """Draw number ``counter`` of the stream ``key``: a float in [0, 1) with 53 random bits."""
    z = (key + (counter + 1) * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return ((z ^ (z >> 31)) >> 11) * _TO_UNIT


def uniform_array(keys: NDArray[np.uint64], counters: NDArray[np.uint64]) -> NDArray[np.float64]:
    """``uniform`` over arrays that broadcast together, bit for bit the same numbers.

    >>> keys, counters = np.array([7, 8], np.uint64), np.array([0, 3], np.uint64)
    >>> bool((uniform_array(keys, counters) == [uniform(7, 0), uniform(8, 3)]).all())
    True
    """
    # Wrap-around of unsigned arrays is silent and intended: arithmetic is modulo 2**64.
    z = (counters + _ONE) * _ARRAY_GAMMA
    z += keys
    z ^= z >> _S30
    z *= _ARRAY_MIX_1
    z ^= z >> _S27
    z *= _ARRAY_MIX_2
    z ^= z >> _S31
    z >>= _S11
    unit: NDArray[np.float64] = z * np.float64(_TO_UNIT)
    return unit
