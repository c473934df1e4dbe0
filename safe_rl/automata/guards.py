"""Readable guards: for two states, the letters that lead from one to the other, as an expression.

A guard is read off the decision diagram as an irredundant sum of products by the algorithm of
Minato, "Fast Generation of Prime-Irredundant Covers from Binary Decision Diagrams" (IEICE
Transactions, 1993), for the set of letters or for its complement, whichever takes fewer literals.
A set with no small cover either way (the parity of many propositions) is written as the nested
tests of the diagram instead; with ``^`` at hand a parity stays short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from safe_rl.automata.dfa import DFA

Cube = tuple[tuple[int, bool], ...]
"""A conjunction of literals: ``(index of the atom, its value)``, by rising index."""

_MAX_CUBES: Final = 24


@dataclass(frozen=True)
class Guard:
    """A set of letters.

    Attributes:
        cubes: The disjuncts, or None where no small cover was found; ``()`` is the empty set.
        negated: Whether ``cubes`` cover the complement.
        nested: The diagram as nested tests ``(atom, guard if false, guard if true)``; only where
            ``cubes`` is None.
    """

    cubes: tuple[Cube, ...] | None
    negated: bool = False
    nested: _Nested = True

    def text(
        self, literal: Callable[[int], str], *, true: str, false: str, space: str, xor: bool
    ) -> str:
        """Return the guard as a Boolean expression.

        Args:
            literal: what to write for the atom of an index.
            true: what to write for every letter.
            false: what to write for no letter.
            space: what to put around ``&``, ``|`` and ``^``.
            xor: whether ``^`` may be used, beside ``! & |``.
        """

        def signed(index: int, value: bool) -> str:
            return literal(index) if value else "!" + literal(index)

        conjunction, disjunction = f"{space}&{space}", f"{space}|{space}"

        if self.cubes is None:
            return _Tests(self.nested, signed, space, xor).text()
        if not self.cubes:
            return true if self.negated else false
        if self.cubes == ((),):
            return false if self.negated else true
        disjuncts = [conjunction.join(signed(i, value) for i, value in c) for c in self.cubes]
        text = disjunction.join(disjuncts)
        if not self.negated:
            return text
        return f"!{text}" if text == literal(self.cubes[0][0][0]) else f"!({text})"


class _Tests:
    """Writes a diagram as nested tests of one atom after the other."""

    def __init__(
        self, root: _Nested, signed: Callable[[int, bool], str], space: str, xor: bool
    ) -> None:
        self._root = root
        self._signed = signed
        self._space = space
        self._xor = xor
        self._complements: dict[tuple[int, int], bool] = {}

    def text(self) -> str:
        return self._text(self._root)[0]

    def _text(self, node: _Nested) -> tuple[str, str]:
        """The expression, and the operator at its root: one of ``""``, ``"&"``, ``"|"``, ``"^"``.

        Constants are never asked for: a node's parents leave them out.
        """
        assert not isinstance(node, bool)
        index, low, high = node
        if isinstance(low, bool) and isinstance(high, bool):
            return self._signed(index, high), ""
        if self._xor and self._complementary(low, high):
            rest, operator = self._text(low)
            rest = f"({rest})" if operator in ("&", "|") else rest
            return f"{self._signed(index, True)}{self._space}^{self._space}{rest}", "^"
        parts = []
        for value, child in ((True, high), (False, low)):
            if child is True:
                parts.append((self._signed(index, value), ""))
            elif child is not False:
                rest, operator = self._text(child)
                rest = f"({rest})" if operator in ("|", "^") else rest
                test = self._signed(index, value)
                parts.append((f"{test}{self._space}&{self._space}{rest}", "&"))
        if len(parts) == 1:
            return parts[0]
        return f"{self._space}|{self._space}".join(text for text, _ in parts), "|"

    def _complementary(self, first: _Nested, second: _Nested) -> bool:
        if isinstance(first, bool) or isinstance(second, bool):
            return isinstance(first, bool) and isinstance(second, bool) and first != second
        key = (id(first), id(second))
        if key not in self._complements:
            self._complements[key] = (
                first[0] == second[0]
                and self._complementary(first[1], second[1])
                and self._complementary(first[2], second[2])
            )
        return self._complements[key]


def guards(dfa: DFA, state: int) -> dict[int, Guard]:
    """Return the guard of each edge that leaves ``state``, by its target, in order of target.

    The guards of a state are disjoint and together cover every letter.
    """
    diagrams = _Diagrams(dfa)
    root = dfa.roots[state]
    return {target: diagrams.guard(root, target) for target in sorted(diagrams.leaves(root))}


class _TooManyCubes(Exception):
    """A cover grew past ``_MAX_CUBES``."""


_Nested = bool | tuple[int, "_Nested", "_Nested"]
"""A binary decision diagram as a value: a constant, or ``(atom, if false, if true)``."""


class _Diagrams:
    """Binary diagrams of "the next state is t", made from a DFA's shared diagram.

    Each diagram is interned, so that equal sets of letters are one object and memo tables work.
    """

    def __init__(self, dfa: DFA) -> None:
        self._dfa = dfa
        self._interned: dict[tuple[int, int, int], tuple[int, _Nested, _Nested]] = {}
        self._minus: dict[tuple[int, int], _Nested] = {}
        self._covers: dict[tuple[int, int], tuple[tuple[Cube, ...], _Nested]] = {}

    def leaves(self, root: int) -> set[int]:
        """The states that some letter leads to from diagram reference ``root``."""
        found: set[int] = set()
        seen: set[int] = set()
        stack = [root]
        while stack:
            reference = stack.pop()
            if reference < 0:
                found.add(~reference)
            elif reference not in seen:
                seen.add(reference)
                stack += (self._dfa.low[reference], self._dfa.high[reference])
        return found

    def guard(self, root: int, target: int) -> Guard:
        """The letters that lead from diagram reference ``root`` to ``target``."""
        chosen = self._select(root, target, {})
        complement = self._difference(True, chosen)
        covers = []
        for negated, wanted in ((False, chosen), (True, complement)):
            try:
                covers.append(Guard(self._cover(wanted, wanted)[0], negated))
            except _TooManyCubes:
                continue
        if not covers:
            return Guard(None, nested=chosen)
        return min(covers, key=_length)  # the first of equals, so the plain one

    def _node(self, index: int, low: _Nested, high: _Nested) -> _Nested:
        if low is high:
            return low
        key = (index, id(low), id(high))  # children are interned or constants, and kept alive
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = (index, low, high)
        return found

    def _select(self, reference: int, target: int, known: dict[int, _Nested]) -> _Nested:
        if reference < 0:
            return ~reference == target
        if reference not in known:
            dfa = self._dfa
            known[reference] = self._node(
                dfa.var[reference],
                self._select(dfa.low[reference], target, known),
                self._select(dfa.high[reference], target, known),
            )
        return known[reference]

    def _difference(self, first: _Nested, second: _Nested) -> _Nested:
        """The letters in ``first`` and not in ``second``."""
        if first is False or second is True or first is second:
            return False
        if second is False:
            return first
        key = (id(first), id(second))
        if key not in self._minus:
            index, (first_low, first_high), (second_low, second_high) = _split(first, second)
            self._minus[key] = self._node(
                index,
                self._difference(first_low, second_low),
                self._difference(first_high, second_high),
            )
        return self._minus[key]

    def _both(self, first: _Nested, second: _Nested) -> _Nested:
        return self._difference(first, self._difference(True, second))

    def _either(self, first: _Nested, second: _Nested) -> _Nested:
        outside = self._difference(self._difference(True, first), second)
        return self._difference(True, outside)

    def _cover(self, lower: _Nested, upper: _Nested) -> tuple[tuple[Cube, ...], _Nested]:
        """An irredundant cover of at least ``lower`` and at most ``upper``, and its set."""
        if lower is False:
            return (), False
        if upper is True:
            return ((),), True
        key = (id(lower), id(upper))
        if key in self._covers:
            return self._covers[key]
        index, (lower0, lower1), (upper0, upper1) = _split(lower, upper)
        cubes0, set0 = self._cover(self._difference(lower0, upper1), upper0)
        cubes1, set1 = self._cover(self._difference(lower1, upper0), upper1)
        rest = self._either(self._difference(lower0, set0), self._difference(lower1, set1))
        cubes2, set2 = self._cover(rest, self._both(upper0, upper1))
        cubes = (
            *(((index, True), *cube) for cube in cubes1),
            *(((index, False), *cube) for cube in cubes0),
            *cubes2,
        )
        if len(cubes) > _MAX_CUBES:
            raise _TooManyCubes
        covered = self._node(index, self._either(set0, set2), self._either(set1, set2))
        self._covers[key] = cubes, covered
        return cubes, covered


def _split(
    first: _Nested, second: _Nested
) -> tuple[int, tuple[_Nested, _Nested], tuple[_Nested, _Nested]]:
    """The first atom that either diagram tests, and both diagrams for its two values."""
    index = min(node[0] for node in (first, second) if not isinstance(node, bool))

    def halves(node: _Nested) -> tuple[_Nested, _Nested]:
        if isinstance(node, bool) or node[0] != index:
            return node, node
        return node[1], node[2]

    return index, halves(first), halves(second)


def _length(guard: Guard) -> int:
    cubes = guard.cubes or ()
    return sum(len(cube) for cube in cubes) + guard.negated
