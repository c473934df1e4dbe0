"""One recorded episode: what the monitors read of it, and what a report says beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import RecordingError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Placements = Mapping[str, tuple[float, ...]]
"""Body to its place in a simulator's model: x, y, z in metres, and a quaternion (w, x, y, z)."""
IMAGES: Final = "images."
"""With this begin the names of observations that are images of a camera."""
_NAME: Final = re.compile(r"\w+(\.\w+)*", re.ASCII)


class Drift(NamedTuple):
    """How far stepped actions led from the recorded states, for one episode.

    Attributes:
        compared: steps whose end is recorded.
        beyond: those of them that ended further from it than is tolerated.
        largest: largest difference of any position, in the units of the state (m, rad).
        step: where that was; 1 is the first step. 0 where nothing was compared.
    """

    compared: int = 0
    beyond: int = 0
    largest: float = 0.0
    step: int = 0

    def after(self, step: int, difference: float, tolerance: float) -> Drift:
        """This and one more step, which ended so far from its recorded end.

        >>> Drift().after(1, 2e-9, 1e-3).after(2, 0.02, 1e-3)
        Drift(compared=2, beyond=1, largest=0.02, step=2)
        """
        further = self.compared == 0 or difference > self.largest
        return Drift(
            self.compared + 1,
            self.beyond + (not difference <= tolerance),
            difference if further else self.largest,
            step if further else self.step,
        )


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
        placements: what those states do not tell: where the episode's start placed bodies in the
            simulator's model.
        drift: of an episode that a replay of its actions labelled; files do not keep it.
        observations: what a policy saw, name to ``[T + 1, ...]``: ``"state"`` is float32
            ``[T + 1, D]``, ``"images.<camera>"`` uint8 ``[T + 1, H, W, 3]``; other names hold
            numbers of any shape.

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
    placements: Placements = field(default_factory=dict)
    drift: Drift | None = None
    observations: Mapping[str, NDArray[Any]] = field(default_factory=dict)

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
        for name, value in self.observations.items():
            _check_observation(name, value, frames)
        for body, place in self.placements.items():
            if len(place) != 7 or not np.isfinite(place).all():
                raise RecordingError(
                    f"the placement of {body!r} must be 7 finite numbers, but is {place!r}"
                )
        if not np.isfinite(self.rewards).all():
            raise RecordingError(
                f"the reward of step {int(np.argmin(np.isfinite(self.rewards)))} is not finite"
            )

    @property
    def steps(self) -> int:
        """The number of actions taken, ``T``."""
        return len(self.letters) - 1


def _check_observation(name: str, value: NDArray[Any], frames: int) -> None:
    """Raise unless an observation has a name that files can keep, and the type that it says."""
    if not _NAME.fullmatch(name):
        raise RecordingError(
            f"the observation {name!r} must be named by words joined with dots, such as 'state' or "
            "'images.front'"
        )
    if name == "state":
        wanted, fits = "float32 [frames, D]", value.dtype == np.float32 and value.ndim == 2
    elif name.startswith(IMAGES):
        wanted = "uint8 [frames, height, width, 3]"
        fits = value.dtype == np.uint8 and value.ndim == 4 and value.shape[3:] == (3,)
    else:
        wanted, fits = "numbers [frames, ...]", value.dtype.kind in "biuf" and value.ndim > 0
    if not fits or len(value) != frames:
        raise RecordingError(
            f"the observation {name!r} must be {wanted} with {frames} frames, but is {value.dtype} "
            f"of shape {value.shape}"
        )
