"""What a policy is here: observation and instruction in, a chunk of actions out."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import PolicyError

POLICY_FILE = "policy.json"
"""What tells the folder of a policy that was saved, and names its weights."""
Floats = NDArray[np.float32]
Observation = Mapping[str, NDArray[Any]]
"""Name to ``[B, ...]``: ``"state"`` float32 ``[B, D]``, ``"images.<camera>"`` uint8
``[B, H, W, 3]``; the names of ``Episode.observations``."""


class ChunkPolicy(Protocol):
    """A policy that plans ``chunk`` actions at a time, for environments side by side.

    A row is one environment. What a row is answered depends on its own observations, instruction
    and seed, and on no other row.
    """

    @property
    def chunk(self) -> int:
        """Number of actions in a chunk."""

    def reset(self, rows: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in some rows: forget the last one, and draw from these seeds."""

    def act(
        self, observation: Observation, instruction: Sequence[str], rows: Sequence[int]
    ) -> Floats:
        """Return the next chunk of some rows.

        Args:
            observation: of these rows, name to ``[B, ...]``.
            instruction: of each of them.
            rows: which they are, ``B`` numbers.

        Returns:
            float32 ``[B, chunk, A]``.
        """


def scenario_seed(base: int, name: str) -> int:
    """Return the seed of a scenario's rollout: the CRC-32 of base seed and scenario's name.

    The order in which scenarios are run has no part in it (ManiGuard, appendix C, "Protocol").

    >>> scenario_seed(0, "jar/task_0000") == scenario_seed(1, "jar/task_0000")
    False
    """
    return zlib.crc32(f"{base}:{name}".encode())


def checked_chunks(answer: Any, rows: int, chunk: int, actions: int | None = None) -> Floats:
    """Return a policy's answer as float32 ``[rows, chunk, A]``.

    Args:
        answer: what the policy gave.
        rows: how many rows were asked for.
        chunk: how many actions a row's answer holds.
        actions: the number of entries of an action; ``None``: any.

    Raises:
        PolicyError: it has another shape, holds no numbers, or one that is not finite.
    """
    wanted = f"[{rows}, {chunk}, {'A' if actions is None else actions}]"
    try:
        given = np.asarray(answer)
    except ValueError as error:  # rows of different lengths
        raise PolicyError(f"actions must be {wanted}, but are no array ({error})") from None
    if given.dtype.kind not in "fiu":
        raise PolicyError(f"actions must be numbers {wanted}, but are of type {given.dtype}")
    fits = given.ndim == 3 and given.shape[:2] == (rows, chunk) and given.shape[2] > 0
    if not fits or actions not in (None, given.shape[2]):
        raise PolicyError(f"actions must be {wanted}, but are {list(given.shape)}")
    if not np.isfinite(given).all():
        row, step, entry = (int(axis[0]) for axis in np.nonzero(~np.isfinite(given)))
        raise PolicyError(
            f"action {step} of row {row} has {given[row, step, entry]} as entry {entry}; "
            "a policy must answer finite numbers"
        )
    return given.astype(np.float32)
