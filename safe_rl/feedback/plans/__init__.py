"""Plans: read from answers, carried out, watched by the monitors, judged."""

from safe_rl.feedback.plans.checking import (
    PlanChecker,
    PlanResult,
    check_every_outcome,
    check_plan,
)
from safe_rl.feedback.plans.reading import Outcome, PlanReader, ReadPlan

__all__ = [
    "Outcome",
    "PlanChecker",
    "PlanReader",
    "PlanResult",
    "ReadPlan",
    "check_every_outcome",
    "check_plan",
]
