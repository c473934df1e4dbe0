"""Monitor states as plain data for checkpoints: numbers and NumPy arrays, never pickles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import CheckpointError
from safe_rl.monitors.events import Array
from safe_rl.monitors.step import MonitorState
from safe_rl.monitors.tables import MonitorTables


def state_to_dict(tables: MonitorTables, state: MonitorState) -> dict[str, Any]:
    """Return the state as NumPy arrays, with the fingerprint of the monitors it belongs to."""
    return {
        "fingerprint": tables.fingerprint,
        "automaton": _to_numpy(state.automaton),
        "open": _to_numpy(state.open),
    }


def state_from_dict(tables: MonitorTables, saved: Mapping[str, Any]) -> MonitorState:
    """Return the state that :func:`state_to_dict` saved, in the tables' own namespace.

    Raises:
        CheckpointError: it was saved for other monitors, or it is damaged.
    """
    check_fingerprint(saved, tables.fingerprint)
    xp = tables.xp
    arrays = []
    for key in ("automaton", "open"):
        if key not in saved:
            raise CheckpointError(f"the saved monitor state lacks {key!r}; it is damaged")
        array = np.asarray(saved[key], dtype=np.int32)
        if array.ndim == 0 or array.shape[tables.axis] != tables.num_instances:
            raise CheckpointError(
                f"the saved monitor state {key!r} has the shape {array.shape}, but the "
                f"{'last' if tables.axis == -1 else 'first'} axis must be {tables.num_instances} "
                "instances; it belongs to another run"
            )
        arrays.append(array)
    automaton, is_open = arrays
    by_instance = np.moveaxis(automaton, tables.axis, -1)
    if (automaton < 0).any() or (by_instance >= np.array(tables.num_states)).any():
        raise CheckpointError(
            "the saved monitor state holds an automaton state that does not exist; it is damaged"
        )
    device = {} if tables.device is None else {"device": tables.device}
    return MonitorState(xp.asarray(automaton, **device), xp.asarray(is_open, **device))


def _to_numpy(array: Array) -> NDArray[np.int32]:
    """Copy an int32 array of any library and device."""
    return np.array(array.tolist(), dtype=np.int32).reshape(array.shape)


def check_fingerprint(saved: Mapping[str, Any], expected: str) -> None:
    """Raise unless ``saved`` belongs to monitors with the fingerprint ``expected``.

    Raises:
        CheckpointError: it does not.
    """
    found = saved.get("fingerprint")
    if found != expected:
        raise CheckpointError(
            f"the saved monitor state belongs to other specifications or objects (fingerprint "
            f"{found!r}, these have {expected!r}); load it with those it was saved with"
        )
