"""Propositions in words: what to say where one is true, and where it is false."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from safe_rl.errors import FormulaSyntaxError
from safe_rl.logic import parse


class Phrase(NamedTuple):
    """A proposition in words, as clauses that follow "make sure that".

    Attributes:
        true: where it is true, such as ``"the lid is on"``.
        false: where it is false, such as ``"the lid is off"``.
    """

    true: str
    false: str

    def of(self, value: bool | int) -> str:
        """Return the words for a truth value."""
        return self.true if value else self.false


def plain_phrase(proposition: str) -> Phrase:
    """Return the words for a proposition that has none of its own.

    >>> plain_phrase("lid_on").of(False)
    'lid_on is false'
    """
    return Phrase(f"{proposition} is true", f"{proposition} is false")


class Phrases(Mapping[str, Phrase]):
    """An immutable, hashable mapping from propositions to phrases.

    >>> phrases = Phrases({"lid_on": Phrase("the lid is on", "the lid is off")})
    >>> phrases["lid_on"].false, hash(phrases) == hash(Phrases(phrases))
    ('the lid is off', True)
    """

    __slots__ = ("_items",)

    _items: tuple[tuple[str, Phrase], ...]

    def __init__(self, items: Mapping[str, Phrase] | None = None) -> None:
        """Hold a copy of ``items``."""
        self._items = tuple((items or {}).items())

    def __getitem__(self, key: str) -> Phrase:
        for name, phrase in self._items:
            if name == key:
                return phrase
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return f"Phrases({dict(self._items)!r})"


def named_atom(written: object, atoms: Collection[str]) -> str | None:
    """Return which of ``atoms`` a key such as ``on(milk, table)`` names, or ``None``.

    >>> named_atom("on(milk, table)", ["on(milk,table)"])
    'on(milk,table)'
    """
    if not isinstance(written, str) or written in atoms:
        return written if isinstance(written, str) else None
    try:
        name = parse(written).name
    except FormulaSyntaxError:
        return None
    return name if name in atoms else None
