"""LTLf on the branches of a structure, by the product with the formula's automaton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from safe_rl.automata import DFA, compile_ltlf
from safe_rl.errors import ConfigurationError
from safe_rl.logic import Formula, Op, parse
from safe_rl.model_checking.attractors import every_way
from safe_rl.model_checking.labels import Bools, pack, unknown_proposition
from safe_rl.model_checking.paths import Path
from safe_rl.model_checking.structure import Kripke, States, frozen
from safe_rl.model_checking.tree import ComputationTree

_WIDE = 64
"""A tree with this many states to a level is stepped level by level."""


@dataclass(frozen=True, eq=False)
class Product:
    """A structure and an automaton that reads its letters, step by step together.

    Attributes:
        structure: The pairs that can be reached, labelled as their states and with ``accepting``
            and ``doomed``.
        states: The state of each pair, ``int32[pairs]``.
        automaton: The automaton's state once it has read the letter there, ``int32[pairs]``.
        dfa: The automaton.
    """

    structure: Kripke
    states: States
    automaton: States
    dfa: DFA


@dataclass(frozen=True)
class BranchCheck:
    """What :func:`check_branches` found.

    Attributes:
        formula: The LTLf formula.
        quantifier: ``"A"``, every branch, or ``"E"``, some branch.
        holds: The verdict.
        path: A whole branch that shows it: one that violates for ``A``, one that satisfies for
            ``E``; ``None`` where all branches agree.
    """

    formula: Formula
    quantifier: Literal["A", "E"]
    holds: bool
    path: Path | None


def check_branches(
    structure: Kripke, formula: str | Formula, quantifier: Literal["A", "E"] = "A"
) -> BranchCheck:
    """Check an LTLf formula on every branch, or on some branch, from the initial states.

    A branch is a path from an initial state to a leaf, read as a finite trace.

    Args:
        structure: A structure all of whose paths end, such as a computation tree.
        formula: An LTLf formula or its text.
        quantifier: ``"A"`` or ``"E"``.

    Raises:
        ConfigurationError: a path goes on for ever, which no finite trace is, or the quantifier
            is unknown.
        UnknownPropositionError: the formula names a proposition that the structure does not have.
        CompilationLimitError: its automaton is too large.

    >>> from safe_rl.model_checking import merge_rollouts
    >>> tree = merge_rollouts([[{"hot"}, {"off"}], [{"hot"}, set()]])
    >>> found = check_branches(tree, "G(hot -> F off)")
    >>> found.holds, [sorted(tree.letter(s)) for s in found.path.states]
    (False, [['hot'], []])
    """
    if quantifier not in ("A", "E"):
        raise ConfigurationError(f"the quantifier must be 'A' or 'E', but is {quantifier!r}")
    parsed = read_ltlf(formula, structure)
    wanted = quantifier == "E"
    if isinstance(structure, ComputationTree):
        dfa = compile_ltlf(within_depth(parsed, int(structure.depths.max())))
        accepting = np.array(dfa.accepting)[automaton_states(structure, dfa)]
        showing = np.flatnonzero(structure.leaves & (accepting == wanted))
        states = structure.path_to(int(showing[0])) if len(showing) else None
    else:
        _refuse_endless_paths(structure)
        states = _shortest_branch(structure, compile_ltlf(parsed), wanted)
    path = None if states is None else Path(states, ends=True)
    return BranchCheck(parsed, quantifier, (path is None) != wanted, path)


def read_ltlf(formula: str | Formula, structure: Kripke) -> Formula:
    """Return the LTLf formula, parsed if it is a text.

    Raises:
        FormulaSyntaxError: a text is no formula of LTLf.
        UnknownPropositionError: it names a proposition that the structure does not have.
    """
    if isinstance(formula, str):
        return parse(formula, structure.propositions)
    for name in formula.atoms:
        if name not in structure.propositions:
            raise unknown_proposition(name, structure.propositions)
    return formula


def within_depth(formula: Formula, depth: int) -> Formula:
    """Return a formula that says the same of every trace of at most ``depth + 1`` steps.

    Bounds beyond the end of such a trace become smaller or none, which keeps automata small. Also
    what is certain of a trace that may go on stays the same.

    >>> str(within_depth(parse("F[<=1000] a & X[50] b"), 20))
    'F[0,] a & X[21] b'
    """
    args = tuple(within_depth(arg, depth) for arg in formula.args)
    bounds = formula.bounds
    if bounds is not None:
        low, high = bounds
        if formula.op in (Op.NEXT, Op.WEAK_NEXT):
            low = high = min(low, depth + 1)
        else:
            low, high = min(low, depth + 1), None if high is None or high > depth else high
        bounds = (low, high)
    return Formula(formula.op, args, formula.name, bounds)


def product(
    structure: Kripke,
    formula: str | Formula | DFA,
    *,
    accepting: str = "accepting",
    doomed: str = "doomed",
) -> Product:
    """Return the product of a structure with the automaton of an LTLf formula.

    Its states are the pairs that can be reached from the initial states; CTL formulas on it can
    speak of the automaton through two more propositions.

    Args:
        structure: Any structure.
        formula: An LTLf formula, its text, or an automaton over the structure's propositions.
        accepting: The name of the proposition "the trace so far satisfies the formula".
        doomed: The name of the proposition "no continuation will".

    Raises:
        ConfigurationError: one of the two names is taken.
        UnknownPropositionError: the formula names a proposition that the structure does not have.

    >>> from safe_rl.model_checking import check, kripke
    >>> lamp = kripke([[0, 1], [0]], [set(), {"on"}])
    >>> pairs = product(lamp, "G(on -> WX on)")
    >>> pairs.states.tolist(), check(pairs.structure, "EF(accepting & EX doomed)").holds
    ([0, 1, 0, 1], True)
    """
    for name in (accepting, doomed):
        if name in structure.propositions:
            raise ConfigurationError(
                f"the structure has a proposition {name!r} already; give another name to the "
                "automaton's, as in accepting='ok'"
            )
    dfa = formula if isinstance(formula, DFA) else compile_ltlf(read_ltlf(formula, structure))
    pairs, edges = _reachable(structure, dfa)
    states = np.array([state for state, _ in pairs], dtype=np.int32)
    automaton = np.array([state for _, state in pairs], dtype=np.int32)
    labels = np.stack(
        [structure.truth(name)[states] for name in structure.propositions]
        + [np.array(dfa.accepting)[automaton], dfa.doomed[automaton]],
        axis=1,
    )
    counts = np.array([len(after) for after in edges], dtype=np.int64)
    together = Kripke(
        (*structure.propositions, accepting, doomed),
        pack(labels),
        frozen(np.concatenate(([0], np.cumsum(counts)))),
        frozen(np.array([target for after in edges for target in after], dtype=np.int32)),
        frozen(np.arange(len(structure.initial), dtype=np.int32)),
    )
    return Product(together, frozen(states), frozen(automaton), dfa)


def automaton_states(
    tree: ComputationTree, dfa: DFA, truths: Mapping[str, Bools] | None = None
) -> States:
    """Return the automaton's state after the letters from the root to each state.

    Args:
        tree: The tree.
        dfa: The automaton.
        truths: For each of its atoms the truth in each state; by default the tree's labels.

    Returns:
        ``int32[states]``.
    """
    if truths is None:
        truths = {name: tree.truth(name) for name in dfa.atoms}
    count = tree.num_states
    codes, table = _letters(dfa, truths, count)
    depths = tree.depths
    deepest = int(depths.max())
    if count >= _WIDE * (deepest + 1):
        found = np.empty(count, dtype=np.int32)
        order = np.argsort(depths, kind="stable")
        found[tree.initial] = table[dfa.initial, codes[tree.initial]]
        bounds = np.cumsum(np.bincount(depths))
        for first, last in zip(bounds[:-1], bounds[1:], strict=True):
            level = order[first:last]
            found[level] = table[found[tree.parents[level]], codes[level]]
        return found
    rows = table.tolist()
    reached: list[int] = []
    for parent, code in zip(tree.parents.tolist(), codes.tolist(), strict=True):
        reached.append(rows[reached[parent] if parent >= 0 else dfa.initial][code])
    return np.array(reached, dtype=np.int32)


def _letters(dfa: DFA, truths: Mapping[str, Bools], count: int) -> tuple[States, States]:
    """The letters that occur, numbered: the number in each state, and next states of the DFA.

    Only letters that occur have a column, so that any number of atoms will do.
    """
    if not dfa.atoms:  # all letters are one
        return np.zeros(count, np.int32), np.array([[~root] for root in dfa.roots], np.int32)
    columns = np.stack([truths[name] for name in dfa.atoms], axis=1)
    packed = np.packbits(columns, axis=1)
    width = packed.shape[1]
    keys = np.ascontiguousarray(packed).view(f"V{width}").ravel() if width > 1 else packed[:, 0]
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    letters = columns[first]
    rows: list[NDArray[np.int32]] = []

    def row(reference: int) -> NDArray[np.int32]:
        return rows[reference] if reference >= 0 else np.full(len(letters), ~reference, np.int32)

    for atom, low, high in zip(dfa.var, dfa.low, dfa.high, strict=True):  # children come first
        rows.append(np.where(letters[:, atom], row(high), row(low)))
    return codes.astype(np.int32), np.stack([row(root) for root in dfa.roots])


def _reachable(structure: Kripke, dfa: DFA) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """The pairs that can be reached, in the order of a breadth-first search, and their edges."""
    truths = {name: structure.truth(name) for name in dfa.atoms}
    letters, rows = _letters(dfa, truths, structure.num_states)
    codes, table = letters.tolist(), rows.tolist()
    pairs = [(state, table[dfa.initial][codes[state]]) for state in structure.initial.tolist()]
    numbers = {pair: number for number, pair in enumerate(pairs)}
    offsets, targets = structure.offsets.data, structure.targets.data
    edges: list[list[int]] = []
    for state, automaton in pairs:  # grows while it is read
        after = []
        for edge in range(offsets[state], offsets[state + 1]):
            target = targets[edge]
            pair = (target, table[automaton][codes[target]])
            number = numbers.get(pair)
            if number is None:
                number = numbers[pair] = len(pairs)
                pairs.append(pair)
            after.append(number)
        edges.append(after)
    return pairs, edges


def _shortest_branch(structure: Kripke, dfa: DFA, accepted: bool) -> tuple[int, ...] | None:
    """A shortest branch whose trace is accepted, or rejected; ``None`` if there is none."""
    pairs, edges = _reachable(structure, dfa)
    before = [-1] * len(pairs)
    for number, after in enumerate(edges):
        for target in after:
            if before[target] < 0 and target >= len(structure.initial):
                before[target] = number
    for number, (state, automaton) in enumerate(pairs):
        if not len(structure.successors(state)) and dfa.accepting[automaton] == accepted:
            branch = [number]
            while before[branch[-1]] >= 0:
                branch.append(before[branch[-1]])
            return tuple(pairs[place][0] for place in reversed(branch))
    return None


def _refuse_endless_paths(structure: Kripke) -> None:
    everywhere = np.ones(structure.num_states, dtype=bool)
    ending = every_way(structure, everywhere, structure.leaves)
    endless = structure.initial[ending[structure.initial] < 0]
    if len(endless):
        state = int(endless[0])
        seen: dict[int, int] = {}
        while state not in seen:
            seen[state] = len(seen)
            onward = structure.successors(state)
            state = int(onward[np.argmax(ending[onward] < 0)])
        circle = [place for place in seen if seen[place] >= seen[state]]
        shown = " -> ".join(map(str, [*circle[:6], *["…"] * (len(circle) > 6), state]))
        raise ConfigurationError(
            f"a path of this structure goes on for ever ({shown}), and LTLf is about finite "
            "traces; check a CTL formula, or a computation tree"
        )
