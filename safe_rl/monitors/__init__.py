"""Monitors: the five rules of the monitor semantics, for one environment or for arrays of them.

``Monitor`` watches one environment; ``make_tables``, ``initial_state``, ``step`` and ``finish``
watch arrays of them in NumPy, PyTorch or JAX. Both give the same events, bit for bit.
"""

from safe_rl.monitors.counts import (
    CountArrays,
    Counts,
    add_end,
    add_events,
    clear_counts,
    to_counts,
    zero_counts,
)
from safe_rl.monitors.events import Array, StepEvents, Verdict
from safe_rl.monitors.machine import EventMachine, build_machine
from safe_rl.monitors.monitor import Monitor
from safe_rl.monitors.saving import state_from_dict, state_to_dict
from safe_rl.monitors.step import (
    MonitorState,
    finish,
    fulfilled,
    initial_state,
    restart,
    step,
)
from safe_rl.monitors.tables import MonitorTables, bind_specs, fingerprint, make_tables

__all__ = [
    "Array",
    "CountArrays",
    "Counts",
    "EventMachine",
    "Monitor",
    "MonitorState",
    "MonitorTables",
    "StepEvents",
    "Verdict",
    "add_end",
    "add_events",
    "bind_specs",
    "build_machine",
    "clear_counts",
    "fingerprint",
    "finish",
    "fulfilled",
    "initial_state",
    "make_tables",
    "restart",
    "state_from_dict",
    "state_to_dict",
    "step",
    "to_counts",
    "zero_counts",
]
