"""Files of recorded episodes, ``*.episodes.npz``: plain NumPy arrays, written as a whole.

A file holds ``E`` episodes of one environment, one after the other: ``F`` frames in all (an episode
of ``T`` steps has ``T + 1``), ``F - E`` steps, ``P`` propositions.

==================  =============================  =================================================
array               type and shape                 meaning
==================  =============================  =================================================
``format``          text                           ``"safe-rl episodes"``
``version``         int                            1
``propositions``    text ``[P]``                   names of the columns of ``letters``
``letters``         bool ``[F, P]``                frame by frame, the reset's first in each episode
``frames``          int64 ``[E]``                  frames of each episode
``rewards``         float64 ``[F - E]``            of each step
``terminated``      bool ``[E]``                   the environment terminated
``truncated``       bool ``[E]``                   cut off; neither is read as cut off
``success``         int8 ``[E]``                   1, 0, or -1 where nothing says so
``engaged``         int8 ``[F]``                   1, 0, or -1 where nothing says so
``seeds``           int64 ``[E]``                  of the reset, or -1 where none was given
``instructions``    text ``[E]``                   words that the policy was given
``env_id``          text                           the environment
``objects``         text                           JSON: property to names of objects
``actions``         any number ``[F - E, ...]``    optional
``states``          float64 ``[F, S]``             optional: flattened simulator states
``bodies``          text ``[B]``                   optional: bodies placed in the simulator's model
``placements``      float64 ``[E, B, 7]``          optional: where, position and quaternion
``observations.x``  any number ``[F, ...]``        optional: the observation named ``x``
==================  =============================  =================================================

Nothing in a file is executed when it is read: arrays of Python objects are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.archives import read_arrays, write_arrays
from safe_rl.data.episode import Episode
from safe_rl.errors import RecordingError

SUFFIX: Final = ".episodes.npz"
FORMAT: Final = "safe-rl episodes"
VERSION: Final = 1
OBSERVATIONS: Final = "observations."

Arrays = Mapping[str, NDArray[Any]]


def save_episodes(path: str | Path, episodes: Sequence[Episode]) -> Path:
    """Write episodes of one environment so that a reader never sees half of a file.

    Raises:
        RecordingError: there are none, or they differ in propositions, objects or environment, or
            only some have actions, states or an observation.
    """
    path = Path(path)
    if not episodes:
        raise RecordingError(f"{path}: there are no episodes to write")
    first = episodes[0]
    for index, episode in enumerate(episodes):
        for name in ("propositions", "objects", "env_id"):
            if getattr(episode, name) != getattr(first, name):
                raise RecordingError(
                    f"{path}: episode {index} has other {name} than episode 0; write episodes of "
                    "different environments into different files"
                )
    arrays: dict[str, Any] = {
        "format": np.asarray(FORMAT),
        "version": np.asarray(VERSION),
        "propositions": np.asarray(first.propositions, dtype=str),
        "letters": np.concatenate([e.letters for e in episodes]),
        "frames": np.array([len(e.letters) for e in episodes], np.int64),
        "rewards": np.concatenate([np.asarray(e.rewards, np.float64) for e in episodes]),
        "terminated": np.array([e.terminated for e in episodes], np.bool_),
        "truncated": np.array([e.truncated for e in episodes], np.bool_),
        "success": np.array([_code(e.success) for e in episodes], np.int8),
        "engaged": np.concatenate(
            [
                np.full(len(e.letters), -1, np.int8) if e.engaged is None else e.engaged
                for e in episodes
            ]
        ).astype(np.int8),
        "seeds": np.array([-1 if e.seed is None else e.seed for e in episodes], np.int64),
        "instructions": np.array([e.instruction for e in episodes], dtype=str),
        "env_id": np.asarray(first.env_id),
        "objects": np.asarray(json.dumps({k: list(v) for k, v in first.objects.items()})),
    }
    for name in ("actions", "states"):
        values = [getattr(e, name) for e in episodes]
        if all(value is not None for value in values):
            arrays[name] = np.concatenate(values)
        elif any(value is not None for value in values):
            raise RecordingError(f"{path}: only some of the episodes have {name}; give all or none")
    seen = set(first.observations)
    if any(set(e.observations) != seen for e in episodes):
        raise RecordingError(f"{path}: the episodes have different observations")
    for name in first.observations:
        arrays[OBSERVATIONS + name] = _joined(path, name, [e.observations[name] for e in episodes])
    bodies = tuple(first.placements)
    if bodies:
        if any(set(e.placements) != set(bodies) for e in episodes):
            raise RecordingError(f"{path}: the episodes have placements of different bodies")
        arrays["bodies"] = np.asarray(bodies, dtype=str)
        arrays["placements"] = np.array(
            [[e.placements[body] for body in bodies] for e in episodes], np.float64
        )
    return write_arrays(path, arrays)


def _joined(path: Path, name: str, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    kinds = {(value.dtype, value.shape[1:]) for value in values}
    if len(kinds) > 1:
        raise RecordingError(
            f"{path}: the observation {name!r} has another type or shape in some of the episodes: "
            f"{sorted(f'{dtype} {list(shape)}' for dtype, shape in kinds)}"
        )
    return np.concatenate(values)


def _code(value: bool | None) -> int:
    return -1 if value is None else int(value)


_NEEDED: Final[Mapping[str, tuple[str, int]]] = {  # kind and number of axes of each array
    "propositions": ("U", 1),
    "letters": ("b", 2),
    "frames": ("i", 1),
    "rewards": ("f", 1),
    "terminated": ("b", 1),
    "truncated": ("b", 1),
    "success": ("i", 1),
    "engaged": ("i", 1),
    "seeds": ("i", 1),
    "instructions": ("U", 1),
    "env_id": ("U", 0),
    "objects": ("U", 0),
}


def load_episodes(path: str | Path) -> tuple[Episode, ...]:
    """Read what :func:`save_episodes` wrote.

    Raises:
        RecordingError: the file is missing, damaged, of another format or a later version; the
            message names the file and what is wrong with it.
    """
    path = Path(path)
    arrays = read_arrays(path)
    found = str(arrays.get("format", "missing"))
    if found != FORMAT:
        raise RecordingError(
            f"{path}: not a file of episodes (its format is {found!r}, expected {FORMAT!r})"
        )
    version = arrays.get("version", np.asarray(0))
    if version.shape != () or version.dtype.kind != "i" or int(version) != VERSION:
        raise RecordingError(
            f"{path}: version {version} of the format, but this program reads version {VERSION}"
        )
    _check(path, arrays)
    objects = _objects(path, str(arrays["objects"]))
    ends = np.cumsum(arrays["frames"])
    starts = ends - arrays["frames"]
    return tuple(
        _episode(path, arrays, objects, index, int(start), int(end))
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def _check(path: Path, arrays: Arrays) -> None:
    """Raise unless every array is there, of its type and of a length that fits the others."""
    for name, (kind, axes) in _NEEDED.items():
        if name not in arrays:
            raise RecordingError(f"{path}: the array {name!r} is missing; the file is damaged")
        array = arrays[name]
        if array.dtype.kind != kind or array.ndim != axes:
            raise RecordingError(
                f"{path}: the array {name!r} has the type {array.dtype} and {array.ndim} axes, "
                f"expected kind {kind!r} and {axes}"
            )
    frames = arrays["frames"]
    if len(frames) == 0 or (frames < 1).any():
        raise RecordingError(f"{path}: 'frames' must give every episode at least one frame")
    total, episodes = int(frames.sum()), len(frames)
    lengths = {
        "letters": total,
        "engaged": total,
        "states": total,
        **dict.fromkeys((name for name in arrays if name.startswith(OBSERVATIONS)), total),
        "rewards": total - episodes,
        "actions": total - episodes,
        **dict.fromkeys(("terminated", "truncated", "success", "seeds", "instructions"), episodes),
    }
    for name, wanted in lengths.items():
        if name in arrays and (arrays[name].ndim == 0 or len(arrays[name]) != wanted):
            raise RecordingError(
                f"{path}: the array {name!r} has the shape {arrays[name].shape}, but {episodes} "
                f"episodes of {total} frames need {wanted} rows; the file is damaged"
            )
    if "states" in arrays and (arrays["states"].dtype.kind != "f" or arrays["states"].ndim != 2):
        raise RecordingError(f"{path}: 'states' must be floats, one row per frame")
    bodies, places = arrays.get("bodies", np.zeros(0)), arrays.get("placements")
    if "bodies" in arrays and (
        bodies.dtype.kind != "U"
        or places is None
        or places.dtype.kind != "f"
        or places.shape != (episodes, len(bodies), 7)
    ):
        raise RecordingError(
            f"{path}: 'placements' must hold 7 floats for each of the {bodies.size} bodies in each "
            f"of the {episodes} episodes; the file is damaged"
        )
    for name in ("success", "engaged"):
        strange = arrays[name][~np.isin(arrays[name], (-1, 0, 1))]
        if strange.size:
            raise RecordingError(f"{path}: {name!r} holds {int(strange[0])}; it is 1, 0 or -1")


def _objects(path: Path, text: str) -> dict[str, tuple[str, ...]]:
    try:
        found = json.loads(text)
        return {str(k): tuple(map(str, names)) for k, names in found.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise RecordingError(
            f"{path}: 'objects' must be JSON, property to names, but is {text[:60]!r}"
        ) from None


def _placements(arrays: Arrays, index: int) -> dict[str, tuple[float, ...]]:
    if "bodies" not in arrays:
        return {}
    places = arrays["placements"][index].tolist()
    return {str(body): tuple(place) for body, place in zip(arrays["bodies"], places, strict=True)}


def _episode(
    path: Path,
    arrays: Arrays,
    objects: Mapping[str, tuple[str, ...]],
    index: int,
    start: int,
    end: int,
) -> Episode:
    steps = slice(start - index, end - index - 1)  # each episode has one step fewer than frames
    engaged = arrays["engaged"][start:end]
    success, seed = int(arrays["success"][index]), int(arrays["seeds"][index])
    try:
        return Episode(
            propositions=tuple(map(str, arrays["propositions"])),
            letters=arrays["letters"][start:end],
            rewards=arrays["rewards"][steps],
            terminated=bool(arrays["terminated"][index]),
            truncated=bool(arrays["truncated"][index]),
            success=None if success < 0 else bool(success),
            engaged=None if (engaged < 0).any() else engaged.astype(np.bool_),
            objects=objects,
            env_id=str(arrays["env_id"]),
            instruction=str(arrays["instructions"][index]),
            seed=None if seed < 0 else seed,
            actions=arrays["actions"][steps] if "actions" in arrays else None,
            states=arrays["states"][start:end] if "states" in arrays else None,
            placements=_placements(arrays, index),
            observations={
                name.removeprefix(OBSERVATIONS): array[start:end]
                for name, array in arrays.items()
                if name.startswith(OBSERVATIONS)
            },
        )
    except RecordingError as error:
        raise RecordingError(f"{path}, episode {index}: {error}") from None
