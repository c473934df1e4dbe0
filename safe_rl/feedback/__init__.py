"""Feedback: what the monitors tell a planner, a person or a program about a trace.

Here are the counterexamples, which need the monitors only. The folders beside them build on these:
``plans`` checks plans, ``refinement`` is the loop with a planner, ``trl`` makes rows, rewards and
environments for training, ``planner`` is a small planner that was trained with them.
"""

from safe_rl.feedback.counterexamples import (
    Change,
    Counterexample,
    Explainer,
    Feedback,
    MonitorHistory,
    Repair,
    ViolatingRollout,
    explain,
    explain_episode,
    explainer,
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
