"""Single rows of a vector environment: which reset, and how their data is put among the others'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

Bools = NDArray[np.bool_]


def autoreset_mode_of(
    envs: VectorEnv[Any, Any, Any], given: AutoresetMode | str | None = None
) -> AutoresetMode:
    """Return when ``envs`` resets a sub-environment that has ended.

    Raises:
        ConfigurationError: ``envs.metadata`` does not say and ``given`` is ``None``, or the two
            disagree.
    """
    known = envs.metadata.get("autoreset_mode")
    if given is not None:
        mode = AutoresetMode(given)
        if known is not None and AutoresetMode(known) is not mode:
            raise ConfigurationError(
                f"autoreset_mode={mode} was given, but the metadata of {envs} says {known}; "
                "leave the argument out"
            )
        return mode
    if known is None:
        raise ConfigurationError(
            f"{envs} does not say when it resets sub-environments that have ended, so the cost of "
            "an episode's last step could be lost; set metadata['autoreset_mode'] or pass "
            "autoreset_mode=, one of NextStep, SameStep, Disabled"
        )
    return AutoresetMode(known)


def split_reset_mask(
    options: Mapping[str, Any] | None, num_envs: int
) -> tuple[dict[str, Any] | None, Bools]:
    """Return options that may be consumed, and the rows that they reset (bool ``[num_envs]``).

    Raises:
        ConfigurationError: ``options["reset_mask"]`` is no Boolean array of that shape, or is
            empty of true entries.
    """
    rows = np.ones(num_envs, np.bool_)
    if options is None:
        return None, rows
    own = dict(options)  # Gymnasium pops the mask from the dictionary that it is given
    if "reset_mask" in own:
        mask = own["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.shape != rows.shape or mask.dtype != np.bool_:
            raise ConfigurationError(
                f"options['reset_mask'] must be a bool array of shape {rows.shape}, but is {mask!r}"
            )
        if not mask.any():
            raise ConfigurationError("options['reset_mask'] resets nothing: no entry is true")
        rows = mask.copy()
        own["reset_mask"] = mask.copy()
    return own, rows


def seeds_of(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Return one seed per sub-environment: ``seed + i``, ``seed[i]`` of a list, or ``None``.

    Raises:
        ConfigurationError: the list has another length.
    """
    if seed is None or isinstance(seed, int):
        return [None if seed is None else seed + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ConfigurationError(
            f"seed must be an integer or a list of {num_envs} entries, got {len(seed)}"
        )
    return list(seed)


def final_infos(observations: Any, facts: Mapping[str, Any], ended: Bools) -> dict[str, Any]:
    """Return what Gymnasium's infos say of the episodes that ``ended`` (bool ``[num_envs]``)."""
    return {
        "final_obs": observations,
        "_final_obs": ended,
        "final_info": {**facts, **{f"_{key}": ended for key in facts}},
        "_final_info": ended,
    }


def reset_rows(
    envs: VectorEnv[Any, Any, Any],
    rows: Bools,
    seeds: list[int | None] | None,
    before: Any,
) -> tuple[Any, dict[str, Any]]:
    """Reset only ``rows`` (bool ``[num_envs]``) and return all observations and the new infos.

    Args:
        envs: The vector environment.
        rows: Which sub-environments to reset.
        seeds: One seed per sub-environment, or ``None``.
        before: The observations before, whose other rows must not change.

    Raises:
        ConfigurationError: the environment does not know ``options["reset_mask"]`` and has reset
            other sub-environments too.
    """
    seed: Any = None if seeds is None or all(s is None for s in seeds) else seeds
    observations, infos = envs.reset(seed=seed, options={"reset_mask": rows.copy()})
    if not rows.all() and not _same_rows(before, observations, ~rows):
        raise ConfigurationError(
            f"{envs.unwrapped} ignores options['reset_mask'] and has reset every sub-environment; "
            "resetting some of them is needed here: use a SyncVectorEnv or AsyncVectorEnv, or "
            "implement the mask"
        )
    return observations, infos


def merge_infos(infos: dict[str, Any], new: Mapping[str, Any], rows: Bools) -> dict[str, Any]:
    """Return ``infos`` with the entries of ``rows`` taken from ``new``, the infos of a reset."""
    merged = dict(infos)
    for key, value in new.items():
        merged[key] = _merged(merged.get(key), value, rows)
    return merged


def _merged(old: Any, new: Any, rows: Bools) -> Any:
    if isinstance(new, Mapping):
        return merge_infos(old if isinstance(old, dict) else {}, new, rows)
    if isinstance(new, tuple) and hasattr(new, "_fields") and type(old) is type(new):
        return type(new)(*(_merged(o, n, rows) for o, n in zip(old, new, strict=True)))
    arrays = isinstance(new, np.ndarray) and isinstance(old, np.ndarray)
    if not arrays or old.shape != new.shape or new.shape[:1] != rows.shape:
        return new
    merged = old.astype(np.result_type(old, new))
    merged[rows] = new[rows]
    return merged


def take_row(batch: Any, row: int) -> Any:
    """Return one environment's observation out of a batch of any layout."""
    if isinstance(batch, Mapping):
        return {key: take_row(value, row) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(take_row(value, row) for value in batch)
    return batch[row]


def put_rows(batch: Any, rows: Bools, source: Any) -> Any:
    """Return the observations ``batch`` with ``rows`` taken from ``source``, of any layout."""
    if isinstance(batch, Mapping):
        return {key: put_rows(value, rows, source[key]) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(put_rows(b, rows, s) for b, s in zip(batch, source, strict=True))
    mixed = np.array(batch)
    mixed[rows] = np.asarray(source)[rows]
    return mixed


def _same_rows(before: Any, after: Any, rows: Bools) -> bool:
    if isinstance(before, Mapping):
        return all(_same_rows(before[key], after[key], rows) for key in before)
    if isinstance(before, tuple):
        return all(_same_rows(b, a, rows) for b, a in zip(before, after, strict=True))
    old, new = np.asarray(before)[rows], np.asarray(after)[rows]
    floats = np.issubdtype(old.dtype, np.floating)
    return bool(np.array_equal(old, new, equal_nan=floats))
