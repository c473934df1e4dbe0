"""Model checking: Kripke structures, computation trees merged from rollouts, CTL and PCTL."""

from safe_rl.logic.ctl import CTL
from safe_rl.logic.ctl_parser import parse_ctl
from safe_rl.model_checking.branches import BranchCheck, Product, check_branches, product
from safe_rl.model_checking.checking import Checker
from safe_rl.model_checking.confirming import confirms
from safe_rl.model_checking.intervals import proportion_interval
from safe_rl.model_checking.markov import MarkovChain, PctlChecker, markov_chain
from safe_rl.model_checking.merging import merge_arrays, merge_rollouts
from safe_rl.model_checking.paths import Evidence, Path, evidence
from safe_rl.model_checking.sampling import BranchCount, Claim, Judgement, count_branches, judge
from safe_rl.model_checking.structure import Kripke, kripke, kripke_from_edges
from safe_rl.model_checking.tree import ComputationTree, tree_from_parents
from safe_rl.model_checking.verdicts import CheckResult, check
from safe_rl.model_checking.words import describe

__all__ = [
    "CTL",
    "BranchCheck",
    "BranchCount",
    "CheckResult",
    "Checker",
    "Claim",
    "ComputationTree",
    "Evidence",
    "Judgement",
    "Kripke",
    "MarkovChain",
    "Path",
    "PctlChecker",
    "Product",
    "check",
    "check_branches",
    "confirms",
    "count_branches",
    "describe",
    "evidence",
    "judge",
    "kripke",
    "kripke_from_edges",
    "markov_chain",
    "merge_arrays",
    "merge_rollouts",
    "parse_ctl",
    "product",
    "proportion_interval",
    "tree_from_parents",
]
