"""An episode as LeRobot's columns, and back.

A frame is what was seen before its action: observation, letter, and what the monitors said of it.
``T`` actions make ``T`` frames. What was seen after the last action is frame ``T``, which has no
action: LeRobot has no place for it, so it stands with the episode in ``meta/episodes``, under the
same names with ``final/`` before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.annotations import Annotations
from safe_rl.data.episode import IMAGES, Episode

Columns = Mapping[str, NDArray[Any]]

OBSERVATION: Final = "observation."
STATE: Final = OBSERVATION + "state"
CAMERA: Final = OBSERVATION + IMAGES
ACTION: Final = "action"
REWARD: Final = "next.reward"
DONE: Final = "next.done"
SUCCESS: Final = "next.success"
TERMINATED: Final = "next.terminated"
PROPOSITIONS: Final = "safety.propositions"
ENGAGED: Final = "safety.engaged"
SIMULATOR: Final = "safety.simulator_state"
FINAL: Final = "final/"
EVENTS: Final = ("triggered", "violated", "exposed", "recovered")
PER_INSTANCE: Final = {  # of Annotations: field to column
    **{kind: f"safety.{kind}" for kind in EVENTS},
    "verdicts": "safety.verdict",
    "distance": "safety.distance",
}
COSTS: Final = "safety.costs"
COST: Final = "safety.cost"


def seen(episode: Episode, annotations: Annotations | None) -> dict[str, NDArray[Any]]:
    """Return the columns of what was seen: arrays ``[T + 1, ...]``, the last row of frame ``T``."""
    found: dict[str, NDArray[Any]] = {
        OBSERVATION + name: value for name, value in episode.observations.items()
    }
    found[PROPOSITIONS] = episode.letters
    unknown = np.ones(len(episode.letters), np.bool_)  # every violation is charged
    found[ENGAGED] = unknown if episode.engaged is None else episode.engaged
    if episode.states is not None:
        found[SIMULATOR] = episode.states
    if annotations is not None:
        found |= {column: getattr(annotations, own) for own, column in PER_INSTANCE.items()}
        found |= {COSTS: annotations.costs, COST: annotations.cost}
    return {name: value for name, value in found.items() if value[0].size}


def done(episode: Episode) -> dict[str, NDArray[Any]]:
    """Return the columns of the actions and what they led to: arrays ``[T, ...]``."""
    last = np.arange(episode.steps) == episode.steps - 1
    found: dict[str, NDArray[Any]] = {} if episode.actions is None else {ACTION: episode.actions}
    return {
        **found,
        REWARD: np.asarray(episode.rewards, np.float64),
        DONE: last,
        SUCCESS: last & bool(episode.success),
        TERMINATED: last & episode.terminated,
    }


def is_image(name: str) -> bool:
    """Whether a column holds images."""
    return name.startswith(CAMERA)


def names_of(
    column: str, episode: Episode, annotations: Annotations | None
) -> list[str] | dict[str, list[str]] | None:
    """Return the meaning of a column's numbers, as LeRobot's ``names``."""
    if is_image(column):
        return ["height", "width", "channels"]
    if column == PROPOSITIONS:
        return list(episode.propositions)
    if annotations is not None and column in PER_INSTANCE.values():
        return list(annotations.instances)
    if annotations is not None and column == COSTS:
        return list(annotations.specs.ids)
    return None
