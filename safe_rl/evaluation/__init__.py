"""Scoring a policy by the monitors: rollouts, metrics, reports and figures.

>>> import gymnasium as gym, safe_rl.envs
>>> from safe_rl.wrappers import VectorProductMDP
>>> kitchens = gym.make_vec(
...     "safe_rl/KitchenGrid-v0", num_envs=8, vectorization_mode="vector_entry_point"
... )
>>> envs = VectorProductMDP(kitchens, "kitchen")
>>> rollouts = roll_out(envs, RandomPolicy(envs, seed=0), episodes=100)
>>> scores = score(rollouts.records, envs.constraints)
>>> scores.episodes, [row.name for row in scores.specifications][:2]
(100, ['glass_held_firmly', 'wash_between_raw_and_ready'])
"""

from safe_rl.evaluation.bootstrap import Estimate, estimate_ratios
from safe_rl.evaluation.curves import (
    RunCurve,
    constraint_panels,
    learning_curve_figure,
    mean_curve,
    read_run,
)
from safe_rl.evaluation.explanations import explain_violations
from safe_rl.evaluation.figures import per_trigger_figure, timeline_figure
from safe_rl.evaluation.metrics import (
    OUTCOMES,
    ConstraintRow,
    CountRow,
    Scores,
    outcome_columns,
    score,
)
from safe_rl.evaluation.protocol import family_horizon, play_scenarios
from safe_rl.evaluation.protocol_report import diagnostics_table, protocol_json, rates_table
from safe_rl.evaluation.protocol_scores import ProtocolScores, Rate, protocol_scores
from safe_rl.evaluation.records import (
    EpisodeRecords,
    SpecificationColumns,
    concatenate,
    load_records,
)
from safe_rl.evaluation.report import PolicyReport, write_report
from safe_rl.evaluation.rollouts import Policy, RandomPolicy, Recording, Rollouts, roll_out
from safe_rl.evaluation.tables import constraint_table, outcome_table, specification_table
from safe_rl.evaluation.timeline import EpisodeTimeline, replay

__all__ = [
    "OUTCOMES",
    "ConstraintRow",
    "CountRow",
    "EpisodeRecords",
    "EpisodeTimeline",
    "Estimate",
    "Policy",
    "PolicyReport",
    "ProtocolScores",
    "RandomPolicy",
    "Rate",
    "Recording",
    "Rollouts",
    "RunCurve",
    "Scores",
    "SpecificationColumns",
    "concatenate",
    "constraint_panels",
    "constraint_table",
    "diagnostics_table",
    "estimate_ratios",
    "explain_violations",
    "family_horizon",
    "learning_curve_figure",
    "load_records",
    "mean_curve",
    "outcome_columns",
    "outcome_table",
    "per_trigger_figure",
    "play_scenarios",
    "protocol_json",
    "protocol_scores",
    "rates_table",
    "read_run",
    "replay",
    "roll_out",
    "score",
    "specification_table",
    "timeline_figure",
    "write_report",
]
