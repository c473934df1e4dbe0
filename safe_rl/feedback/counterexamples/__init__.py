"""Counterexamples: what the monitors say of a trace, in structure and in words."""

from safe_rl.feedback.counterexamples.counterexample import (
    Change,
    Counterexample,
    Feedback,
    Repair,
)
from safe_rl.feedback.counterexamples.explaining import (
    Explainer,
    explain,
    explain_episode,
    explainer,
)
from safe_rl.feedback.counterexamples.history import MonitorHistory
from safe_rl.feedback.counterexamples.search import (
    ViolatingRollout,
    random_actions,
    shortest_violation,
)

__all__ = [
    "Change",
    "Counterexample",
    "Explainer",
    "Feedback",
    "MonitorHistory",
    "Repair",
    "ViolatingRollout",
    "explain",
    "explain_episode",
    "explainer",
    "random_actions",
    "shortest_violation",
]
