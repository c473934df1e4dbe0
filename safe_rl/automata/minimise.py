"""Minimisation of DFAs whose edges are a decision diagram, by partition refinement.

Moore's algorithm, with a state's signature being the reduced diagram of its classes: one pass
over the nodes of the diagram per round, whatever the number of letters. The first partition
already separates states by their distances to acceptance and to rejection, which equivalent
states share, so that long chains take few rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from safe_rl.automata.dfa import DFA
from safe_rl.automata.distance import distances


def minimise(dfa: DFA) -> DFA:
    """Return the minimal DFA with the same language, states numbered breadth-first.

    States must all be reachable. Two minimal DFAs over the same atoms in the same order are equal
    field by field exactly when their languages are.
    """
    accepting = dfa.accepting
    keys: list[object] = list(accepting)
    if dfa.num_states > 32:
        rejecting = [not a for a in accepting]
        keys = list(zip(distances(dfa, accepting), distances(dfa, rejecting), strict=True))
    classes = _number(keys)
    count = max(classes) + 1
    while True:
        roots, var, low, high = _reduce(dfa, classes)
        # A class splits where its members have different reduced diagrams.
        refined = _number(list(zip(classes, roots, strict=True)))
        refined_count = max(refined) + 1
        if refined_count == count:
            break
        classes, count = refined, refined_count
    representative = [0] * count
    for state in range(dfa.num_states - 1, -1, -1):
        representative[classes[state]] = state
    return _breadth_first(
        dfa,
        [roots[state] for state in representative],
        var,
        low,
        high,
        [accepting[state] for state in representative],
        classes[dfa.initial],
    )


def _number(keys: Sequence[object]) -> list[int]:
    """Number keys by first appearance."""
    seen: dict[object, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def _reduce(dfa: DFA, classes: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Merge states into classes and reduce the diagram: its roots, and its nodes."""
    unique: dict[tuple[int, int, int], int] = {}
    value: list[int] = []
    for var, low, high in zip(dfa.var, dfa.low, dfa.high, strict=True):  # children come first
        below = value[low] if low >= 0 else ~classes[~low]
        above = value[high] if high >= 0 else ~classes[~high]
        if below == above:
            value.append(below)
        else:
            value.append(unique.setdefault((var, below, above), len(unique)))
    roots = [value[r] if r >= 0 else ~classes[~r] for r in dfa.roots]
    nodes = list(unique)
    return roots, [n[0] for n in nodes], [n[1] for n in nodes], [n[2] for n in nodes]


def _breadth_first(
    dfa: DFA,
    roots: Sequence[int],
    var: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    accepting: Sequence[bool],
    initial: int,
) -> DFA:
    """Renumber states by breadth-first search and nodes in post-order: a canonical form."""
    state_number = {initial: 0}
    order = [initial]
    node_number: dict[int, int] = {}
    new_roots: list[int] = []
    new_var: list[int] = []
    new_low: list[int] = []
    new_high: list[int] = []

    def visit(ref: int) -> int:
        if ref < 0:
            state = ~ref
            if state not in state_number:
                state_number[state] = len(order)
                order.append(state)
            return ~state_number[state]
        if ref not in node_number:
            below, above = visit(low[ref]), visit(high[ref])
            node_number[ref] = len(new_var)
            new_var.append(var[ref])
            new_low.append(below)
            new_high.append(above)
        return node_number[ref]

    for state in order:  # grows while it is read
        new_roots.append(visit(roots[state]))
    return DFA(
        atoms=dfa.atoms,
        roots=tuple(new_roots),
        var=tuple(new_var),
        low=tuple(new_low),
        high=tuple(new_high),
        accepting=tuple(accepting[state] for state in order),
        initial=0,
        formula=dfa.formula,
    )
