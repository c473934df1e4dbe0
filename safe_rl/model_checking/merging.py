"""Sampled rollouts as one computation tree: what begins alike is one branch.

Rollouts become words over numbered letters, sorted; neighbours then share the longest beginnings,
and each rollout adds to the tree what it does not share with the one before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.logic import Letter
from safe_rl.model_checking.labels import check_names, label_matrix, pack
from safe_rl.model_checking.tree import ComputationTree, assemble

Ints = NDArray[np.int64]


def merge_rollouts(
    rollouts: Sequence[Sequence[Letter]],
    propositions: Sequence[str] | None = None,
    *,
    truncated: Sequence[bool] | None = None,
    keys: Sequence[Sequence[Hashable]] | None = None,
) -> ComputationTree:
    """Return the tree of these rollouts, merged by prefix.

    Each rollout ends in a leaf: one that is a beginning of another has a last state of its own
    beside the state through which the other goes on. Equal rollouts share one branch, and
    ``counts`` says how many there are.

    Args:
        rollouts: Sequences of letters, none of them empty.
        propositions: The names of the propositions; by default those that occur.
        truncated: Which rollouts were cut off before their end; by default none.
        keys: What else must be equal for two steps to be one state, such as a simulator's state
            or the action taken; one for each letter. By default letters alone decide.

    Raises:
        ConfigurationError: there is no rollout, one is empty, or the lengths do not match.
        GroundingError: a letter lacks a proposition or holds a value that is not Boolean.

    >>> tree = merge_rollouts([[{"a"}, {"b"}, set()], [{"a"}, {"b"}], [{"a"}, {"b"}, set()]])
    >>> tree.parents.tolist(), tree.counts.tolist(), tree.ends.tolist()
    ([-1, 0, 1, 0], [3, 2, 2, 1], [2, 3, 2])
    """
    names, labels = label_matrix(
        [letter for rollout in rollouts for letter in rollout], propositions
    )
    lengths = [len(rollout) for rollout in rollouts]
    flat: Ints | None = None
    if keys is not None:
        if [len(row) for row in keys] != lengths:
            raise ConfigurationError("keys must hold one key for each letter of each rollout")
        found: dict[Hashable, int] = {}
        flat = np.array([found.setdefault(key, len(found)) for row in keys for key in row])
    return merge_arrays(labels, lengths, names, truncated=truncated, keys=flat)


def merge_arrays(
    labels: ArrayLike,
    lengths: ArrayLike,
    propositions: Sequence[str],
    *,
    truncated: ArrayLike | None = None,
    keys: ArrayLike | None = None,
) -> ComputationTree:
    """Return the tree of rollouts that are given as arrays; see :func:`merge_rollouts`.

    Time is linear in the number of steps, but for the sorting of rollouts and of letters.

    Args:
        labels: ``bool[steps, propositions]``: the letters of all rollouts, one after the other.
        lengths: ``int[rollouts]``: how many of them are of each.
        propositions: The names of the columns of ``labels``.
        truncated: ``bool[rollouts]``.
        keys: ``int[steps]``, 0 or more.

    Raises:
        ConfigurationError: there is no rollout, one is empty, or a shape does not fit.
    """
    names = check_names(propositions)
    table = np.asarray(labels, dtype=bool)
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.ndim != 1 or not len(sizes):
        raise ConfigurationError("there are no rollouts to merge; give at least one")
    if (sizes < 1).any():
        empty = int(np.flatnonzero(sizes < 1)[0])
        raise ConfigurationError(
            f"rollout {empty} has no steps; a rollout holds at least its first letter"
        )
    if table.shape != (sizes.sum(), len(names)):
        raise ConfigurationError(
            f"labels must have shape [{sizes.sum()}, {len(names)}], the sum of lengths by the "
            f"number of propositions, but have {list(table.shape)}"
        )
    final = np.ones(len(sizes), dtype=np.int64)
    if truncated is not None:
        cut_off = np.asarray(truncated)
        if cut_off.shape != sizes.shape or cut_off.dtype != bool:
            raise ConfigurationError(
                f"truncated must be bool[{len(sizes)}], one for each rollout, but is "
                f"{cut_off.dtype}{list(cut_off.shape)}"
            )
        final += cut_off
    symbols = _letter_numbers(table)
    if keys is not None:
        more = np.asarray(keys, dtype=np.int64)
        if more.shape != symbols.shape or (more < 0).any():
            raise ConfigurationError(f"keys must be {len(symbols)} integers, 0 or more")
        symbols = np.unique(symbols * (more.max() + 1) + more, return_inverse=True)[1]
    after = np.cumsum(sizes)
    symbols = symbols * 3  # a last step is another symbol, so that no rollout begins another
    symbols[after - 1] += final
    return _tree(names, table, symbols, after - sizes, sizes, final == 2)


def _letter_numbers(labels: NDArray[np.bool_]) -> Ints:
    """A number for each row, equal for equal rows."""
    numbers = np.zeros(len(labels), dtype=np.int64)
    for first in range(0, labels.shape[1], 32):
        word = labels[:, first : first + 32] @ (1 << np.arange(len(labels[0, first : first + 32])))
        numbers = np.unique(numbers << 32 | word, return_inverse=True)[1]
    return numbers


def _tree(
    names: tuple[str, ...],
    labels: NDArray[np.bool_],
    symbols: Ints,
    starts: Ints,
    lengths: Ints,
    truncated: NDArray[np.bool_],
) -> ComputationTree:
    blob = symbols.astype(">u4").tobytes()
    words = [
        blob[4 * start : 4 * (start + length)]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]
    order = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
    starts, lengths = starts[order], lengths[order]
    shared = np.append(0, _shared_beginnings(symbols, starts, lengths))
    added = lengths - shared
    places = np.cumsum(added) - added  # the number of the first state that each rollout adds
    count = int(added.sum())
    parents = np.arange(count) - 1
    closes = _attach(parents, shared, places, added)
    source = np.repeat(starts + shared - places, added) + np.arange(count)

    leaves = np.maximum.accumulate(np.where(added > 0, places + added - 1, 0))
    ends = np.empty(len(order), dtype=np.int64)
    ends[order] = leaves
    cut = np.zeros(count, dtype=bool)
    cut[ends[truncated]] = True
    return assemble(
        names,
        pack(labels[source]),
        parents,
        closes - np.arange(count),
        np.bincount(leaves, minlength=count),
        cut,
        ends,
    )


def _shared_beginnings(symbols: Ints, starts: Ints, lengths: Ints) -> Ints:
    """How many steps each word shares with the one before it, from the second on."""
    compared = np.minimum(lengths[:-1], lengths[1:])
    if not len(compared):
        return compared
    rows = np.cumsum(compared) - compared
    step = np.arange(compared.sum()) - np.repeat(rows, compared)
    before = symbols[np.repeat(starts[:-1], compared) + step]
    differs = before != symbols[np.repeat(starts[1:], compared) + step]
    first = np.where(differs, step, np.iinfo(np.int64).max)
    return np.minimum(np.minimum.reduceat(first, rows), compared)


def _attach(parents: Ints, shared: Ints, places: Ints, added: Ints) -> Ints:
    """Set the parent of the first state of each rollout; return where each subtree closes.

    The open branch lies on a stack, in pieces ``[depth, first state, states still open]``.
    """
    closes = np.full(len(parents), len(parents))
    stack: list[list[int]] = []
    for depth, place, more in zip(shared.tolist(), places.tolist(), added.tolist(), strict=True):
        if not more:
            continue
        while stack and stack[-1][0] >= depth:
            _, first, still_open = stack.pop()
            closes[first : first + still_open] = place
        parents[place] = -1
        if stack:
            top, first, still_open = stack[-1]
            keep = depth - top
            closes[first + keep : first + still_open] = place
            stack[-1][2] = keep
            parents[place] = first + keep - 1
        stack.append([depth, place, more])
    return closes
