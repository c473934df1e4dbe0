"""Messages: msgpack, with arrays as openpi-client's ``msgpack_numpy`` writes them; no pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from safe_rl.errors import PolicyError
from safe_rl.policies.openpi.backend import msgpack

LARGEST = 256 * 2**20
"""Bytes that a message may have."""

_KINDS = "biufSU"
"""Booleans, integers, floats and text; nothing that holds objects."""


def pack(message: Mapping[str, Any]) -> bytes:
    """Return a message as bytes.

    Raises:
        PolicyError: it holds something else than plain data and arrays of numbers or text.

    >>> unpack(pack({"actions": np.zeros((2, 3), np.float32)}))["actions"].shape
    (2, 3)
    """
    try:
        packed: bytes = msgpack.packb(dict(message), default=_written)
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyError(f"the message cannot be sent: {error}") from None
    return packed


def unpack(data: bytes | str) -> dict[str, Any]:
    """Read a message.

    Raises:
        PolicyError: it is not a mapping in this form.
    """
    if isinstance(data, str):
        raise PolicyError(f"a message of bytes was expected, but text came: {data[:200]!r}")
    try:
        message = msgpack.unpackb(data, object_hook=_read)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise PolicyError(f"a message of {len(data)} bytes cannot be read ({error})") from None
    if not isinstance(message, dict):
        raise PolicyError(f"a message must be a mapping, but is {type(message).__name__}")
    return message


def _written(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{type(value).__name__} is neither plain data nor an array")
    if value.dtype.kind not in _KINDS:
        raise ValueError(f"arrays of {value.dtype} are not sent")
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    return {
        b"__ndarray__": True,
        b"data": value.tobytes(),
        b"dtype": value.dtype.str,
        b"shape": value.shape,
    }


def _read(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        flat = np.frombuffer(value[b"data"], _dtype(value[b"dtype"]))
        return flat.reshape(value[b"shape"])
    if b"__npgeneric__" in value:
        return _dtype(value[b"dtype"]).type(value[b"data"])
    return value


def _dtype(name: Any) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in _KINDS or dtype.names is not None:
        raise ValueError(f"arrays of {dtype} are not read")
    return dtype
