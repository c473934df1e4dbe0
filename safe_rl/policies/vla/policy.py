"""A ``VLA`` that acts: a chunk policy whose draws are decided by seed and number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ResetNeededError
from safe_rl.policies.chunk_policy import Floats, Observation, scenario_seed
from safe_rl.policies.vla.backend import torch
from safe_rl.policies.vla.model import VLA


class VLAPolicy:
    """The chunk policy of a model.

    Rows are computed one at a time, and the noise of a row's answer is decided by the seed of its
    episode and the answer's number in it. So a row is answered the same, bit by bit, whichever rows
    are asked beside it, here or behind a server.
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
        self._drawn: dict[int, tuple[int, int]] = {}

    def reset(self, rows: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in some rows, and draw from these seeds there."""
        self._drawn.update((row, (seed, 0)) for row, seed in zip(rows, seeds, strict=True))

    def act(
        self, observation: Observation, instruction: Sequence[str], rows: Sequence[int]
    ) -> Floats:
        """Return the next chunk of some rows, ``[B, chunk, A]``.

        Raises:
            ResetNeededError: a row was never reset.
            ConfigurationError: the observations are not those that the model looks at.
        """
        answers = []
        for place, (words, row) in enumerate(zip(instruction, rows, strict=True)):
            if row not in self._drawn:
                raise ResetNeededError(f"row {row} of the policy was asked before its reset()")
            seed, number = self._drawn[row]
            single = {name: value[place] for name, value in observation.items()}
            answers.append(self.answer(single, words, seed, number))
            self._drawn[row] = (seed, number + 1)
        return np.stack(answers)

    @torch.no_grad()
    def answer(
        self,
        observation: Mapping[str, NDArray[Any]],
        prompt: str,
        seed: int | None = None,
        number: int = 0,
    ) -> Floats:
        """Return one chunk, ``[chunk, A]``.

        Args:
            observation: of one row, without a leading axis.
            prompt: what it is told.
            seed: of the episode; ``None``: torch's own generator.
            number: of the answer in its episode.

        Raises:
            ConfigurationError: the observation is not what the model looks at.
        """
        batch = {name: np.asarray(value)[None] for name, value in observation.items()}
        cost = [self._cost] if self.model.config.reads_cost else None
        distribution = self.model.distribution(self.model.inputs(batch, [prompt], cost))
        if self._deterministic:
            chosen = distribution.mean
        elif seed is None:
            chosen = distribution.sample()
        else:
            chosen = distribution.sample(
                torch.Generator().manual_seed(scenario_seed(seed, str(number)))
            )
        actions: Floats = chosen[0].cpu().numpy().astype(np.float32)
        return actions
