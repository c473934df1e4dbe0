"""NumPy archives (``.npz``) written as a whole and read without executing anything in them."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import RecordingError
from safe_rl.files import replacing


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Write a compressed ``.npz`` so that a reader, and a killed program, leave no half of it."""
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)
    return path


# What reading a damaged archive can raise, beyond ValueError and OSError.
_DAMAGE: Final = (
    EOFError, KeyError, MemoryError, NotImplementedError, OverflowError, RuntimeError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a ``.npz`` without executing anything in it.

    Raises:
        RecordingError: it is missing, cut short, of another kind, or holds Python objects.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise RecordingError(f"{path}: one array, not a file of episodes (.npz)")
        with found as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise RecordingError(f"{path}: no such file") from None
    except RecordingError:
        raise
    except _DAMAGE as error:
        raise RecordingError(
            f"{path}: damaged or cut short ({error}); copy it again from where it was recorded"
        ) from None
    except ValueError as error:
        words = str(error)
        if "allow_pickle" in words or "pickle" in words:
            raise RecordingError(
                f"{path}: not a NumPy file, or one with Python objects; only plain arrays are read"
            ) from None
        raise RecordingError(f"{path}: not a NumPy file ({words})") from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror or error})") from None
