"""The way from recorded simulator states to letters: a small protocol that simulators implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from safe_rl.data.episode import Bools, Drift, Floats, Placements


@dataclass(frozen=True)
class RecordedStates:
    """The simulator's side of one recorded episode of ``T`` steps.

    Attributes:
        states: flattened simulator states, float64 ``[T, S]`` (each seen before its action) or
            ``[T + 1, S]`` (the one that the last action led to as well).
        actions: ``[T, A]``, or ``None``.
        placements: body to where the recording's model had it, which no state tells: metres and a
            quaternion (w, x, y, z). Empty where nothing says so.
        task: what the recording calls its task, or nothing.
    """

    states: Floats
    actions: NDArray[Any] | None = None
    placements: Placements = field(default_factory=dict)
    task: str = ""


@dataclass(frozen=True)
class ReplayedLetters:
    """What a replay found, for ``F`` frames: one per state, or one more than there are actions.

    Attributes:
        propositions: names of the columns of ``letters``.
        letters: bool ``[F, P]``.
        engaged: whether the robot has touched a task object so far, bool ``[F]``, or ``None``.
        success: whether the task was achieved, or ``None``.
        objects: property to objects, for ``forall``.
        env_id: the simulator's environment.
        instruction: the task in words, where the simulator knows them.
        drift: see :class:`Drift`; ``None`` where no action was stepped.
    """

    propositions: tuple[str, ...]
    letters: Bools
    engaged: Bools | None = None
    success: bool | None = None
    objects: Mapping[str, tuple[str, ...]] | None = None
    env_id: str = ""
    instruction: str = ""
    drift: Drift | None = None


class Replay(Protocol):
    """A simulator that shows recorded states to the grounding, one after the other."""

    def replay(self, recorded: RecordedStates) -> ReplayedLetters:
        """Return the letters of one episode.

        Raises:
            RecordingError: the states or actions are not those of this simulator's model, or the
                recording is of another task.
        """


class ShowsStates(Protocol):
    """An environment whose simulator states a recording keeps."""

    def recorded_state(self) -> Floats:
        """The state now, flattened, float64 ``[S]``."""

    def placements(self) -> Placements:
        """Where the bodies stand that an episode's start places in the model."""
