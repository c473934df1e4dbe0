"""Model checking: Kripke structures, computation trees merged from rollouts, CTL."""

from safe_rl.logic.ctl import CTL
from safe_rl.logic.ctl_parser import parse_ctl
from safe_rl.model_checking.checking import Checker, CheckResult, check
from safe_rl.model_checking.merging import merge_arrays, merge_rollouts
from safe_rl.model_checking.structure import Kripke, kripke, kripke_from_edges
from safe_rl.model_checking.tree import ComputationTree, tree_from_parents

__all__ = [
    "CTL",
    "CheckResult",
    "Checker",
    "ComputationTree",
    "Kripke",
    "check",
    "kripke",
    "kripke_from_edges",
    "merge_arrays",
    "merge_rollouts",
    "parse_ctl",
    "tree_from_parents",
]
