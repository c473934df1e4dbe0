"""Episode records made by hand, for tests."""

from __future__ import annotations

import numpy as np

from safe_rl.evaluation.records import EpisodeRecords, SpecificationColumns

TWO = SpecificationColumns(
    ids=("grasp", "drop"),
    categories=("stability", "stability"),
    instance_ids=("grasp[o=a]", "grasp[o=b]", "drop"),
    instance_index=(0, 0, 1),
)


def episodes(
    *,
    success=None,
    engaged=None,
    charged=None,
    triggered=None,
    violations=None,
    exposure=None,
    pending=None,
    returns=None,
    costs=None,
    columns: SpecificationColumns = TWO,
) -> EpisodeRecords:
    """Fill in what a test does not care about."""
    given = [success, engaged, charged, triggered, violations, exposure, pending, returns, costs]
    size = next(len(value) for value in given if value is not None)
    zeros = np.zeros((size, len(columns.instance_ids)), np.int64)

    def counts(value):
        return zeros if value is None else np.asarray(value, np.int64)

    v = counts(violations)
    return EpisodeRecords(
        columns=columns,
        returns=np.zeros(size) if returns is None else np.asarray(returns, float),
        lengths=np.full(size, 10),
        terminated=np.ones(size, bool),
        success=None if success is None else np.asarray(success, bool),
        engaged=None if engaged is None else np.asarray(engaged, bool),
        charged=(v > 0).any(axis=1) if charged is None else np.asarray(charged, bool),
        triggered=counts(triggered),
        violations=v,
        exposure=counts(exposure),
        pending=counts(pending),
        first_violation=np.where(v > 0, 3, -1),
        costs=np.zeros((size, 0)) if costs is None else np.asarray(costs, float),
    )
