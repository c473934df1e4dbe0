"""Letters: one truth assignment, given as a set of true names or as a mapping name to bool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from safe_rl.errors import GroundingError, near

Letter = Set[str] | Mapping[str, Any]
"""A set holds the true propositions; a mapping must name every proposition that is asked for."""


def truth(letter: Letter, name: str) -> bool:
    """Return whether proposition ``name`` is true in ``letter``.

    Raises:
        GroundingError: a mapping lacks ``name``, or its value is neither Boolean nor 0 or 1. A
            missing proposition is never read as false.

    >>> truth({"a"}, "b")
    False
    >>> truth({"a": True}, "a")
    True
    """
    if isinstance(letter, Mapping):
        try:
            value = letter[name]
        except KeyError:
            raise missing_propositions([name], letter) from None
        return as_bool(value, name)
    if isinstance(letter, str):  # a str would pass for a set
        raise GroundingError(
            f"a letter is a set of names or a mapping, not the text {letter!r}; "
            f"write {{{letter!r}}} for the letter in which it alone is true"
        )
    return name in letter


def as_bool(value: Any, name: str) -> bool:
    """Return ``value`` as a bool.

    Raises:
        GroundingError: it is neither a Boolean (Python's or NumPy's) nor the number 0 or 1.
    """
    try:
        if value in (0, 1):  # bool, numpy.bool_ and the two integers compare equal to 0 or 1
            return bool(value)
    except ValueError:  # an array with more than one element
        pass
    raise GroundingError(
        f"proposition {name!r} must be true or false, but is {value!r} "
        f"({type(value).__name__}); make the grounding return a bool"
    )


def missing_propositions(names: Iterable[str], given: Collection[str]) -> GroundingError:
    """Return the error for a mapping that lacks ``names``, with near names among ``given``."""
    lacking = list(names)
    listed = ", ".join(repr(n) + near(n, given) for n in lacking)
    return GroundingError(
        f"the letter lacks {'proposition' if len(lacking) == 1 else 'propositions'} {listed}; "
        "a mapping must name every proposition that the formula uses "
        "(a set of the true ones may leave out the false)"
    )
