"""What an evaluation keeps of each episode: columns of counts, one row per episode.

Everything that a report says is computed from these columns by the pure functions of
:mod:`safe_rl.evaluation.metrics`, so a saved table of episodes can be scored again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.specs import SpecSet

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SpecificationColumns:
    """Names of the columns of an :class:`EpisodeRecords`: ``I`` instances of ``S`` specifications.

    Attributes:
        ids: the specifications' ids, ``[S]``.
        categories: the category of each specification, ``[S]``.
        instance_ids: ids such as ``"grasp_stable[o=mug_1]"``, ``[I]``.
        instance_index: for each instance the index of its specification, int ``[I]``.
    """

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    instance_ids: tuple[str, ...]
    instance_index: tuple[int, ...]

    @classmethod
    def of(cls, specs: SpecSet) -> SpecificationColumns:
        """Read the columns off a bound set of specifications."""
        return cls(
            ids=tuple(specs.ids),
            categories=tuple(specification.category for specification in specs),
            instance_ids=tuple(instance.id for instance in specs.instances),
            instance_index=tuple(int(index) for index in specs.instance_index),
        )

    def per_specification(self, values: NDArray[np.generic]) -> Ints:
        """Sum ``[..., I]`` over the instances of each specification, giving int64 ``[..., S]``."""
        membership = np.zeros((len(self.instance_ids), len(self.ids)), np.int64)
        membership[np.arange(len(self.instance_ids)), np.asarray(self.instance_index, int)] = 1
        totals: Ints = np.asarray(values, np.int64) @ membership
        return totals

    def first_of_specification(self, steps: Ints) -> Ints:
        """Take ``[E, I]`` to ``[E, S]``: the first step of any instance; -1 stands for none."""
        never = np.iinfo(np.int64).max
        first = np.full((len(steps), len(self.ids)), never, np.int64)
        for column, index in enumerate(self.instance_index):
            own = np.where(steps[:, column] < 0, never, steps[:, column])
            first[:, index] = np.minimum(first[:, index], own)
        return np.where(first == never, -1, first)


@dataclass(frozen=True)
class EpisodeRecords:
    """One row per finished episode (``E`` rows).

    Attributes:
        columns: the names of the ``I`` instance columns.
        returns: undiscounted sum of the task's reward, float64 ``[E]``.
        lengths: number of actions taken, int64 ``[E]``.
        terminated: the environment terminated (as opposed to truncated), bool ``[E]``.
        success: the task was achieved, bool ``[E]``; ``None`` where the environment does not say.
        engaged: the robot touched a task object, bool ``[E]``; ``None`` where the environment
            does not say.
        charged: some violation happened at or after the first contact, bool ``[E]`` (any
            violation, where the environment does not report contact). The violations before it
            reflect the initial scene and not the policy (ManiGuard, section 4.2).
        triggered: N, the triggered events that were fulfilled or violated, int64 ``[E, I]``.
        violations: V, violations, int64 ``[E, I]``.
        exposure: U, steps spent in violation, int64 ``[E, I]``.
        pending: events still open at a truncation; in neither N nor V; int64 ``[E, I]``.
        first_violation: step of each instance's first violation (0 is the reset), -1 for none,
            int64 ``[E, I]``.
        costs: episode sum of each constraint's signal, float64 ``[E, C]``.
        first_charged: step of each instance's first violation from first contact on, -1 for none,
            int64 ``[E, I]``; ``None`` where only :attr:`charged` is known.
    """

    columns: SpecificationColumns
    returns: Floats
    lengths: Ints
    terminated: Bools
    success: Bools | None
    engaged: Bools | None
    charged: Bools
    triggered: Ints
    violations: Ints
    exposure: Ints
    pending: Ints
    first_violation: Ints
    costs: Floats
    first_charged: Ints | None = None

    def __post_init__(self) -> None:
        """Check that every column has one row per episode, and one column per instance."""
        for name in _COLUMNS:
            value = getattr(self, name)
            if value is None:
                continue
            if len(value) != len(self.returns):
                raise ConfigurationError(
                    f"EpisodeRecords.{name} has {len(value)} rows where returns has "
                    f"{len(self.returns)}; give one row per episode"
                )
            if name in _INSTANCE_COLUMNS and value.shape[1] != len(self.columns.instance_ids):
                raise ConfigurationError(
                    f"EpisodeRecords.{name} has {value.shape[1]} columns for "
                    f"{len(self.columns.instance_ids)} instances; give one per instance"
                )

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.returns)

    def select(self, rows: NDArray[np.generic] | slice) -> EpisodeRecords:
        """Return the episodes that ``rows`` (mask, indices or slice) picks."""
        picked: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in _COLUMNS
        }
        return replace(self, **picked)

    def by_specification(self) -> EpisodeRecords:
        """Return the same episodes with one column per specification, its instances summed.

        Episodes with different objects have different instances; so they can be pooled.
        """
        columns = self.columns
        summed: dict[str, Any] = {
            name: columns.per_specification(getattr(self, name))
            for name in ("triggered", "violations", "exposure", "pending")
        }
        charged = self.first_charged
        return replace(
            self,
            columns=SpecificationColumns(
                columns.ids, columns.categories, columns.ids, tuple(range(len(columns.ids)))
            ),
            first_violation=columns.first_of_specification(self.first_violation),
            first_charged=None if charged is None else columns.first_of_specification(charged),
            **summed,
        )

    def save(self, path: str | Path) -> None:
        """Write the columns to a compressed ``.npz`` file that :func:`load_records` reads."""
        np.savez_compressed(path, **records_to_arrays(self))


_COLUMNS = tuple(field.name for field in fields(EpisodeRecords) if field.name != "columns")
_OPTIONAL = frozenset(("success", "engaged", "first_charged"))
_INSTANCE_COLUMNS = frozenset(
    ("triggered", "violations", "exposure", "pending", "first_violation", "first_charged")
)


def load_records(path: str | Path) -> EpisodeRecords:
    """Read what :meth:`EpisodeRecords.save` wrote; nothing in the file is executed."""
    with np.load(path, allow_pickle=False) as file:
        return records_from_arrays({name: file[name] for name in file.files})


def records_to_arrays(records: EpisodeRecords) -> dict[str, Any]:
    """Return the columns and their names as plain arrays; unknown columns are left out."""
    columns = records.columns
    found = {name: getattr(records, name) for name in _COLUMNS}
    return {
        **{name: array for name, array in found.items() if array is not None},
        "ids": np.asarray(columns.ids, str),
        "categories": np.asarray(columns.categories, str),
        "instance_ids": np.asarray(columns.instance_ids, str),
        "instance_index": np.asarray(columns.instance_index, np.int64),
    }


def records_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> EpisodeRecords:
    """Read what :func:`records_to_arrays` gave; other arrays are ignored.

    Raises:
        KeyError: a column is missing.
    """
    columns = SpecificationColumns(
        ids=tuple(str(name) for name in arrays["ids"]),
        categories=tuple(str(name) for name in arrays["categories"]),
        instance_ids=tuple(str(name) for name in arrays["instance_ids"]),
        instance_index=tuple(int(index) for index in arrays["instance_index"]),
    )
    found: dict[str, Any] = {
        name: arrays.get(name) if name in _OPTIONAL else arrays[name] for name in _COLUMNS
    }
    return EpisodeRecords(columns=columns, **found)


def concatenate(parts: Sequence[EpisodeRecords]) -> EpisodeRecords:
    """Put the rows of several evaluations under the same specifications together.

    Raises:
        ConfigurationError: there are no parts, or they were scored by different specifications.
    """
    if not parts:
        raise ConfigurationError("concatenate() was given no episode records")
    first = parts[0]
    for part in parts[1:]:
        if part.columns != first.columns:
            raise ConfigurationError(
                "episodes scored by different specifications cannot be pooled: "
                f"{first.columns.instance_ids} and {part.columns.instance_ids}"
            )
    joined: dict[str, Any] = {}
    for name in _COLUMNS:
        values = [getattr(part, name) for part in parts]
        known = [value for value in values if value is not None]
        # one environment that cannot tell makes the pooled column unknown too
        joined[name] = np.concatenate(known) if len(known) == len(values) else None
    return EpisodeRecords(columns=first.columns, **joined)
