"""Ground truth for learning code: the product CMDP in matrices, and its exact optima.

Needs SciPy.
"""

from safe_rl.algos.exact.enumerate import product_cmdp
from safe_rl.algos.exact.product import Expected, Outcomes, ProductCMDP
from safe_rl.algos.exact.solve import (
    Evaluation,
    Optimum,
    Solution,
    evaluate_policy,
    policy_of_occupancy,
    solve_lp,
    value_iteration,
)

__all__ = [
    "Evaluation",
    "Expected",
    "Optimum",
    "Outcomes",
    "ProductCMDP",
    "Solution",
    "evaluate_policy",
    "policy_of_occupancy",
    "product_cmdp",
    "solve_lp",
    "value_iteration",
]
