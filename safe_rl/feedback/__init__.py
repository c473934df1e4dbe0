"""Feedback: what the monitors tell a planner, a person or a program about a trace."""

from safe_rl.feedback.counterexample import Change, Counterexample, Feedback, Repair
from safe_rl.feedback.explaining import Explainer, explain, explain_episode, explainer

__all__ = [
    "Change",
    "Counterexample",
    "Explainer",
    "Feedback",
    "Repair",
    "explain",
    "explain_episode",
    "explainer",
]
