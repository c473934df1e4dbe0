"""Refinement: a planner is asked, its answer is checked, and what is wrong goes back to it."""

from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.refinement.calls import Caller, Pace
from safe_rl.feedback.refinement.endpoints import Endpoint
from safe_rl.feedback.refinement.formulas import check_formula, distinguishing_trace
from safe_rl.feedback.refinement.loop import Refinement, refine_problem, refine_problems
from safe_rl.feedback.refinement.planners import Answer, Message, Planner
from safe_rl.feedback.refinement.recorded import RecordedAnswers, TaskPlans
from safe_rl.feedback.refinement.rounds import PlannerPerRound, Problem, Round
from safe_rl.feedback.refinement.run_log import RunLog, read_log
from safe_rl.feedback.refinement.scores import Score, score
from safe_rl.feedback.refinement.tasks import TaskProblem, Told, refine, with_specs
from safe_rl.feedback.refinement.translation import Translation, TranslationProblem, translate

__all__ = [
    "Answer",
    "Caller",
    "Endpoint",
    "Judgement",
    "Message",
    "Pace",
    "Planner",
    "PlannerPerRound",
    "Problem",
    "RecordedAnswers",
    "Refinement",
    "Round",
    "RunLog",
    "Score",
    "TaskPlans",
    "TaskProblem",
    "Told",
    "Translation",
    "TranslationProblem",
    "check_formula",
    "distinguishing_trace",
    "read_log",
    "refine",
    "refine_problem",
    "refine_problems",
    "score",
    "translate",
    "with_specs",
]
