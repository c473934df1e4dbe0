"""One file that holds nested plain values, arrays and torch state, written atomically.

The file is a zip of ``tree.json``, ``arrays.npz`` and ``<name>.pt`` members. Nothing in it is a
pickle of objects: JSON, ``numpy.load(allow_pickle=False)`` and ``torch.load(weights_only=True)``
read it, so a file from a stranger can at worst be wrong.

Writing goes to a temporary file in the same folder, which is flushed to the disk and then renamed
over the target in one step: a process killed at any moment leaves the previous file or the new
one, never half of either.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch as th

from safe_rl.errors import CheckpointError

__all__ = ["UnsupportedValueError", "read_archive", "temporary_name", "write_archive"]

_BIT_GENERATORS = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}


class UnsupportedValueError(TypeError):
    """A value has no plain representation; the message says where it is and what it is."""


def _encode(value: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return ``value`` as JSON; arrays move to ``arrays``, other types to tagged objects."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and not isinstance(value, np.generic):
        return int(value)
    if isinstance(value, float) and not isinstance(value, np.generic):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise UnsupportedValueError(f"{where} is an array of Python objects")
        key = f"a{len(arrays)}"
        arrays[key] = array
        return {"@": "scalar" if isinstance(value, np.generic) else "array", "key": key}
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        return {"@": "generator", "state": _encode(dict(state), f"{where}.state", arrays)}
    if isinstance(value, Mapping):
        items = [
            [_encode(k, f"{where} key", arrays), _encode(v, f"{where}[{k!r}]", arrays)]
            for k, v in value.items()
        ]
        if all(isinstance(k, str) and not k.startswith("@") for k in value):
            return dict(items)
        return {"@": "mapping", "items": items}
    if isinstance(value, list | tuple | deque | set | frozenset):
        unordered = isinstance(value, set | frozenset)
        members = sorted(value, key=repr) if unordered else value
        encoded = [_encode(v, f"{where}[{i}]", arrays) for i, v in enumerate(members)]
        if isinstance(value, list):
            return encoded
        tag = {"@": "set" if unordered else "tuple", "items": encoded}
        return {**tag, "@": "deque", "maxlen": value.maxlen} if isinstance(value, deque) else tag
    raise UnsupportedValueError(f"{where} is a {type(value).__module__}.{type(value).__qualname__}")


def _decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("@")
    if tag is None:
        return {k: _decode(v, arrays) for k, v in value.items()}
    if tag == "array":
        return arrays[value["key"]]
    if tag == "scalar":
        return arrays[value["key"]][()]
    if tag == "generator":
        state = _decode(value["state"], arrays)
        bits = _BIT_GENERATORS[state["bit_generator"]]()
        bits.state = state
        return np.random.Generator(bits)
    if tag == "mapping":
        return {_decode(k, arrays): _decode(v, arrays) for k, v in value["items"]}
    items = [_decode(v, arrays) for v in value["items"]]
    if tag == "tuple":
        return tuple(items)
    if tag == "set":
        return frozenset(items)
    if tag == "deque":
        return deque(items, maxlen=value["maxlen"])
    raise KeyError(f"unknown tag {tag!r}")


def encode_tree(tree: Any, where: str = "value") -> tuple[Any, dict[str, np.ndarray]]:
    """Return a nested value as JSON, and the arrays in it apart.

    NamedTuples become tuples and sets frozensets; numpy generators keep their state.

    Raises:
        UnsupportedValueError: a value of another type; the message names its place and its type.
    """
    arrays: dict[str, np.ndarray] = {}
    return _encode(tree, where, arrays), arrays


def temporary_name(path: Path) -> Path:
    """Return the name under which ``path`` is written before it is renamed."""
    return path.with_name(f".{path.name}.partial")


def write_archive(path: str | Path, tree: Any, torch_states: Mapping[str, Any]) -> Path:
    """Write ``tree`` and the torch state dictionaries to ``path``, atomically.

    Raises:
        UnsupportedValueError: see :func:`encode_tree`; nothing is written then.
        CheckpointError: the file system refused; a previous file is untouched.
    """
    path = Path(path)
    encoded, arrays = encode_tree(tree, path.name)
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    partial = temporary_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, state in torch_states.items():
                    buffer = io.BytesIO()
                    th.save(state, buffer)
                    archive.writestr(f"{name}.pt", buffer.getvalue())
                archive.writestr("arrays.npz", packed.getvalue())
                archive.writestr("tree.json", json.dumps(encoded))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CheckpointError(
            f"could not write the checkpoint {path}: {error}; free some space or choose another "
            f"folder (a previous file of that name is untouched)"
        ) from error
    _sync_folder(path.parent)
    return path


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be synchronised."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_archive(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return the tree and the torch state dictionaries of a file.

    Raises:
        CheckpointError: the file is missing, truncated, damaged or not one of ours; the message
            names an older checkpoint in the same folder, if there is one.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint {path}{_others(path)}")
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
            if broken is not None:
                raise zipfile.BadZipFile(f"the member {broken} fails its checksum")
            names = set(archive.namelist())
            if not {"tree.json", "arrays.npz"} <= names:
                raise KeyError(f"it holds {sorted(names)}, not tree.json and arrays.npz")
            with np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False) as packed:
                arrays = {key: packed[key] for key in packed.files}
            tree = _decode(json.loads(archive.read("tree.json")), arrays)
            states = {
                name.removesuffix(".pt"): th.load(
                    io.BytesIO(archive.read(name)), map_location="cpu", weights_only=True
                )
                for name in sorted(names)
                if name.endswith(".pt")
            }
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        TypeError,
        RuntimeError,
        NotImplementedError,
        zipfile.BadZipFile,
        pickle.UnpicklingError,
    ) as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be read, it is damaged or no checkpoint of this "
            f"package: {error}{_others(path)}"
        ) from error
    return tree, states


def _others(path: Path) -> str:
    """Name the newest other checkpoint beside ``path``, as the way out."""
    folder = path.parent
    if not folder.is_dir():
        return f"; the folder {folder} does not exist"
    others = [other for other in folder.glob("*.zip") if other != path]
    if not others:
        return ""
    newest = max(others, key=lambda other: other.stat().st_mtime)
    return f"; the newest other checkpoint there is {newest}"
