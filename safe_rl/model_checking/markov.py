"""Markov chains: PCTL with exact probabilities.

Hansson and Jonsson, "A Logic for Reasoning about Time and Reliability" (1994): the probability of
an until solves linear equations once the states of probability 0 and 1 are known from the edges
(Baier and Katoen, "Principles of Model Checking", section 10.1); a bound is that many steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import CTL, PATH_OPS, Quantifier
from safe_rl.logic.ctl_parser import parse_ctl
from safe_rl.logic.ctl_semantics import Leaves
from safe_rl.logic.formula import Op
from safe_rl.model_checking.attractors import some_way
from safe_rl.model_checking.checking import Checker, Until
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.structure import Kripke, frozen, kripke_from_edges

Floats = NDArray[np.float64]
SOLVED: Final = 2000
"""Up to this many unknown probabilities are solved for at once; more are refused."""
_EQUAL: Final = 1e-9


@dataclass(frozen=True, eq=False)
class MarkovChain(Kripke):
    """A Kripke structure with the probability of each edge.

    Attributes:
        probabilities: ``float64[edges]``; those that leave a state sum to one. A state that no
            edge leaves ends the run.
    """

    probabilities: Floats


def markov_chain(
    edges: ArrayLike,
    probabilities: ArrayLike,
    labels: ArrayLike,
    propositions: Sequence[str],
    initial: Iterable[int] = (0,),
) -> MarkovChain:
    """Return the chain with these edges.

    Args:
        edges: ``int[edges, 2]``, source and target of each; the edges of a pair are added up.
        probabilities: ``float[edges]``, above 0.
        labels: ``bool[states, propositions]``.
        propositions: The names of the columns of ``labels``.
        initial: The initial states.

    Raises:
        ConfigurationError: as :func:`kripke_from_edges`, or what leaves a state does not sum to 1.

    >>> coin = markov_chain([[0, 0], [0, 1]], [0.5, 0.5], [[0], [1]], ["heads"])
    >>> PctlChecker(coin).probabilities("P>=0.9 [F<=3 heads]").tolist()
    [0.875, 1.0]
    """
    structure = kripke_from_edges(edges, labels, propositions, initial)
    chances = np.asarray(probabilities, dtype=np.float64)
    if chances.shape != (structure.num_edges,):
        raise ConfigurationError(
            f"there are {structure.num_edges} edges, but probabilities of shape "
            f"{list(chances.shape)}"
        )
    if not (chances > 0).all():
        wrong = int(np.flatnonzero(~(chances > 0))[0])
        raise ConfigurationError(
            f"the probability of edge {wrong} is {chances[wrong]}; it must be above 0 "
            "(leave out edges that are never taken)"
        )
    order = np.argsort(np.asarray(edges)[:, 0], kind="stable")
    sums = np.bincount(structure.sources, weights=chances[order], minlength=structure.num_states)
    off = np.flatnonzero(~structure.leaves & (np.abs(sums - 1.0) > _EQUAL))
    if len(off):
        raise ConfigurationError(
            f"the probabilities of the edges that leave state {off[0]} sum to {sums[off[0]]}, "
            "not to 1"
        )
    return MarkovChain(
        structure.propositions,
        structure.bits,
        structure.offsets,
        structure.targets,
        structure.initial,
        frozen(chances[order]),
    )


class PctlChecker(Checker):
    """Finds the states of a Markov chain that satisfy formulas with ``P``, nested ones too."""

    structure: MarkovChain

    def __init__(self, structure: MarkovChain, leaves: Leaves = "weak") -> None:
        """Check formulas on a chain.

        Raises:
            ConfigurationError: ``structure`` is no Markov chain, or ``leaves`` is unknown.
        """
        if not isinstance(structure, MarkovChain):
            raise ConfigurationError(
                f"probabilities need a MarkovChain, but this is a {type(structure).__name__}"
            )
        super().__init__(structure, leaves)

    def probabilities(self, formula: CTL | str) -> Floats:
        """Return the probability of ψ in each state, for a formula ``P>=p [ψ]``.

        Raises:
            ConfigurationError: the formula is of another form.
        """
        parsed = (
            parse_ctl(formula, self.structure.propositions) if isinstance(formula, str) else formula
        )
        if parsed.op is not Quantifier.PROBABLY:
            raise ConfigurationError(f"{parsed} asks for no probability; write P>=p [ψ]")
        self.satisfying(parsed)  # finds the operands
        return self._path_probabilities(parsed)

    def _probable(self, f: CTL) -> Bools:
        assert f.chance is not None
        relation, bound = f.chance
        found = self._path_probabilities(f)
        near = np.abs(found - bound) <= _EQUAL  # the equations are solved to rounding error
        if relation in (">=", "<="):
            return near | (found > bound if relation == ">=" else found < bound)
        return ~near & (found > bound if relation == ">" else found < bound)

    def _path_probabilities(self, f: CTL) -> Floats:
        (path,) = f.args
        if path.op not in PATH_OPS or not all(arg.is_state for arg in path.args):
            raise ConfigurationError(
                f"on a Markov chain P takes one temporal operator, X F G U W R or M, over state "
                f"formulas, not {path}"
            )
        if path.op is Op.NEXT:
            found = self.satisfying(path.args[0]).astype(np.float64)
            for _ in range((path.bounds or (1, 1))[0]):
                found = self._before(found)
            return found
        until = self.until(path)
        found = self._until(until)
        return 1.0 - found if until.negated else found

    def _until(self, until: Until) -> Floats:
        if until.high is None:
            found = self._unbounded(until.through, until.goal)
        else:
            found = until.goal.astype(np.float64)
            for _ in range(until.high - until.low):
                found = np.where(until.goal, 1.0, np.where(until.through, self._before(found), 0.0))
        for _ in range(until.low):
            found = np.where(until.through, self._before(found), 0.0)
        return found

    def _before(self, values: Floats) -> Floats:
        """The expectation of ``values`` after one step; nothing comes after a leaf that ends."""
        chain = self.structure
        weights = chain.probabilities * values[chain.targets]
        found: Floats = np.bincount(chain.sources, weights, chain.num_states).astype(np.float64)
        return np.where(chain.leaves, values, found) if self.leaves == "stuttering" else found

    def _unbounded(self, through: Bools, goal: Bools) -> Floats:
        chain = self.structure
        never = some_way(chain, through, goal) < 0
        surely = some_way(chain, through & ~goal, never) < 0
        unknown = np.flatnonzero(~never & ~surely)
        found = surely.astype(np.float64)
        if not len(unknown):
            return found
        if len(unknown) > SOLVED:
            raise ConfigurationError(
                f"{len(unknown)} states have a probability between 0 and 1 that must be solved "
                f"for, and the limit is {SOLVED}; give the operator a bound, as in F<=100"
            )
        place = np.full(chain.num_states, -1)
        place[unknown] = np.arange(len(unknown))
        rows, columns = place[chain.sources], place[chain.targets]
        matrix = np.eye(len(unknown))
        inside = (rows >= 0) & (columns >= 0)
        np.subtract.at(matrix, (rows[inside], columns[inside]), chain.probabilities[inside])
        found[unknown] = np.linalg.solve(matrix, self._before(found)[unknown])
        return found
