"""Ending rows of a vector environment that the environment itself would let run on.

A vector environment steps all its rows or none. A row that a wrapper has ended is therefore stepped
along until its reset is due; what such a step does to it is thrown away by a reset of that row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from safe_rl.monitors import StepEvents
from safe_rl.wrappers.tally import Happened
from safe_rl.wrappers.vector.rows import merge_infos, reset_rows, take_row

Bools = NDArray[np.bool_]
_OF_THE_STEP = (
    "cost",
    "costs",
    "constraint_costs",
    "safety",
    "task_reward",
    "final_obs",
    "final_info",
)


def restart_rows(
    envs: VectorEnv[Any, Any, Any], rows: Bools, observations: Any, infos: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Reset ``rows`` (bool ``[num_envs]``) and show their first states in place of what was there.

    Raises:
        ConfigurationError: the environment ignores ``options["reset_mask"]``.
    """
    observations, new = reset_rows(envs, rows, None, observations)
    return observations, merge_infos(infos, new, rows)


def show_next_episodes(
    envs: VectorEnv[Any, Any, Any], rows: Bools, observations: Any, infos: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Reset ``rows`` within the step that ended them, as ``SAME_STEP`` asks.

    Their last observations and facts move to ``final_obs`` and ``final_info``; what the step has
    charged in them stays.
    """
    count = len(rows)
    final = infos.get("final_obs")
    final_obs = np.full(count, None, dtype=object)
    for row in range(count):
        if rows[row]:
            final_obs[row] = take_row(observations, row)
        elif final is not None:
            final_obs[row] = final[row]
    facts = {key: value for key, value in infos.items() if key.lstrip("_") not in _OF_THE_STEP}
    final_info = merge_infos(infos.get("final_info", {}), facts, rows)
    observations, new = reset_rows(envs, rows, None, observations)
    merged = with_reset(infos, new, rows)
    ended = infos.get("_final_obs", np.zeros_like(rows)) | rows
    merged |= {
        "final_obs": final_obs,
        "_final_obs": ended,
        "final_info": final_info,
        "_final_info": ended,
    }
    return observations, merged


def with_reset(infos: dict[str, Any], new: dict[str, Any], rows: Bools) -> dict[str, Any]:
    """Return the infos of a ``SAME_STEP`` step in which ``rows`` have been reset.

    ``new`` is what that reset reported. The step's own events and charges stay.
    """
    safety = dict(infos["safety"])
    codes = new["safety"]["events"].codes
    if "reset_events" in safety:
        codes = np.where(rows[:, None], codes, safety["reset_events"].codes)
    before = safety.get("_reset_events", np.zeros_like(rows))
    safety["reset_events"], safety["_reset_events"] = StepEvents(codes), before | rows
    facts = {key: value for key, value in new.items() if key.lstrip("_") != "safety"}
    return {**merge_infos(infos, facts, rows), "safety": safety}


def without_rows(infos: dict[str, Any], rows: Bools) -> dict[str, Any]:
    """Return ``infos`` in which nothing was charged, counted or ended in ``rows``."""
    cleared = dict(infos)
    for key in ("cost", "costs", "constraint_costs"):
        cleared[key] = _without(infos[key], rows)
        cleared[f"_{key}"] = infos[f"_{key}"] & ~rows
    safety = dict(infos["safety"])
    safety["happened"] = Happened(*(_without(field, rows) for field in safety["happened"]))
    if "counts" in safety:
        ended = safety["_counts"] & ~rows
        if ended.any():
            safety["counts"] = {k: _without(v, rows) for k, v in safety["counts"].items()}
            safety["_counts"] = ended
        else:
            del safety["counts"], safety["_counts"]
    cleared["safety"] = safety
    return cleared


def _without(values: NDArray[Any], rows: Bools) -> NDArray[Any]:
    kept = values.copy()
    kept[rows] = 0
    return kept
