"""Auditing recorded episodes: monitors over files, many at once, with tables and explanations.

>>> from safe_rl.data import Episode
>>> from safe_rl.specs import Specification, SpecSet
>>> import numpy as np
>>> rule = SpecSet([Specification("lid_first", "G(lifted -> lid_on)")])
>>> letters = np.array([[False, False], [True, True], [True, False]])
>>> episode = Episode(("lifted", "lid_on"), letters, np.zeros(2), False, True)
>>> monitored = monitor_episodes(rule, [episode])
>>> monitored.records.violations.tolist(), monitored.records.first_violation.tolist()
([[1]], [[2]])
"""

from safe_rl.evaluation.audit.engine import AuditPlan, Outcome, run_audit
from safe_rl.evaluation.audit.monitoring import Monitored, monitor_episodes
from safe_rl.evaluation.audit.pooling import AuditedEpisodes, pool
from safe_rl.evaluation.audit.rates import EpisodeRates, episode_rates, triggered_by_task
from safe_rl.evaluation.audit.report import AuditReport, make_report, read_reference, write_audit
from safe_rl.evaluation.audit.results import FileResult
from safe_rl.evaluation.audit.violations import Violation, find_violations

__all__ = [
    "AuditPlan",
    "AuditReport",
    "AuditedEpisodes",
    "EpisodeRates",
    "FileResult",
    "Monitored",
    "Outcome",
    "Violation",
    "episode_rates",
    "find_violations",
    "make_report",
    "monitor_episodes",
    "pool",
    "read_reference",
    "run_audit",
    "triggered_by_task",
    "write_audit",
]
