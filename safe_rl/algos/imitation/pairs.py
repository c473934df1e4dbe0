"""Pairs of moments: what led to a violation, and what a safe demonstration did in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.imitation.windows import Windows
from safe_rl.data import Annotations
from safe_rl.errors import ConfigurationError

Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """Rows of :class:`Windows`, pair by pair.

    Attributes:
        chosen: ``[P]``, of safe demonstrations.
        rejected: ``[P]``, shortly before a violation.
    """

    chosen: Ints
    rejected: Ints


def preference_pairs(
    windows: Windows,
    annotations: Sequence[Annotations],
    preferred: NDArray[np.bool_],
    *,
    chunk: int,
    lead: int,
) -> Pairs:
    """Pair every moment that led to a violation with the most similar moment of a safe episode.

    Similar is: the same instruction, and the least distance between states, each entry divided by
    its standard deviation.

    Args:
        windows: all moments.
        annotations: of every demonstration.
        preferred: which demonstrations are safe and succeed, ``[episodes]``.
        chunk: actions of a chunk.
        lead: steps before a violation that led to it.

    Raises:
        ConfigurationError: nothing was violated, or no safe demonstration has the instruction.
    """
    rejected = np.flatnonzero(_led_to_violation(windows, annotations, chunk, lead))
    if not len(rejected):
        raise ConfigurationError(
            "no demonstration violates anything, so there is nothing to prefer the safe ones to; "
            "keep failures when you collect"
        )
    states = windows.observations["state"].reshape(len(windows), -1)
    scaled = (states / np.maximum(states.std(axis=0), 1e-3)).astype(np.float32)
    safe = preferred[windows.episode]
    words = np.array(windows.instructions)
    chosen = np.empty(len(rejected), np.int64)
    for instruction in dict.fromkeys(words[rejected].tolist()):
        candidates = np.flatnonzero(safe & (words == instruction))
        if not len(candidates):
            raise ConfigurationError(
                f"no safe demonstration has the instruction {instruction!r}; collect some"
            )
        asked = np.flatnonzero(words[rejected] == instruction)
        for part in np.array_split(asked, max(1, len(asked) // 256)):
            nearest = _distances(scaled[rejected[part]], scaled[candidates]).argmin(axis=1)
            chosen[part] = candidates[nearest]
    return Pairs(chosen, rejected)


def _led_to_violation(
    windows: Windows, annotations: Sequence[Annotations], chunk: int, lead: int
) -> NDArray[np.bool_]:
    """Whether a violation starts in the ``lead`` steps ahead that the chunk has a part in."""
    reach = max(chunk, lead)
    soon = np.zeros(len(windows), bool)
    for number, found in enumerate(annotations):
        own = np.flatnonzero(windows.episode == number)
        starts = np.flatnonzero(found.violated.any(axis=1))
        ahead = starts[None, :] - windows.step[own][:, None]
        soon[own] = ((ahead > 0) & (ahead <= reach)).any(axis=1)
    return soon


def _distances(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared distances ``[len(first), len(second)]``."""
    squares: NDArray[np.float32] = (
        (first**2).sum(1)[:, None] - 2 * first @ second.T + (second**2).sum(1)[None]
    )
    return squares
