"""The two searches that CTL rests on: states with *some* way to a goal, and with *no other* way.

Both run backwards from the goal, layer by layer, and touch each edge once. A wide layer is one
array operation; thin ones, of which a long chain has as many as states, are stepped one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.structure import Kripke, States
from safe_rl.model_checking.tree import ComputationTree

WIDE: Final = 64
"""A layer of at least this many states is an array operation."""


def some_way(structure: Kripke, through: Bools, goal: Bools) -> States:
    """Return how far off the goal is by the nearest way: E[through U goal].

    Returns:
        ``int32[states]``: the fewest steps into ``goal`` with ``through`` in every state before
        it; -1 where there is no such path.
    """
    return _attract(structure, through, goal, np.ones(structure.num_states, dtype=np.int32))


def every_way(structure: Kripke, through: Bools, goal: Bools) -> States:
    """Return within how many steps each path comes to the goal: A[through U goal].

    Returns:
        ``int32[states]``: the steps that the longest path takes into ``goal``, with ``through`` in
        every state before it; -1 where some path ends, loops or fails ``through`` before.
    """
    return _attract(structure, through, goal, structure.degrees.copy())


def _attract(structure: Kripke, through: Bools, goal: Bools, needed: States) -> States:
    """Layers of states that join once ``needed`` of their edges lead to states that have joined."""
    offsets, sources = structure.predecessors
    ranks = np.where(goal, np.int32(0), np.int32(-1))
    frontier: NDArray[np.int64] | list[int] = np.flatnonzero(goal)
    layer = 0
    while len(frontier):
        layer += 1
        if len(frontier) >= WIDE:
            edges = _edges_into(offsets, sources, np.asarray(frontier))
            reached, times = np.unique(edges, return_counts=True)
            needed[reached] -= times.astype(np.int32)
            joins = (needed[reached] <= 0) & through[reached] & (ranks[reached] < 0)
            frontier = reached[joins].astype(np.int64)
            ranks[frontier] = layer
        else:
            thin = frontier if isinstance(frontier, list) else frontier.tolist()
            layer, frontier = _thin_layers(
                offsets.data,
                sources.data,
                np.ascontiguousarray(through).view(np.uint8).data,
                needed.data,
                ranks.data,
                layer,
                thin,
            )
    return ranks


def _edges_into(offsets: NDArray[np.int64], sources: States, states: NDArray[np.int64]) -> States:
    """The sources of all edges into ``states``, with repetitions."""
    counts = offsets[states + 1] - offsets[states]
    before = np.cumsum(counts) - counts
    return sources[np.repeat(offsets[states] - before, counts) + np.arange(counts.sum())]


def _thin_layers(
    offsets: memoryview,
    sources: memoryview,
    through: memoryview,
    needed: memoryview,
    ranks: memoryview,
    layer: int,
    frontier: list[int],
) -> tuple[int, list[int]]:
    """Step until a layer is wide or empty; return the number of the last layer, and the layer."""
    while True:
        after: list[int] = []
        for state in frontier:
            for edge in range(offsets[state], offsets[state + 1]):
                source = sources[edge]
                left = needed[source] - 1
                needed[source] = left
                if left <= 0 and ranks[source] < 0 and through[source]:
                    ranks[source] = layer
                    after.append(source)
        if not after or len(after) >= WIDE:
            return layer, after
        frontier = after
        layer += 1


def some_way_in_tree(tree: ComputationTree, through: Bools, goal: Bools) -> Bools:
    """Return where E[through U goal] holds in a tree, without going from layer to layer.

    A goal counts for itself and for the states above it up to its *stop*, the nearest state above
    that is not in ``through``. So each goal adds one, its stop takes one off, and a state has a
    way if the sum over its subtree is positive. Stops are found by doubling: O(n log depth) in
    array operations, however deep the tree is.
    """
    count = tree.num_states
    goals = np.flatnonzero(goal)
    weights = goal.astype(np.int64)
    if not through.all():
        stops = np.append(np.where(tree.parents < 0, count, tree.parents), count).astype(np.int32)
        jump = np.where(np.append(through, False), stops, np.arange(count + 1, dtype=np.int32))
        while True:
            further = jump[jump]
            if np.array_equal(further, jump):
                break
            jump = further
        weights -= np.bincount(jump[stops[goals]], minlength=count + 1)[:count]
    return tree.subtree_sums(weights) > 0
