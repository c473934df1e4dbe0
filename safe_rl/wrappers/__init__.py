"""Wrappers: environments under specifications, their costs, and the shapes that others expect."""

from safe_rl.wrappers.check import check_grounding
from safe_rl.wrappers.check_report import Problem, Report
from safe_rl.wrappers.chunk import ChunkedSteps
from safe_rl.wrappers.constraints import Constraint, CostModel
from safe_rl.wrappers.grounding_info import GroundingInfo
from safe_rl.wrappers.product import ProductMDP
from safe_rl.wrappers.reward import SafetyReward
from safe_rl.wrappers.reward_terms import TaskFormula
from safe_rl.wrappers.six_tuple import SixTuple
from safe_rl.wrappers.snapshot import Savable
from safe_rl.wrappers.vector.chunk import VectorChunkedSteps
from safe_rl.wrappers.vector.product import VectorProductMDP
from safe_rl.wrappers.vector.reward import VectorSafetyReward
from safe_rl.wrappers.vector.six_tuple import VectorSixTuple

__all__ = [
    "ChunkedSteps",
    "Constraint",
    "CostModel",
    "GroundingInfo",
    "Problem",
    "ProductMDP",
    "Report",
    "SafetyReward",
    "Savable",
    "SixTuple",
    "TaskFormula",
    "VectorChunkedSteps",
    "VectorProductMDP",
    "VectorSafetyReward",
    "VectorSixTuple",
    "check_grounding",
]
