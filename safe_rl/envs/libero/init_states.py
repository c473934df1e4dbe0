"""LIBERO's initial states, read without unpickling anything.

A ``.pruned_init`` file is a zip archive, written by torch, whose ``data.pkl`` is the pickle of one
numpy matrix. Unpickling runs what the file says; reading it here does not: the pickle's operations
are listed (``pickletools`` executes none), compared with the one sequence that pickles a float64
matrix, and the numbers are taken from it. Any other file is refused.
"""

from __future__ import annotations

import pickletools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

# Each operation with the argument that it must have; ``...`` stands for the matrix's own shape,
# order and numbers. Operations that only number what was read (BINPUT) are left out.
_MATRIX: tuple[tuple[str, Any], ...] = (
    ("PROTO", 2),
    ("GLOBAL", "numpy.core.multiarray _reconstruct"),
    ("GLOBAL", "numpy ndarray"),
    ("BININT1", 0),
    ("TUPLE1", None),
    ("GLOBAL", "_codecs encode"),
    ("BINUNICODE", "b"),
    ("BINUNICODE", "latin1"),
    ("TUPLE2", None),
    ("REDUCE", None),
    ("TUPLE3", None),
    ("REDUCE", None),
    ("MARK", None),
    ("BININT1", 1),
    ("BININT1", ...),  # rows
    ("BININT1", ...),  # columns
    ("TUPLE2", None),
    ("GLOBAL", "numpy dtype"),
    ("BINUNICODE", "f8"),
    ("NEWFALSE", None),
    ("NEWTRUE", None),
    ("TUPLE3", None),
    ("REDUCE", None),
    ("MARK", None),
    ("BININT1", 3),
    ("BINUNICODE", "<"),
    ("NONE", None),
    ("NONE", None),
    ("NONE", None),
    ("BININT", -1),
    ("BININT", -1),
    ("BININT1", 0),
    ("TUPLE", None),
    ("BUILD", None),
    ("NEWFALSE", None),  # rows one after the other
    ("BINGET", 3),
    ("BINUNICODE", ...),  # the numbers' bytes
    ("BINGET", 5),
    ("TUPLE2", None),
    ("REDUCE", None),
    ("TUPLE", None),
    ("BUILD", None),
    ("STOP", None),
)
_NUMBERING = {"BINPUT", "LONG_BINPUT"}


def read_init_states(path: Path) -> NDArray[np.float64]:
    """The states ``[N, 1 + nq + nv]`` in a file: time, positions, velocities.

    Raises:
        ConfigurationError: if the file holds anything but one float64 matrix with fewer than 256
            rows and columns (LIBERO's have 50 rows and up to 127 columns).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("data.pkl")]
            pickle = archive.read(names[0])
        found = [
            (operation.name, argument)
            for operation, argument, _ in pickletools.genops(pickle)
            if operation.name not in _NUMBERING
        ]
    except (OSError, IndexError, ValueError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            f"{path} is no file of initial states ({type(error).__name__}: {error})"
        ) from error
    free: list[Any] = []
    for place, (operation, expected) in enumerate(_MATRIX):
        if place >= len(found) or found[place][0] != operation:
            break
        if expected is ...:
            free.append(found[place][1])
        elif found[place][1] != expected:
            break
    else:
        if len(found) == len(_MATRIX):
            return _matrix(path, *free)
    raise ConfigurationError(
        f"{path} holds something else than one float64 matrix; it is not read, because reading it "
        "would mean to run what it says"
    )


def _matrix(path: Path, rows: int, columns: int, numbers: str) -> NDArray[np.float64]:
    try:
        values = np.frombuffer(numbers.encode("latin1"), dtype="<f8").reshape(rows, columns)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    if not np.isfinite(values).all():
        raise ConfigurationError(f"{path} holds numbers that are not finite")
    return values.astype(np.float64)
