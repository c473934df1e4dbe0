"""Bindings: which object each ``forall`` variable stands for, and how atoms take them in.

A variable of a parametric specification appears as an argument of call atoms: under the binding
``o = mug_1`` the atom ``grasped(o)`` becomes ``grasped(mug_1)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

_CALL: Final = re.compile(r"(?P<head>[^()]+)\((?P<arguments>.+)\)\Z")
_ARGUMENT: Final = re.compile(r"[^\s,()]+")


class Binding(Mapping[str, str]):
    """An immutable, hashable mapping of texts that keeps its order.

    >>> binding = Binding({"o": "mug_1"})
    >>> binding["o"], str(binding)
    ('mug_1', 'o=mug_1')
    """

    __slots__ = ("_items",)

    _items: tuple[tuple[str, str], ...]

    def __init__(self, items: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        """Hold a copy of ``items``."""
        self._items = tuple(dict(items).items())

    def __getitem__(self, key: str) -> str:
        for name, value in self._items:
            if name == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self._items)

    def __repr__(self) -> str:
        return f"Binding({dict(self._items)!r})"


def arguments(atom: str) -> tuple[str, ...]:
    """Return the arguments of a call atom, and nothing for any other atom.

    >>> arguments("on(milk,table)")
    ('milk', 'table')
    >>> arguments("gripper_open")
    ()
    """
    call = _CALL.match(atom)
    return tuple(_ARGUMENT.findall(call["arguments"])) if call else ()


def bind_atom(atom: str, binding: Mapping[str, str]) -> str:
    """Return ``atom`` with each argument that is a variable of ``binding`` replaced.

    >>> bind_atom("on(o,table)", {"o": "mug_1"})
    'on(mug_1,table)'
    >>> bind_atom("o", {"o": "mug_1"})
    'o'
    """
    call = _CALL.match(atom)
    if call is None:
        return atom
    bound = _ARGUMENT.sub(lambda found: binding.get(found[0], found[0]), call["arguments"])
    return f"{call['head']}({bound})"
