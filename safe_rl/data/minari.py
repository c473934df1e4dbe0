"""Minari datasets, in its HDF5 layout: ``<dataset>/data/main_data.hdf5`` with ``metadata.json``.

``episode_<k>`` holds ``observations`` ``[T + 1, ...]`` (an array, or a group of them), ``actions``
``[T, ...]``, ``rewards``, ``terminations`` and ``truncations`` ``[T]``. Where the environment told
its propositions (``info["propositions"]``, as ``ProductMDP`` does) and the collector kept them
(``record_infos=True``), they stand in ``infos/propositions``, each ``[T + 1]``; ``infos/success``
and ``infos/engaged`` are read too. Minari itself is not needed. Its Arrow layout is not read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools, Episode
from safe_rl.data.hdf5 import hdf5, observation_name
from safe_rl.data.lerobot.images import decode_image
from safe_rl.errors import RecordingError

FILE: Final = "main_data.hdf5"
METADATA: Final = "metadata.json"


def is_minari(path: Path) -> bool:
    """Whether a file holds the episodes of a Minari dataset."""
    return path.name == FILE and path.with_name(METADATA).is_file()


def load_minari(path: str | Path, *, observations: bool = True) -> tuple[Episode, ...]:
    """Read the episodes of a Minari dataset, in the order of their numbers.

    An observation that is one vector is ``"state"``, as float32; those of a dictionary keep their
    names. Actions of more than one part are left out.

    Args:
        path: of ``main_data.hdf5``, or of the dataset's folder.
        observations: read what was seen, which may be many images.

    Raises:
        RecordingError: the file is missing or damaged.
        MissingDependencyError: h5py is not installed.
    """
    path = Path(path)
    path = path / "data" / FILE if path.is_dir() else path
    h5py = hdf5("reading Minari datasets")
    if not is_minari(path):
        raise RecordingError(f"{path}: no Minari dataset in HDF5 ({FILE} beside {METADATA})")
    env_id = _env_id(path.with_name(METADATA))
    try:
        with h5py.File(path, "r") as file:
            numbers = [int(m[1]) for name in file if (m := re.fullmatch(r"episode_(\d+)", name))]
            if not numbers:
                raise RecordingError(f"{path}: no group episode_<k>; there are no episodes")
            return tuple(
                _episode(
                    f"{path}, episode_{number}", file[f"episode_{number}"], env_id, observations
                )
                for number in sorted(numbers)
            )
    except (OSError, RuntimeError, KeyError) as error:
        raise RecordingError(f"{path}: damaged or not an HDF5 file ({error})") from None


def _env_id(path: Path) -> str:
    try:
        spec = json.loads(path.read_text(encoding="utf-8")).get("env_spec") or "{}"
        return str(json.loads(spec).get("id", ""))
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from None


def _episode(where: str, group: Any, env_id: str, with_observations: bool) -> Episode:
    steps = len(group["rewards"])
    infos = group["infos"] if "infos" in group else {}
    letters = _letters(where, infos, steps + 1)
    terminated = bool(group["terminations"][()].any())
    seen = _observations(where, group["observations"]) if with_observations else {}
    actions = group["actions"]
    success = _flags(where, infos, "success", steps + 1)
    seed = group.attrs.get("seed")
    try:
        return Episode(
            propositions=tuple(letters),
            letters=np.stack(list(letters.values()), axis=1)
            if letters
            else np.zeros((steps + 1, 0), np.bool_),
            rewards=np.asarray(group["rewards"][()], np.float64),
            terminated=terminated,
            truncated=not terminated and bool(group["truncations"][()].any()),
            success=None if success is None else bool(success[-1]),
            engaged=_flags(where, infos, "engaged", steps + 1),
            env_id=env_id,
            seed=int(seed) if isinstance(seed, int | np.integer) else None,
            actions=actions[()] if hasattr(actions, "dtype") else None,
            observations=seen,
        )
    except RecordingError as error:
        raise RecordingError(f"{where}: {error}") from None


def _letters(where: str, infos: Any, frames: int) -> dict[str, Bools]:
    told = infos.get("propositions", {})
    found = {name: _flags(where, told, name, frames) for name in told}
    return {name: flags for name, flags in found.items() if flags is not None}


def _flags(where: str, infos: Any, name: str, frames: int) -> Bools | None:
    """One truth value per frame, or ``None`` where there is no such array."""
    if name not in infos:
        return None
    values = infos[name]
    if getattr(values, "dtype", None) != np.bool_ or values.shape != (frames,):
        raise RecordingError(
            f"{where}: {name!r} must hold {frames} truth values, but is "
            f"{getattr(values, 'dtype', 'a group')} of shape {getattr(values, 'shape', ())}"
        )
    return np.asarray(values[()], np.bool_)


def _observations(where: str, found: Any) -> dict[str, NDArray[Any]]:
    if hasattr(found, "dtype"):
        values = _decoded(where, found)
        if values.ndim == 2:
            return {"state": values.astype(np.float32)}
        return {observation_name("camera" if values.ndim == 4 else "observation", values): values}
    seen: dict[str, NDArray[Any]] = {}
    for name, part in found.items():
        if hasattr(part, "dtype"):
            values = _decoded(where, part)
            plain = observation_name(name, values)
            seen[plain] = values.astype(np.float32) if plain == "state" else values
        else:
            seen |= {f"{name}.{own}": values for own, values in _observations(where, part).items()}
    return seen


def _decoded(where: str, found: Any) -> NDArray[Any]:
    """An array; images that Minari kept as JPEG files are decoded."""
    values: NDArray[Any] = found[()]
    if values.dtype != object:
        return values
    return np.stack([decode_image(bytes(content), where) for content in values])
