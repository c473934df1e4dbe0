"""Kripke structures as frozen arrays: successors, labels, initial states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.logic import Letter
from safe_rl.model_checking.labels import (
    Bits,
    Bools,
    check_names,
    label_matrix,
    pack,
    unknown_proposition,
    unpack,
)

States = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Kripke:
    """States, the steps between them, and what is true in each.

    A state without successors is a *leaf*: a path that reaches it ends there. How that end is
    read is a choice of whoever checks a formula.

    Attributes:
        propositions: The names of the labels.
        bits: Labels, ``uint8[propositions, ceil(states / 8)]``, most significant bit first.
        offsets: ``int64[states + 1]``; the successors of ``s`` are
            ``targets[offsets[s]:offsets[s + 1]]``.
        targets: ``int32[edges]``.
        initial: The initial states, ``int32[k]``, at least one.
    """

    propositions: tuple[str, ...]
    bits: Bits
    offsets: NDArray[np.int64]
    targets: States
    initial: States

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.offsets) - 1

    @property
    def num_edges(self) -> int:
        """The number of steps."""
        return len(self.targets)

    def truth(self, proposition: str) -> Bools:
        """Return the truth of a proposition in each state, ``bool[states]``.

        Raises:
            UnknownPropositionError: no label has this name; the message suggests one that is near.
        """
        try:
            row = self.propositions.index(proposition)
        except ValueError:
            raise unknown_proposition(proposition, self.propositions) from None
        return unpack(self.bits, row, self.num_states)

    def letter(self, state: int) -> frozenset[str]:
        """Return the propositions that are true in ``state``."""
        column = self.bits[:, state >> 3] >> (7 - (state & 7)) & 1
        return frozenset(self.propositions[i] for i in np.flatnonzero(column))

    def successors(self, state: int) -> States:
        """Return the successors of ``state``."""
        return self.targets[self.offsets[state] : self.offsets[state + 1]]

    @cached_property
    def degrees(self) -> States:
        """How many successors each state has, ``int32[states]``."""
        return frozen(np.diff(self.offsets).astype(np.int32))

    @cached_property
    def leaves(self) -> Bools:
        """Which states have no successor, ``bool[states]``."""
        return frozen(self.degrees == 0)

    @cached_property
    def sources(self) -> States:
        """The state that each edge leaves, ``int32[edges]``."""
        return frozen(np.repeat(np.arange(self.num_states, dtype=np.int32), self.degrees))

    @cached_property
    def predecessors(self) -> tuple[NDArray[np.int64], States]:
        """The edges backwards: offsets ``int64[states + 1]`` and sources ``int32[edges]``."""
        order = np.argsort(self.targets, kind="stable")
        counts = np.bincount(self.targets, minlength=self.num_states)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return frozen(offsets), frozen(self.sources[order])


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, no longer writeable."""
    array.flags.writeable = False
    return array


def kripke(
    successors: Sequence[Iterable[int]],
    letters: Sequence[Letter],
    propositions: Sequence[str] | None = None,
    initial: Iterable[int] = (0,),
) -> Kripke:
    """Return the structure with these successors and letters, one of each for every state.

    Args:
        successors: For each state, the states that may follow; none for a leaf.
        letters: For each state, the set of true propositions or a mapping of all of them.
        propositions: The names of the propositions; by default those that occur in ``letters``.
        initial: The initial states.

    Raises:
        ConfigurationError: there is no state or no initial state, or a state does not exist.
        GroundingError: a letter lacks a proposition or holds a value that is not Boolean.

    >>> lamp = kripke([[0, 1], [0]], [set(), {"on"}])
    >>> lamp.num_states, lamp.num_edges, [sorted(lamp.letter(s)) for s in (0, 1)]
    (2, 3, [[], ['on']])
    """
    names, labels = label_matrix(letters, propositions)
    if len(successors) != len(letters):
        raise ConfigurationError(
            f"there are successors of {len(successors)} states, but letters of {len(letters)}"
        )
    after = [list(states) for states in successors]
    edges = [(state, target) for state, states in enumerate(after) for target in states]
    return kripke_from_edges(np.array(edges, dtype=np.int64).reshape(-1, 2), labels, names, initial)


def kripke_from_edges(
    edges: ArrayLike,
    labels: ArrayLike,
    propositions: Sequence[str],
    initial: Iterable[int] = (0,),
) -> Kripke:
    """Return the structure with these edges.

    Args:
        edges: ``int[edges, 2]``, source and target of each.
        labels: ``bool[states, propositions]``.
        propositions: The names of the columns of ``labels``.
        initial: The initial states.

    Raises:
        ConfigurationError: as :func:`kripke`, or a shape does not fit.
    """
    names = check_names(propositions)
    table = np.asarray(labels)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ConfigurationError(
            f"labels must have shape [states, {len(names)}], one column for each proposition, "
            f"but have {list(table.shape)}"
        )
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = pairs.reshape(0, 2).astype(np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ConfigurationError(
            f"edges must be integers of shape [edges, 2], but are {pairs.dtype}{list(pairs.shape)}"
        )
    count = len(table)
    starts = checked_initial(initial, count)
    sources, targets = pairs[:, 0], pairs[:, 1]
    for what, states in (("leaves", sources), ("enters", targets)):
        wrong = np.flatnonzero((states < 0) | (states >= count))
        if len(wrong):
            edge = pairs[wrong[0]].tolist()
            raise ConfigurationError(
                f"edge {edge[0]} -> {edge[1]} {what} state {states[wrong[0]]}, "
                f"but the states are 0 to {count - 1}"
            )
    order = np.argsort(sources, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=count))))
    return Kripke(
        names,
        pack(table),
        frozen(offsets.astype(np.int64)),
        frozen(targets[order].astype(np.int32)),
        starts,
    )


def checked_initial(initial: Iterable[int], num_states: int) -> States:
    """Return the initial states as an array, each once.

    Raises:
        ConfigurationError: there is no state at all, none is initial, or one does not exist.
    """
    if num_states == 0:
        raise ConfigurationError(
            "the structure has no states, so no formula can be checked on it; "
            "give at least one state"
        )
    states = list(dict.fromkeys(int(state) for state in initial))
    if not states:
        raise ConfigurationError("no state is initial; a formula is checked in the initial states")
    for state in states:
        if not 0 <= state < num_states:
            raise ConfigurationError(
                f"initial state {state} does not exist; the states are 0 to {num_states - 1}"
            )
    return frozen(np.array(states, dtype=np.int32))
