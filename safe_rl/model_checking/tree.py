"""Computation trees: structures in which each state is reached in one way.

States are numbered depth first, so that what lies below a state is a run of numbers behind it, and
sums over subtrees are differences of running sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.model_checking.labels import Bits, Bools, check_names, pack
from safe_rl.model_checking.structure import Kripke, States, checked_initial, frozen


@dataclass(frozen=True, eq=False)
class ComputationTree(Kripke):
    """A forest of states, numbered depth first; the roots are the initial states.

    Attributes:
        parents: The state before each, -1 for a root. ``int32[states]``.
        sizes: How many states lie at or below each. ``int32[states]``.
        counts: How many sampled rollouts pass through each state. ``int32[states]``.
        cut: Leaves at which a rollout was cut off rather than ended. ``bool[states]``.
        ends: The leaf in which each rollout ends, in the order in which they were given.
            ``int32[rollouts]``.
    """

    parents: States
    sizes: States
    counts: States
    cut: Bools
    ends: States

    @property
    def num_rollouts(self) -> int:
        """How many rollouts the tree holds."""
        return int(self.counts[self.initial].sum())

    @cached_property
    def depths(self) -> States:
        """How many steps each state lies below its root. ``int32[states]``."""
        after = np.arange(self.num_states, dtype=np.int64) + self.sizes
        closed = np.cumsum(np.bincount(after, minlength=self.num_states + 1))[:-1]
        return frozen((np.arange(self.num_states) - closed).astype(np.int32))

    def path_to(self, state: int) -> tuple[int, ...]:
        """Return the states from the root to ``state``."""
        path = [int(state)]
        while self.parents[path[-1]] >= 0:
            path.append(int(self.parents[path[-1]]))
        return tuple(reversed(path))

    def subtree_sums(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each state, the sum of ``values`` over what lies at or below it."""
        running = np.concatenate(([0], np.cumsum(values)))
        return running[np.arange(self.num_states) + self.sizes] - running[:-1]


def tree_from_parents(
    parents: ArrayLike,
    labels: ArrayLike,
    propositions: Sequence[str],
    counts: ArrayLike | None = None,
) -> tuple[ComputationTree, States]:
    """Return the tree in which each state has this parent, and how its states were renumbered.

    Args:
        parents: ``int[states]``, -1 for a root; in any order.
        labels: ``bool[states, propositions]``.
        propositions: The names of the columns of ``labels``.
        counts: How many rollouts end in each state, ``int[states]``, 0 except at leaves; by
            default one in each leaf.

    Returns:
        The tree, and ``int32[states]``: the number in it of each state that was given.

    Raises:
        ConfigurationError: there is no state, a parent does not exist, the parents run in a
            circle, or a shape does not fit.

    >>> tree, number = tree_from_parents([-1, 0, 0, 1], [[1], [1], [0], [0]], ["p"])
    >>> tree.parents.tolist(), number.tolist(), tree.sizes.tolist()
    ([-1, 0, 1, 0], [0, 1, 3, 2], [4, 2, 1, 1])
    """
    names = check_names(propositions)
    given = np.asarray(parents)
    table = np.asarray(labels, dtype=bool)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ConfigurationError(
            f"parents must be integers of shape [states], but are {given.dtype}{list(given.shape)}"
        )
    if table.shape != (len(given), len(names)):
        raise ConfigurationError(
            f"labels must have shape [{len(given)}, {len(names)}], but have {list(table.shape)}"
        )
    given = given.astype(np.int64)
    checked_initial(np.flatnonzero(given < 0), len(given))
    wrong = np.flatnonzero((given < -1) | (given >= len(given)))
    if len(wrong):
        raise ConfigurationError(
            f"the parent of state {wrong[0]} is {given[wrong[0]]}; "
            f"parents are 0 to {len(given) - 1}, or -1 for a root"
        )
    number, sizes = _preorder(given)
    order = np.argsort(number)
    renumbered = np.where(given < 0, -1, number[given])[order]
    leaf = sizes == 1
    if counts is None:
        ending = leaf.astype(np.int64)
    else:
        ending = np.asarray(counts, dtype=np.int64)[order]
        astray = np.flatnonzero(~leaf & (ending != 0))
        if len(astray):
            raise ConfigurationError(
                f"state {order[astray[0]]} has children, so no rollout ends in it, but its count "
                f"is {ending[astray[0]]}; give such a rollout a leaf of its own"
            )
    tree = assemble(
        names, pack(table[order]), renumbered, sizes, ending, np.zeros(len(given), bool), ()
    )
    return tree, frozen(number.astype(np.int32))


def assemble(
    names: tuple[str, ...],
    bits: Bits,
    parents: NDArray[np.int64],
    sizes: NDArray[np.int64],
    ending: NDArray[np.int64],
    cut: Bools,
    ends: ArrayLike,
) -> ComputationTree:
    """Return the tree of states that are numbered depth first already.

    Args:
        names: The propositions.
        bits: Their labels, packed.
        parents: ``int[states]``, -1 for a root.
        sizes: ``int[states]``, of the subtrees.
        ending: How many rollouts end in each state.
        cut: Which leaves end a rollout that was cut off.
        ends: The leaf of each rollout.
    """
    roots = np.flatnonzero(parents < 0)
    children = np.argsort(parents, kind="stable")[len(roots) :]
    degrees = np.bincount(parents[children], minlength=len(parents))
    running = np.concatenate(([0], np.cumsum(ending)))
    counts = running[np.arange(len(parents)) + sizes] - running[:-1]
    return ComputationTree(
        propositions=names,
        bits=bits,
        offsets=frozen(np.concatenate(([0], np.cumsum(degrees)))),
        targets=frozen(children.astype(np.int32)),
        initial=frozen(roots.astype(np.int32)),
        parents=frozen(parents.astype(np.int32)),
        sizes=frozen(sizes.astype(np.int32)),
        counts=frozen(counts.astype(np.int32)),
        cut=frozen(cut),
        ends=frozen(np.asarray(ends, dtype=np.int32)),
    )


def _preorder(parents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Depth-first numbers, and sizes of subtrees in that order; linear in the number of states."""
    count = len(parents)
    downwards = _downwards(parents)
    above = parents.tolist()
    size = [1] * count
    for state in reversed(downwards):
        if above[state] >= 0:
            size[above[state]] += size[state]
    number = [0] * count
    free = [0] * count  # the next number to give below each state
    top = 0
    for state in downwards:
        parent = above[state]
        place = top if parent < 0 else free[parent]
        number[state] = place
        free[state] = place + 1
        if parent < 0:
            top += size[state]
        else:
            free[parent] += size[state]
    numbers = np.array(number, dtype=np.int64)
    sizes = np.empty(count, dtype=np.int64)
    sizes[numbers] = size
    return numbers, sizes


def _downwards(parents: NDArray[np.int64]) -> Sequence[int]:
    """The states in an order in which parents come before their children."""
    count = len(parents)
    if (parents < np.arange(count)).all():
        return range(count)
    jump = np.append(np.where(parents < 0, count, parents), count)
    depth = (jump != count).astype(np.int64)
    for _ in range(count.bit_length() + 1):  # each round doubles the reach
        if (jump == count).all():
            return np.argsort(depth[:-1], kind="stable").tolist()
        depth = depth + depth[jump]
        jump = jump[jump]
    circle = int(np.flatnonzero(jump[:-1] != count)[0])
    raise ConfigurationError(f"state {circle} has no root above it: its parents run in a circle")
