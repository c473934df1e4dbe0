"""The way from recorded simulator states to letters: a small protocol that simulators implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools


@dataclass(frozen=True)
class ReplayedLetters:
    """What a replay found, for ``T + 1`` states.

    Attributes:
        propositions: names of the columns of ``letters``.
        letters: bool ``[T + 1, P]``.
        engaged: whether the robot has touched a task object so far, bool ``[T + 1]``, or ``None``.
        success: whether the task was achieved, or ``None``.
        objects: property to objects, for ``forall``.
        env_id: the simulator's environment.
    """

    propositions: tuple[str, ...]
    letters: Bools
    engaged: Bools | None = None
    success: bool | None = None
    objects: Mapping[str, tuple[str, ...]] | None = None
    env_id: str = ""


class Replay(Protocol):
    """A simulator that shows recorded states to the grounding, one after the other."""

    def replay(self, states: NDArray[np.float64], actions: NDArray[Any] | None) -> ReplayedLetters:
        """Return the letters of one episode.

        Args:
            states: flattened simulator states ``[T, S]`` or ``[T + 1, S]``.
            actions: ``[T, A]``, or ``None``.

        Raises:
            RecordingError: the states or actions are not those of this simulator's model.
        """
