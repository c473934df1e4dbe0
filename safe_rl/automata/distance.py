"""Distances on the edges of a DFA: in letters between states, in atoms between letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

Flips = tuple[int, ...]
"""Atoms whose values are to be turned over, as rising indices."""

MOST_WAYS: Final = 16
"""So many equally small sets of two or more atoms are kept for a leaf: nobody reads more."""


class Edges(Protocol):
    """What the search reads of a DFA: its roots and the nodes of its decision diagram."""

    @property
    def roots(self) -> tuple[int, ...]:
        """Per state, a reference."""

    @property
    def var(self) -> tuple[int, ...]:
        """Per node, the index of the atom it tests."""

    @property
    def low(self) -> tuple[int, ...]:
        """Per node, the reference where its atom is false."""

    @property
    def high(self) -> tuple[int, ...]:
        """Per node, the reference where its atom is true."""


def nearest_flips(
    edges: Edges, state: int, letter: Sequence[bool | int]
) -> dict[int, tuple[Flips, ...]]:
    """Return, per leaf that leaves ``state``, how to get there with the fewest changed atoms.

    One pass over the state's decision diagram, from the leaves to the root: following the letter is
    free, the other branch of a node costs one flip.

    Args:
        edges: a DFA, whose leaves are next states, or any machine over such a diagram.
        state: where the letter is read.
        letter: truth of each atom.

    Returns:
        Leaf ``~reference`` to the smallest sets of atoms that have to be turned over for the letter
        to lead there: ``((),)`` where it does already. In lexicographic order; every single atom
        that suffices, but at most 16 larger sets.

    >>> from safe_rl.automata import compile_ltlf
    >>> dfa = compile_ltlf("a U (b & c)")
    >>> [(dfa.is_safe(leaf), ways) for leaf, ways in nearest_flips(dfa, 0, [0, 0, 1]).items()]
    [(False, ((),)), (True, ((1,),)), (False, ((0,),))]
    """
    known: dict[int, dict[int, tuple[Flips, ...]]] = {}

    def below(ref: int) -> dict[int, tuple[Flips, ...]]:
        if ref < 0:
            return {~ref: ((),)}
        if ref not in known:
            var = edges.var[ref]
            low, high = edges.low[ref], edges.high[ref]
            followed, other = (high, low) if letter[var] else (low, high)
            found = dict(below(followed))
            for leaf, ways in below(other).items():
                old = found.get(leaf)
                if old is None or len(old[0]) > len(ways[0]) + 1:
                    found[leaf] = tuple((var, *way) for way in ways)
                elif len(old[0]) == len(ways[0]) + 1:
                    merged = sorted([*old, *((var, *way) for way in ways)])
                    single = len(merged[0]) == 1
                    found[leaf] = tuple(merged if single else merged[:MOST_WAYS])
            known[ref] = found
        return known[ref]

    return below(edges.roots[state])


def distances(edges: Edges, targets: Sequence[bool]) -> list[int]:
    """Return, per state, the fewest letters that lead into ``targets``; -1 where none does.

    A breadth-first search backwards, in which a step from a node of the diagram to its parent is
    free and a step from a root to its state costs one letter: linear in the size of the diagram.
    """
    num_states = len(edges.roots)
    node_parents: list[list[int]] = [[] for _ in edges.low]
    leaf_parents: list[list[int]] = [[] for _ in range(num_states)]
    node_states: list[list[int]] = [[] for _ in edges.low]
    leaf_states: list[list[int]] = [[] for _ in range(num_states)]
    for children in (edges.low, edges.high):
        for node, child in enumerate(children):
            (node_parents[child] if child >= 0 else leaf_parents[~child]).append(node)
    for state, root in enumerate(edges.roots):
        (node_states[root] if root >= 0 else leaf_states[~root]).append(state)

    found = [0 if target else -1 for target in targets]
    seen = [False] * len(edges.low)
    frontier = [state for state in range(num_states) if found[state] == 0]
    length = 0
    while frontier:
        length += 1
        reached: list[int] = []
        stack: list[int] = []
        for state in frontier:
            reached.extend(leaf_states[state])
            stack.extend(leaf_parents[state])
        while stack:
            node = stack.pop()
            if not seen[node]:
                seen[node] = True
                reached.extend(node_states[node])
                stack.extend(node_parents[node])
        frontier = []
        for state in reached:
            if found[state] < 0:
                found[state] = length
                frontier.append(state)
    return found
