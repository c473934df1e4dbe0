"""A small planner of our own: a transformer trained from scratch on the household's tasks.

It shows on one CPU core what the monitors teach: by imitation, by feedback, by reward. Needs the
extra ``trl``.
"""

from safe_rl.feedback.planner.demonstrations import Example, examples, mending
from safe_rl.feedback.planner.experiment import ARMS, ROUNDS, Experiment, Settings
from safe_rl.feedback.planner.model import (
    Size,
    SmallPlanner,
    load_model,
    new_model,
    new_tokenizer,
    save_model,
)
from safe_rl.feedback.planner.together import refine_together
from safe_rl.feedback.planner.training import Imitation, Reinforcement, imitate, reinforce
from safe_rl.feedback.planner.wording import WordedProblem, Wording, worded_problem, wording

__all__ = [
    "ARMS",
    "ROUNDS",
    "Example",
    "Experiment",
    "Imitation",
    "Reinforcement",
    "Settings",
    "Size",
    "SmallPlanner",
    "WordedProblem",
    "Wording",
    "examples",
    "imitate",
    "load_model",
    "mending",
    "new_model",
    "new_tokenizer",
    "refine_together",
    "reinforce",
    "save_model",
    "worded_problem",
    "wording",
]
