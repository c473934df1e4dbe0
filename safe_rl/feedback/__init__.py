"""Feedback: what the monitors tell a planner, a person or a program about a trace."""

from safe_rl.feedback.counterexample import Change, Counterexample, Feedback, Repair
from safe_rl.feedback.explaining import Explainer, explain, explain_episode, explainer
from safe_rl.feedback.history import MonitorHistory
from safe_rl.feedback.search import ViolatingRollout, random_actions, shortest_violation

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
