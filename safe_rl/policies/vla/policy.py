"""A ``VLA`` that acts: a chunk policy with a random generator for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from safe_rl.errors import ResetNeededError
from safe_rl.policies.chunk_policy import Floats, Observation
from safe_rl.policies.vla.backend import torch
from safe_rl.policies.vla.model import VLA


class VLAPolicy:
    """The chunk policy of a model.

    Rows are computed one at a time, and each draws from a generator of its own: what a row is
    answered is the same, bit by bit, whichever rows are asked beside it, here or behind a server.
    """

    def __init__(self, model: VLA, *, deterministic: bool = False, cost: float = 0.0) -> None:
        """Let a model act.

        Args:
            model: it is put into evaluation mode.
            deterministic: take the most likely chunk.
            cost: which cost to aim at, for a model that reads it.
        """
        self.model = model.eval()
        self.chunk = model.config.chunk
        self._deterministic, self._cost = deterministic, cost
        self._generators: dict[int, torch.Generator] = {}

    def reset(self, rows: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in some rows, and draw from these seeds there."""
        for row, seed in zip(rows, seeds, strict=True):
            self._generators[row] = torch.Generator().manual_seed(seed)

    def act(
        self, observation: Observation, instruction: Sequence[str], rows: Sequence[int]
    ) -> Floats:
        """Return the next chunk of some rows, ``[B, chunk, A]``.

        Raises:
            ResetNeededError: a row was never reset.
            ConfigurationError: the observations are not those that the model looks at.
        """
        answers = [
            self._one({name: value[place : place + 1] for name, value in observation.items()}, *row)
            for place, row in enumerate(zip(instruction, rows, strict=True))
        ]
        return np.concatenate(answers)

    @torch.no_grad()
    def _one(self, observation: Observation, instruction: str, row: int) -> Floats:
        if row not in self._generators:
            raise ResetNeededError(f"row {row} of the policy was asked before its first reset()")
        cost = [self._cost] if self.model.config.reads_cost else None
        distribution = self.model.distribution(self.model.inputs(observation, [instruction], cost))
        if self._deterministic:
            chosen = distribution.mean
        else:
            chosen = distribution.sample(self._generators[row])
        actions: Floats = chosen.cpu().numpy().astype(np.float32)
        return actions
