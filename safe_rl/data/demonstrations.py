"""HDF5 files of demonstrations as robomimic and LIBERO write them: simulator states and actions.

``data/demo_<k>/states`` holds flattened MuJoCo states ``[T, 1 + nq + nv]``, each seen before its
action in ``actions`` ``[T, A]``; the state that the last action leads to is not in the file. The
file holds no propositions, so its states are shown to a simulator (``safe_rl.data.Replay``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Episode, Floats
from safe_rl.data.replay import Replay
from safe_rl.errors import MissingDependencyError, RecordingError


class Demonstration(NamedTuple):
    """One demonstration.

    Attributes:
        name: such as ``"demo_3"``.
        states: float64 ``[T, S]``.
        actions: ``[T, A]``, or ``None``.
        rewards: float64 ``[T]``, or ``None``.
    """

    name: str
    states: Floats
    actions: NDArray[Any] | None
    rewards: Floats | None


def read_demonstrations(path: Path) -> tuple[Demonstration, ...]:
    """Read every demonstration of a file, in the order of their numbers.

    Raises:
        RecordingError: the file is missing, damaged, or holds no states.
        MissingDependencyError: h5py is not installed.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError("h5py", "data", "reading HDF5 demonstrations") from error
    if not path.is_file():
        raise RecordingError(f"{path}: no such file")
    try:
        with h5py.File(path, "r") as file:
            if "data" not in file:
                raise RecordingError(f"{path}: no group 'data'; not a file of demonstrations")
            names = sorted((n for n in file["data"] if _number(n) is not None), key=_number_of)
            if not names:
                raise RecordingError(f"{path}: no group data/demo_<k>; there are no demonstrations")
            return tuple(_read(path, name, file["data"][name]) for name in names)
    except (OSError, RuntimeError, KeyError) as error:
        raise RecordingError(f"{path}: damaged or not an HDF5 file ({error})") from None


def _number(name: str) -> int | None:
    match = re.fullmatch(r"demo_(\d+)", name)
    return None if match is None else int(match[1])


def _number_of(name: str) -> int:
    return _number(name) or 0


def _read(path: Path, name: str, group: Any) -> Demonstration:
    where = f"{path}, data/{name}"
    if "states" not in group:
        raise RecordingError(f"{where}: no simulator states, so nothing can be replayed")
    states = np.asarray(group["states"][()], np.float64)
    if states.ndim != 2 or len(states) == 0 or not np.isfinite(states).all():
        raise RecordingError(
            f"{where}: states must be finite numbers [T, S], but have the shape {states.shape}"
        )
    found: dict[str, Any] = {}
    for key in ("actions", "rewards"):
        found[key] = np.asarray(group[key][()], np.float64) if key in group else None
        if found[key] is not None and len(found[key]) != len(states):
            raise RecordingError(
                f"{where}: {len(found[key])} {key} for {len(states)} states; the file is damaged"
            )
    return Demonstration(name, states, found["actions"], found["rewards"])


def load_demonstrations(path: Path, replay: Replay) -> tuple[Episode, ...]:
    """Read a file and let a simulator label its states.

    An episode counts as cut off: a demonstration stops where its recording stops.

    Raises:
        RecordingError: the file is damaged, or the states are not those of the simulator's model.
    """
    episodes = []
    for demo in read_demonstrations(path):
        try:
            found = replay.replay(demo.states, demo.actions)
        except RecordingError as error:
            raise RecordingError(f"{path}, data/{demo.name}: {error}") from None
        steps = len(found.letters) - 1
        rewards = np.zeros(steps) if demo.rewards is None else demo.rewards[:steps]
        episodes.append(
            Episode(
                propositions=found.propositions,
                letters=found.letters,
                rewards=rewards,
                terminated=False,
                truncated=True,
                success=found.success,
                engaged=found.engaged,
                objects=found.objects or {},
                env_id=found.env_id,
                actions=None if demo.actions is None else demo.actions[:steps],
            )
        )
    return tuple(episodes)
