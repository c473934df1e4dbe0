"""The results of many files as one table of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Drift
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.audit.monitoring import Monitored, join
from safe_rl.evaluation.audit.rates import Task
from safe_rl.evaluation.audit.results import FileResult
from safe_rl.evaluation.audit.violations import Violation
from safe_rl.monitors import Verdict

NOT_APPLICABLE = -1
"""In place of a verdict where a specification has no instance: nothing carries its property."""


@dataclass(frozen=True)
class AuditedEpisodes:
    """Every audited episode, with one column per specification (``E`` rows, ``S`` columns).

    Attributes:
        monitored: the counts; instances are summed, so files with different objects go together.
            ``verdicts`` holds the worst verdict of a specification's instances, or -1 where it has
            none.
        files: name of each episode's file.
        numbers: its place in that file, int64 ``[E]``.
        tasks: environment and instruction.
        seeds: int64 ``[E]``, -1 for unknown.
        violations: every violation with the row of its episode, in order.
        drifts: of the episodes whose actions a replay stepped, else ``None``.
    """

    monitored: Monitored
    files: tuple[str, ...]
    numbers: NDArray[np.int64]
    tasks: tuple[Task, ...]
    seeds: NDArray[np.int64]
    violations: tuple[tuple[int, Violation], ...]
    drifts: tuple[Drift | None, ...]

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.files)

    def select(self, rows: NDArray[np.bool_]) -> AuditedEpisodes:
        """Return the episodes of a mask."""
        kept = np.flatnonzero(rows)
        place = {int(row): i for i, row in enumerate(kept)}
        monitored = self.monitored
        return AuditedEpisodes(
            Monitored(
                monitored.records.select(rows), monitored.verdicts[rows], monitored.unsafe[rows]
            ),
            tuple(self.files[row] for row in kept),
            self.numbers[rows],
            tuple(self.tasks[row] for row in kept),
            self.seeds[rows],
            tuple((place[row], v) for row, v in self.violations if row in place),
            tuple(self.drifts[row] for row in kept),
        )


def pool(names: Sequence[str], results: Sequence[FileResult]) -> AuditedEpisodes:
    """Put the episodes of all files together.

    Args:
        names: of the files.
        results: theirs, under the same specifications.

    Raises:
        ConfigurationError: there are no results.
    """
    if not results:
        raise ConfigurationError("no file could be audited, so there is nothing to report")
    parts = [_by_specification(result.monitored) for result in results]
    sizes = [len(part.records) for part in parts]
    starts = np.cumsum([0, *sizes[:-1]])
    return AuditedEpisodes(
        monitored=join(parts),
        files=tuple(name for name, size in zip(names, sizes, strict=True) for _ in range(size)),
        numbers=np.concatenate([np.arange(size, dtype=np.int64) for size in sizes]),
        tasks=tuple(
            task
            for result in results
            for task in zip(result.env_ids, result.instructions, strict=True)
        ),
        seeds=np.concatenate([np.array(result.seeds, np.int64) for result in results]),
        violations=tuple(
            (int(start) + violation.episode, violation)
            for start, result in zip(starts, results, strict=True)
            for violation in result.violations
        ),
        drifts=tuple(drift for result in results for drift in result.drifts),
    )


def _by_specification(monitored: Monitored) -> Monitored:
    return Monitored(
        monitored.records.by_specification(), worst_verdicts(monitored), monitored.unsafe
    )


def worst_verdicts(monitored: Monitored) -> NDArray[np.int8]:
    """Return the worst verdict of each specification's instances, -1 without any, ``[E, S]``."""
    columns = monitored.records.columns
    worst = np.full((len(monitored.records), len(columns.ids)), NOT_APPLICABLE, np.int8)
    for column, index in enumerate(columns.instance_index):
        worst[:, index] = np.maximum(worst[:, index], monitored.verdicts[:, column])
    return worst


