"""What sampled rollouts say about probabilities: how many branches satisfy, and what that shows.

The rollouts of a tree are taken as independent samples of one policy in one environment. The
share of them that satisfies a path formula estimates its probability; an exact interval says how
well. Hérault and others, "Approximate Probabilistic Model Checking" (VMCAI 2004), and Younes and
Simmons (CAV 2002) read PCTL in this way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from safe_rl.automata import compile_ltlf
from safe_rl.errors import ConfigurationError
from safe_rl.logic import Formula
from safe_rl.logic.ctl import CTL, Chance, Quantifier, path_as_ltlf, subformulas
from safe_rl.logic.ctl_semantics import Leaves
from safe_rl.logic.formula import Op
from safe_rl.model_checking.branches import automaton_states, read_ltlf, within_depth
from safe_rl.model_checking.checking import Checker, read
from safe_rl.model_checking.intervals import proportion_interval
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.tree import ComputationTree

Verdict = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class BranchCount:
    """How many of the sampled rollouts satisfy a path formula.

    Attributes:
        formula: The path formula, in LTLf.
        satisfied: Rollouts that satisfy it.
        violated: Rollouts that do not.
        unknown: Rollouts that were cut off before either was certain.
        low: Lower end of the interval for the probability, with the unknown ones taken as
            violated.
        high: Upper end, with the unknown ones taken as satisfied.
        confidence: How sure the interval is.
        example: A leaf whose branch violates, or ``None``.
    """

    formula: Formula
    satisfied: int
    violated: int
    unknown: int
    low: float
    high: float
    confidence: float
    example: int | None

    @property
    def rollouts(self) -> int:
        """How many there are."""
        return self.satisfied + self.violated + self.unknown

    def verdict(self, chance: Chance) -> Verdict:
        """Return whether the probability keeps a bound, if the interval decides that."""
        relation, bound = chance
        holds, fails = {
            ">=": (self.low >= bound, self.high < bound),
            ">": (self.low > bound, self.high <= bound),
            "<=": (self.high <= bound, self.low > bound),
            "<": (self.high < bound, self.low >= bound),
        }[relation]
        return "holds" if holds else "fails" if fails else "undecided"


@dataclass(frozen=True)
class Claim:
    """One ``P`` of a formula, and what the samples say of it."""

    formula: CTL
    count: BranchCount
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """What :func:`judge` found.

    Attributes:
        formula: The formula.
        verdict: ``"holds"``, ``"fails"``, or ``"undecided"`` by this many samples.
        claims: Each ``P`` with its count, interval and verdict.
    """

    formula: CTL
    verdict: Verdict
    claims: tuple[Claim, ...]


def count_branches(
    tree: ComputationTree, formula: str | Formula | CTL, *, confidence: float = 0.95
) -> BranchCount:
    """Return how many of the sampled rollouts satisfy an LTLf formula.

    Args:
        tree: Rollouts merged by prefix.
        formula: An LTLf formula or its text, bounded operators and past included; or the path
            formula behind a quantifier, whose operands are then found in the tree.
        confidence: Of the Clopper-Pearson interval.

    Returns:
        The counts. A rollout that was cut off (``truncated`` when the tree was made) counts only
        where no continuation would change its verdict.

    Raises:
        UnknownPropositionError: the formula names a proposition that the tree does not have.
        ConfigurationError: ``confidence`` is not between 0 and 1, or ``tree`` is no tree.

    >>> from safe_rl.model_checking import merge_rollouts
    >>> tree = merge_rollouts([[{"a"}, {"b"}]] * 45 + [[{"a"}, set()]] * 5)
    >>> found = count_branches(tree, "F[<=3] b")
    >>> found.satisfied, found.rollouts, round(found.low, 3), round(found.high, 3)
    (45, 50, 0.782, 0.967)
    """
    _check_tree(tree)
    if isinstance(formula, CTL):
        return _count_path(Checker(tree), tree, formula, confidence)
    parsed = read_ltlf(formula, tree)
    return _count(tree, parsed, {name: tree.truth(name) for name in parsed.atoms}, confidence)


def judge(
    tree: ComputationTree,
    formula: CTL | str,
    *,
    confidence: float = 0.95,
    leaves: Leaves = "weak",
) -> Judgement:
    """Judge a formula with ``P`` by the sampled rollouts of a tree.

    ``P>=p [ψ]`` is about the policy and the environment that the rollouts are samples of, and is
    decided where the interval of the estimate is. ``A`` and ``E`` are about the tree: the branches
    that were sampled, and no others.

    Args:
        tree: Rollouts merged by prefix.
        formula: A Boolean combination of ``P>=p [ψ]`` (also ``>``, ``<=`` and ``<``) and CTL
            formulas, where ψ is an LTLf formula over propositions and CTL formulas.
        confidence: Of each interval by itself.
        leaves: How ``AX`` and ``EX`` read a leaf; ψ is always read on the finite branch.

    Raises:
        FormulaSyntaxError: the text is no such formula.
        UnknownPropositionError: it names a proposition that the tree does not have.
        ConfigurationError: ``P`` stands below another operator than a Boolean one, where the
            samples through one state are too few to speak of.

    >>> from safe_rl.model_checking import merge_rollouts
    >>> tree = merge_rollouts([[{"a"}, {"b"}]] * 45 + [[{"a"}, set()]] * 5)
    >>> [judge(tree, f"P>={p} [F<=3 b]").verdict for p in (0.7, 0.9, 0.99)]
    ['holds', 'undecided', 'fails']
    """
    _check_tree(tree)
    parsed = read(formula, tree)
    checker = Checker(tree, leaves)
    claims: list[Claim] = []
    known: dict[CTL, _Between] = {}

    def value(part: CTL) -> _Between:
        if part not in known:
            states = checker.satisfying(part)[tree.initial]
            known[part] = _Between(states, states)
        return known[part]

    uncertain: set[CTL] = set()
    for node in subformulas(parsed):
        below = any(arg in uncertain for arg in node.args)
        if below and (node.op not in _BOOLEAN or not node.is_state):
            raise ConfigurationError(
                f"in {parsed} a P stands below {node}; by samples it can only be judged for whole "
                "rollouts: combine P with & | ! -> <-> ^ only, or use a MarkovChain"
            )
        if node.op is Quantifier.PROBABLY:
            claim = _claim(checker, tree, node, confidence)
            claims.append(claim)
            known[node] = _Between(
                np.full(len(tree.initial), claim.verdict == "holds"),
                np.full(len(tree.initial), claim.verdict != "fails"),
            )
            uncertain.add(node)
        elif below:
            known[node] = _BOOLEAN[node.op](*map(value, node.args))
            uncertain.add(node)
    found = value(parsed)
    verdict: Verdict = (
        "holds" if found.surely.all() else "undecided" if found.maybe.all() else "fails"
    )
    return Judgement(parsed, verdict, tuple(claims))


class _Between(NamedTuple):
    """A truth value for each initial state, known from below and from above."""

    surely: Bools
    maybe: Bools


def _not(p: _Between) -> _Between:
    return _Between(~p.maybe, ~p.surely)


def _and(p: _Between, q: _Between) -> _Between:
    return _Between(p.surely & q.surely, p.maybe & q.maybe)


def _or(p: _Between, q: _Between) -> _Between:
    return _Between(p.surely | q.surely, p.maybe | q.maybe)


def _iff(p: _Between, q: _Between) -> _Between:
    return _or(_and(p, q), _and(_not(p), _not(q)))


_BOOLEAN: Final[dict[object, Callable[..., _Between]]] = {
    Op.NOT: _not,
    Op.AND: _and,
    Op.OR: _or,
    Op.IMPLIES: lambda p, q: _or(_not(p), q),
    Op.IFF: _iff,
    Op.XOR: lambda p, q: _not(_iff(p, q)),
}


def _claim(checker: Checker, tree: ComputationTree, f: CTL, confidence: float) -> Claim:
    assert f.chance is not None
    count = _count_path(checker, tree, f.args[0], confidence)
    return Claim(f, count, count.verdict(f.chance))


def _count_path(
    checker: Checker, tree: ComputationTree, path: CTL, confidence: float
) -> BranchCount:
    ltlf, parts = path_as_ltlf(path)
    truths = {name: checker.satisfying(part) for name, part in parts.items()}
    return _count(tree, ltlf, truths, confidence)


def _count(
    tree: ComputationTree, formula: Formula, truths: dict[str, Bools], confidence: float
) -> BranchCount:
    dfa = compile_ltlf(within_depth(formula, int(tree.depths.max())))
    leaves = np.flatnonzero(tree.leaves)
    reached = automaton_states(tree, dfa, truths)[leaves]
    cut = tree.cut[leaves]
    satisfies = np.where(cut, dfa.safe[reached], np.array(dfa.accepting)[reached])
    violates = np.where(cut, dfa.doomed[reached], ~satisfies)
    times = tree.counts[leaves].astype(np.int64)
    total, satisfied, violated = (
        int(times.sum()),
        int(times[satisfies].sum()),
        int(times[violates].sum()),
    )
    unknown = total - satisfied - violated
    low, _ = proportion_interval(satisfied, total, confidence)
    _, high = proportion_interval(satisfied + unknown, total, confidence)
    examples = leaves[violates]
    return BranchCount(
        formula,
        satisfied,
        violated,
        unknown,
        low,
        high,
        confidence,
        int(examples[0]) if len(examples) else None,
    )


def _check_tree(tree: ComputationTree) -> None:
    if not isinstance(tree, ComputationTree):
        raise ConfigurationError(
            f"samples are the rollouts of a ComputationTree, but this is a {type(tree).__name__}; "
            "merge rollouts with merge_rollouts"
        )
