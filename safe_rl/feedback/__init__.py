"""Feedback: what the monitors tell a planner, a person or a program about a trace."""

from safe_rl.feedback.counterexample import Change, Counterexample, Feedback, Repair
from safe_rl.feedback.explaining import Explainer, explain, explain_episode, explainer
from safe_rl.feedback.history import MonitorHistory

__all__ = [
    "Change",
    "Counterexample",
    "Explainer",
    "Feedback",
    "MonitorHistory",
    "Repair",
    "explain",
    "explain_episode",
    "explainer",
]
