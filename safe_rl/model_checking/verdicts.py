"""A formula's verdict on a structure, with the evidence at hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from safe_rl.logic.ctl import CTL
from safe_rl.logic.ctl_semantics import Leaves
from safe_rl.model_checking.checking import Checker, read
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.markov import MarkovChain, PctlChecker
from safe_rl.model_checking.paths import Evidence, evidence
from safe_rl.model_checking.structure import Kripke


@dataclass(frozen=True, eq=False)
class CheckResult:
    """What :func:`check` found.

    Attributes:
        formula: The formula.
        holds: Whether it holds in every initial state.
        satisfying: Where it holds, ``bool[states]``.
        failing: The initial states in which it does not hold.
        checker: What found it, for evidence and further formulas.
    """

    formula: CTL
    holds: bool
    satisfying: Bools
    failing: tuple[int, ...]
    checker: Checker = field(repr=False)

    def evidence(self, state: int | None = None, *, depth: int = 8) -> Evidence:
        """Return why the formula holds or fails: :func:`safe_rl.model_checking.evidence`.

        Args:
            state: Where; by default the first initial state in which it fails, or else the first.
            depth: How many levels of operands are explained.
        """
        return evidence(self.checker, self.formula, state, depth=depth)


def check(structure: Kripke, formula: CTL | str, *, leaves: Leaves = "weak") -> CheckResult:
    """Check a CTL formula in the initial states of a structure.

    Args:
        structure: A Kripke structure, a computation tree or a Markov chain.
        formula: A formula or its text.
        leaves: How a path is read that comes to a state without successors: ``"weak"``, it ends
            there (``AX p`` holds and ``EX p`` fails), or ``"stuttering"``, the state repeats.

    Raises:
        FormulaSyntaxError: the text is no CTL formula; the message shows it with a caret.
        UnknownPropositionError: it names a proposition that the structure does not have.
        ConfigurationError: it holds ``P`` and the structure has no probabilities, or ``leaves``
            is unknown.

    >>> from safe_rl.model_checking import merge_rollouts
    >>> tree = merge_rollouts([[{"hot"}, {"off"}], [{"hot"}, set()]])
    >>> check(tree, "AG(hot -> AF off)").holds, check(tree, "EF off").holds
    (False, True)
    """
    if isinstance(structure, MarkovChain):
        checker: Checker = PctlChecker(structure, leaves)
    else:
        checker = Checker(structure, leaves)
    parsed = read(formula, structure)
    satisfying = checker.satisfying(parsed)
    failing = tuple(s for s in structure.initial.tolist() if not satisfying[s])
    return CheckResult(parsed, not failing, satisfying, failing, checker)
