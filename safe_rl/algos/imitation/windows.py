"""Demonstrations as training data: moments, the actions that followed, and what they led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Annotations, Episode
from safe_rl.errors import ConfigurationError, RecordingError, near
from safe_rl.wrappers.constraints import CostModel

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

Keep = Literal["all", "success", "safe"]
KEEPS: tuple[str, ...] = get_args(Keep)
"""Which demonstrations are learned from: all, those that succeed, those that also violate nothing.
"""


@dataclass(frozen=True, eq=False)
class Windows:
    """``M`` moments of demonstrations, each with the chunk of ``C`` actions that was taken there.

    Attributes:
        observations: name to ``[M, ...]``; see ``Episode.observations``.
        instructions: of each moment.
        actions: float32 ``[M, C, A]``; behind the end of the episode the last action stands.
        mask: bool ``[M, C]``, false behind the end.
        episode: int ``[M]``, the demonstration that a moment is of.
        step: int ``[M]``, the step within it.
        violations: float32 ``[M, S]``, violations that start within ``horizon`` steps from here.
        triggers: float32 ``[M, S]``, events that are triggered within them.
        ids: the specifications, the meaning of the columns.
    """

    observations: Mapping[str, NDArray[Any]]
    instructions: tuple[str, ...]
    actions: Floats
    mask: Bools
    episode: NDArray[np.int64]
    step: NDArray[np.int64]
    violations: Floats
    triggers: Floats
    ids: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of moments."""
        return len(self.actions)

    @property
    def cost(self) -> Floats:
        """Violations ahead of each moment, over all specifications, ``[M]``."""
        total: Floats = self.violations.sum(axis=1)
        return total


def kept(
    episodes: Sequence[Episode], annotations: Sequence[Annotations], keep: str
) -> NDArray[np.bool_]:
    """Return which demonstrations a rule keeps, bool ``[len(episodes)]``.

    An episode that does not say whether it succeeded is not kept as a success.

    Raises:
        ConfigurationError: an unknown rule, or one that keeps nothing.
    """
    if keep not in KEEPS:
        raise ConfigurationError(
            f"keep is {keep!r}{near(keep, KEEPS)}; use one of {', '.join(KEEPS)}"
        )
    success = np.array([episode.success is True for episode in episodes])
    safe = np.array([found.safe for found in annotations])
    chosen = {"all": np.ones(len(episodes), bool), "success": success, "safe": success & safe}[keep]
    if not chosen.any():
        raise ConfigurationError(
            f"keep={keep!r} leaves none of {len(episodes)} demonstrations ({int(success.sum())} "
            f"succeed, {int(safe.sum())} violate nothing); collect more, or keep others"
        )
    return chosen


def windows_of(
    episodes: Sequence[Episode],
    annotations: Sequence[Annotations],
    *,
    chunk: int,
    horizon: int | None = None,
) -> Windows:
    """Cut demonstrations into moments.

    Args:
        episodes: with ``observations["state"]`` and actions.
        annotations: of each, under one set of specifications.
        chunk: actions of a chunk, ``C``.
        horizon: how many steps violations and triggers are looked for; default: to the end.

    Raises:
        RecordingError: an episode has no observations or no actions, or they do not fit together.
        ConfigurationError: ``chunk`` is less than 1.
    """
    if chunk < 1:
        raise ConfigurationError(f"chunk must be at least 1, got {chunk}")
    if not episodes:
        raise RecordingError("there are no demonstrations to learn from")
    pairs = enumerate(zip(episodes, annotations, strict=True))
    parts = [_windows(number, *pair, chunk, horizon) for number, pair in pairs]
    names = tuple(parts[0].observations)
    for number, part in enumerate(parts):
        shapes = [(name, own.shape[1:]) for name, own in part.observations.items()]
        first = [(name, own.shape[1:]) for name, own in parts[0].observations.items()]
        if shapes != first or part.actions.shape[1:] != parts[0].actions.shape[1:]:
            raise RecordingError(
                f"demonstration {number} shows {shapes} and acts {part.actions.shape[2:]}, but "
                f"demonstration 0 {first} and {parts[0].actions.shape[2:]}; learn from one kind"
            )
    return Windows(
        observations={n: np.concatenate([p.observations[n] for p in parts]) for n in names},
        instructions=tuple(words for part in parts for words in part.instructions),
        actions=np.concatenate([part.actions for part in parts]),
        mask=np.concatenate([part.mask for part in parts]),
        episode=np.concatenate([part.episode for part in parts]),
        step=np.concatenate([part.step for part in parts]),
        violations=np.concatenate([part.violations for part in parts]),
        triggers=np.concatenate([part.triggers for part in parts]),
        ids=parts[0].ids,
    )


def _windows(
    number: int, episode: Episode, found: Annotations, chunk: int, horizon: int | None
) -> Windows:
    if episode.actions is None or "state" not in episode.observations:
        raise RecordingError(
            f"demonstration {number} has no actions or no observations 'state'; record it with them"
        )
    steps = episode.steps
    start = np.arange(steps)
    ahead = start[:, None] + np.arange(chunk)
    actions = np.asarray(episode.actions, np.float32).reshape(steps, -1)
    triggered = np.asarray(CostModel.from_specs(found.specs).per_specification(found.triggered))
    return Windows(
        observations={name: own[:steps] for name, own in episode.observations.items()},
        instructions=(episode.instruction,) * steps,
        actions=actions[np.minimum(ahead, steps - 1)],
        mask=ahead < steps,
        episode=np.full(steps, number, np.int64),
        step=start,
        violations=_ahead(found.costs, steps, horizon),
        triggers=_ahead(triggered, steps, horizon),
        ids=found.specs.ids,
    )


def _ahead(counts: NDArray[np.float64], steps: int, horizon: int | None) -> Floats:
    """Counts per letter ``[T + 1, S]`` to sums over the letters that the next steps reach."""
    total = np.concatenate([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)])
    start = np.arange(steps)
    end = np.full(steps, steps) if horizon is None else np.minimum(start + horizon, steps)
    sums: Floats = (total[end + 1] - total[start + 1]).astype(np.float32)
    return sums
