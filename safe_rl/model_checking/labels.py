"""Which propositions hold in which state, as one array of bits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, GroundingError, UnknownPropositionError, near
from safe_rl.logic import Letter, as_bool, missing_propositions

Bools = NDArray[np.bool_]
Bits = NDArray[np.uint8]


def pack(labels: NDArray[Any]) -> Bits:
    """Return labels ``[states, propositions]`` as bits ``[propositions, ceil(states / 8)]``."""
    bits = np.packbits(np.asarray(labels, dtype=bool).T, axis=1)
    bits.flags.writeable = False
    return bits


def unpack(bits: Bits, row: int, count: int) -> Bools:
    """Return one proposition's truth in each state, ``[count]``."""
    return np.unpackbits(bits[row], count=count).view(bool)


def check_names(propositions: Sequence[str]) -> tuple[str, ...]:
    """Return the names as a tuple.

    Raises:
        ConfigurationError: a name is empty, no text, or given twice.
    """
    if isinstance(propositions, str):
        raise ConfigurationError(
            f"propositions must be a sequence of names, not the text {propositions!r}; "
            f"write [{propositions!r}]"
        )
    names = tuple(propositions)
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"proposition {i} must have a name, but is {name!r}")
        if name in names[:i]:
            raise ConfigurationError(f"proposition {name!r} is given twice")
    return names


def unknown_proposition(name: str, propositions: Collection[str]) -> UnknownPropositionError:
    """Return the error for a formula that names a proposition the labels do not have."""
    listed = ", ".join(list(propositions)[:8]) or "none"
    return UnknownPropositionError(
        f"unknown proposition {name!r}{near(name, propositions)}; the labels are {listed} "
        "(one that is never true is known if propositions=[...] names it)"
    )


def label_matrix(
    letters: Sequence[Letter], propositions: Sequence[str] | None = None
) -> tuple[tuple[str, ...], Bools]:
    """Return the names of the propositions and their truth, ``[len(letters), propositions]``.

    Args:
        letters: Sets of true names, or mappings that name every proposition.
        propositions: Their names; by default those that occur, sorted for sets and in the order
            of the first letter for mappings.

    Raises:
        GroundingError: a mapping lacks a proposition or holds a value that is not Boolean, a set
            holds a name that is not among ``propositions``, or a letter is neither.
    """
    if propositions is not None:
        names = check_names(propositions)
    elif letters and isinstance(letters[0], Mapping):
        names = check_names(tuple(letters[0]))
    else:
        names = check_names(sorted(set().union(*(_as_set(letter) for letter in letters))))
    position = {name: i for i, name in enumerate(names)}
    rows: dict[frozenset[str], bytes] = {}
    cells = bytearray()
    for letter in letters:
        if isinstance(letter, Mapping):
            try:
                values = [letter[name] for name in names]
            except KeyError:
                lacking = [name for name in names if name not in letter]
                raise missing_propositions(lacking, letter) from None
            cells += bytes(as_bool(value, name) for name, value in zip(names, values, strict=True))
            continue
        key = letter if isinstance(letter, frozenset) else frozenset(_as_set(letter))
        if key not in rows:
            row = bytearray(len(names))
            for name in key:
                if name not in position:
                    raise GroundingError(str(unknown_proposition(name, names)))
                row[position[name]] = 1
            rows[key] = bytes(row)
        cells += rows[key]
    matrix = np.frombuffer(bytes(cells), dtype=np.uint8).reshape(len(letters), len(names))
    return names, matrix.view(bool)


def _as_set(letter: Letter) -> Collection[str]:
    if isinstance(letter, str) or not isinstance(letter, Collection):
        raise GroundingError(
            f"a letter is a set of names or a mapping, not {letter!r} ({type(letter).__name__})"
        )
    return letter
