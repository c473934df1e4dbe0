"""Distances and reachability on the edges of a DFA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Edges(Protocol):
    """What the search reads of a DFA: its roots and the nodes of its decision diagram."""

    @property
    def roots(self) -> tuple[int, ...]:
        """Per state, a reference."""

    @property
    def low(self) -> tuple[int, ...]:
        """Per node, the reference where its atom is false."""

    @property
    def high(self) -> tuple[int, ...]:
        """Per node, the reference where its atom is true."""


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
