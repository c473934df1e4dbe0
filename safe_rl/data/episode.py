"""One recorded episode: what the monitors read of it, and what a report says beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import RecordingError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Episode:
    """An episode of ``T`` steps, with ``T + 1`` letters over ``P`` propositions.

    Attributes:
        propositions: names of the columns of ``letters``.
        letters: bool ``[T + 1, P]``; the first is that of the reset, the others those of the states
            that the steps reached.
        rewards: the task's reward of each step, float64 ``[T]``.
        terminated: the environment terminated, so the finite-trace semantics decides what is open.
        truncated: the episode was cut off. An episode that is neither is read as truncated: its
            recording stops, and nothing more could be seen.
        success: whether the task was achieved; ``None`` where nothing says so.
        engaged: whether the robot touches a task object, or has touched one, bool ``[T + 1]``;
            ``None`` where nothing says so.
        objects: property to the objects that carry it, for specifications with ``forall``.
        env_id: Gymnasium id, or whatever names the environment.
        instruction: the words that the policy was given.
        seed: the seed of the reset that began it; ``None`` where it continued a random stream.
        actions: ``[T, ...]``, or ``None``.
        states: flattened simulator states, float64 ``[T + 1, S]``, or ``None``.

    Raises:
        RecordingError: an array has another shape or type, or a name stands twice.
    """

    propositions: tuple[str, ...]
    letters: Bools
    rewards: Floats
    terminated: bool
    truncated: bool
    success: bool | None = None
    engaged: Bools | None = None
    objects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    env_id: str = ""
    instruction: str = ""
    seed: int | None = None
    actions: NDArray[Any] | None = None
    states: Floats | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        names = len(self.propositions)
        if len(set(self.propositions)) != names:
            twice = next(n for n in self.propositions if self.propositions.count(n) > 1)
            raise RecordingError(f"the proposition {twice!r} stands twice; name each column once")
        if self.letters.dtype != np.bool_ or self.letters.ndim != 2:
            raise RecordingError(
                f"letters must be bool [frames, propositions], but are {self.letters.dtype} of "
                f"shape {self.letters.shape}"
            )
        if self.letters.shape[1] != names:
            raise RecordingError(
                f"letters have {self.letters.shape[1]} columns for {names} propositions"
            )
        frames = len(self.letters)
        if frames == 0:
            raise RecordingError("an episode has at least the letter of its first state; got none")
        if self.terminated and self.truncated:
            raise RecordingError("an episode is terminated or truncated, not both")
        for name, wanted in (
            ("rewards", frames - 1),
            ("actions", frames - 1),
            ("engaged", frames),
            ("states", frames),
        ):
            value = getattr(self, name)
            if value is not None and len(value) != wanted:
                raise RecordingError(
                    f"{name} has {len(value)} rows where an episode of {frames} letters has "
                    f"{wanted}"
                )
        if not np.isfinite(self.rewards).all():
            raise RecordingError(
                f"the reward of step {int(np.argmin(np.isfinite(self.rewards)))} is not finite"
            )

    @property
    def steps(self) -> int:
        """The number of actions taken, ``T``."""
        return len(self.letters) - 1