def verdict_words(verdict: int) -> str:
    """Write a verdict.

    >>> verdict_words(Verdict.PRESUMABLY_SATISFIED), verdict_words(NOT_APPLICABLE)
    ('presumably satisfied', 'not applicable')
    """
    if verdict == NOT_APPLICABLE:
        return "not applicable"
    return Verdict(verdict).name.lower().replace("_", " ")


Columns = dict[str, list[Any]]


def episode_table(audited: AuditedEpisodes) -> Columns:
    """Return one row per episode, as columns; ``None`` where nothing is known."""
    records = audited.monitored.records
    count = len(audited)
    unknown = [None] * count
    return {
        "file": list(audited.files),
        "episode": audited.numbers.tolist(),
        "env_id": [env_id for env_id, _ in audited.tasks],
        "instruction": [words for _, words in audited.tasks],
        "seed": [None if seed < 0 else seed for seed in audited.seeds.tolist()],
        "steps": records.lengths.tolist(),
        "return": records.returns.tolist(),
        "terminated": records.terminated.tolist(),
        "success": unknown if records.success is None else records.success.tolist(),
        "engaged": unknown if records.engaged is None else records.engaged.tolist(),
        "charged": records.charged.tolist(),
        "N": records.triggered.sum(axis=1).tolist(),
        "V": records.violations.sum(axis=1).tolist(),
        "U": records.exposure.sum(axis=1).tolist(),
        "pending": records.pending.sum(axis=1).tolist(),
        "specifications_triggered": (records.triggered > 0).sum(axis=1).tolist(),
        "frames_in_violation": audited.monitored.unsafe[:, -1].tolist(),
        "largest_drift": [None if drift is None else drift.largest for drift in audited.drifts],
        "steps_adrift": [None if drift is None else drift.beyond for drift in audited.drifts],
    }


def verdict_table(audited: AuditedEpisodes) -> Columns:
    """Return one row per episode and specification, as columns."""
    records = audited.monitored.records
    ids, categories = records.columns.ids, records.columns.categories
    count, size = len(audited), len(ids)
    violated_by: dict[tuple[int, str], list[str]] = {}
    for row, violation in audited.violations:
        own = violated_by.setdefault((row, violation.specification), [])
        if violation.instance not in own:
            own.append(violation.instance)
    first = records.first_violation.ravel().tolist()
    return {
        "file": [name for name in audited.files for _ in ids],
        "episode": np.repeat(audited.numbers, size).tolist(),
        "specification": list(ids) * count,
        "category": list(categories) * count,
        "verdict": [verdict_words(v) for v in audited.monitored.verdicts.ravel().tolist()],
        "N": records.triggered.ravel().tolist(),
        "V": records.violations.ravel().tolist(),
        "U": records.exposure.ravel().tolist(),
        "pending": records.pending.ravel().tolist(),
        "frames_in_violation": audited.monitored.unsafe[:, :size].ravel().tolist(),
        "first_violation": [None if step < 0 else step for step in first],
        "violated_by": [
            " ".join(violated_by.get((row, spec_id), ())) for row in range(count) for spec_id in ids
        ],
    }


def violation_table(audited: AuditedEpisodes) -> Columns:
    """Return one row per violation, as columns, with the propositions that decided."""
    found = audited.violations
    return {
        "file": [audited.files[row] for row, _ in found],
        "episode": [v.episode for _, v in found],
        "specification": [v.specification for _, v in found],
        "category": [v.category for _, v in found],
        "objects": [", ".join(f"{k}={o}" for k, o in v.objects.items()) for _, v in found],
        "step": [v.step for _, v in found],
        "triggered_at": [None if v.triggered < 0 else v.triggered for _, v in found],
        "lasted": [v.lasted for _, v in found],
        "recovered": [v.recovered for _, v in found],
        "by_the_end": [v.by_end for _, v in found],
        "decided_by": [v.decided for _, v in found],
        "true": [", ".join(v.true) for _, v in found],
    }
