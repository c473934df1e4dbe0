"""Formulas of LTLf with past, as immutable and interned values.

A formula is a tree of one node class. Nodes are interned: two formulas with the same structure
are the same object, so equality is identity and formulas are cheap dictionary keys.

The operators and their finite-trace meaning follow De Giacomo and Vardi, "Linear Temporal Logic
and Linear Dynamic Logic on Finite Traces" (IJCAI 2013); :mod:`safe_rl.logic.semantics` states
each of them in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self
from weakref import WeakValueDictionary

from safe_rl.errors import FormulaSyntaxError


class Op(StrEnum):
    """The operator at the root of a formula; the value is its printed form."""

    TRUE = "true"
    FALSE = "false"
    LAST = "last"
    ATOM = "atom"
    NOT = "!"
    AND = "&"
    OR = "|"
    XOR = "^"
    IMPLIES = "->"
    IFF = "<->"
    NEXT = "X"
    WEAK_NEXT = "WX"
    EVENTUALLY = "F"
    ALWAYS = "G"
    UNTIL = "U"
    WEAK_UNTIL = "W"
    RELEASE = "R"
    STRONG_RELEASE = "M"
    YESTERDAY = "Y"
    ONCE = "O"
    HISTORICALLY = "H"
    SINCE = "S"


PAST_OPS: Final = frozenset({Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY, Op.SINCE})
FUTURE_OPS: Final = frozenset(
    {
        Op.LAST,
        Op.NEXT,
        Op.WEAK_NEXT,
        Op.EVENTUALLY,
        Op.ALWAYS,
        Op.UNTIL,
        Op.WEAK_UNTIL,
        Op.RELEASE,
        Op.STRONG_RELEASE,
    }
)
BOUNDED_OPS: Final = frozenset({Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS, Op.UNTIL})
"""Operators that take an interval: ``F[a,b]``, ``G[a,b]``, ``U[a,b]``, ``X[k]``, ``WX[k]``."""

Bounds = tuple[int, int | None]
"""An interval of steps; an upper end of ``None`` is unbounded."""

_ARITY: Final = {
    **dict.fromkeys((Op.TRUE, Op.FALSE, Op.LAST, Op.ATOM), 0),
    **dict.fromkeys((Op.NOT, Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS), 1),
    **dict.fromkeys((Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY), 1),
}
_interned: WeakValueDictionary[tuple[object, ...], Formula] = WeakValueDictionary()


class Formula:
    """One node of a formula.

    Attributes:
        op: The operator.
        args: The operands, at most two.
        name: The proposition's name for an atom, else the empty string.
        bounds: ``(low, high)`` for a bounded operator, else ``None``.
        has_future: Whether an operator that looks ahead occurs in it.

    >>> grasped, held = atom("grasped"), atom("held")
    >>> (grasped >> held).op is Op.IMPLIES
    True
    >>> atom("a") & atom("b") == atom("a") & atom("b")
    True
    """

    __slots__ = ("__weakref__", "_atoms", "args", "bounds", "has_future", "name", "op")

    op: Op
    args: tuple[Formula, ...]
    name: str
    bounds: Bounds | None
    has_future: bool
    _atoms: tuple[str, ...] | None

    def __new__(
        cls, op: Op, args: tuple[Formula, ...] = (), name: str = "", bounds: Bounds | None = None
    ) -> Self:
        """Return the one node with this structure.

        Raises:
            FormulaSyntaxError: wrong number of operands, an impossible interval, an empty atom
                name, or an operator of the future under one of the past.
        """
        key = (op, args, name, bounds)
        found = _interned.get(key)
        if found is not None:
            return found  # type: ignore[return-value]
        _validate(op, args, name, bounds)
        self = super().__new__(cls)
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "has_future", op in FUTURE_OPS or any(a.has_future for a in args))
        object.__setattr__(self, "_atoms", None)
        return _interned.setdefault(key, self)  # type: ignore[return-value]

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"formulas are immutable; cannot set {attribute!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return Formula, (self.op, self.args, self.name, self.bounds)

    @property
    def atoms(self) -> tuple[str, ...]:
        """The names of the propositions, each once, in order of first appearance."""
        if self._atoms is None:
            names: dict[str, None] = {}
            stack, seen = [self], set()
            while stack:
                node = stack.pop()
                if node in seen:
                    continue
                seen.add(node)
                if node.op is Op.ATOM:
                    names[node.name] = None
                stack.extend(reversed(node.args))
            object.__setattr__(self, "_atoms", tuple(names))
        return self._atoms  # type: ignore[return-value]

    def rename(self, names: Mapping[str, str]) -> Formula:
        """Return the formula with each proposition in ``names`` renamed."""
        if self.op is Op.ATOM:
            return atom(names.get(self.name, self.name))
        return Formula(self.op, tuple(a.rename(names) for a in self.args), "", self.bounds)

    def __invert__(self) -> Formula:
        return Formula(Op.NOT, (self,))

    def __and__(self, other: Formula) -> Formula:
        return Formula(Op.AND, (self, other))

    def __or__(self, other: Formula) -> Formula:
        return Formula(Op.OR, (self, other))

    def __rshift__(self, other: Formula) -> Formula:
        return Formula(Op.IMPLIES, (self, other))

    def __str__(self) -> str:
        from safe_rl.logic.printer import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"


def _validate(op: Op, args: tuple[Formula, ...], name: str, bounds: Bounds | None) -> None:
    arity = _ARITY.get(op, 2)
    if len(args) != arity:
        raise FormulaSyntaxError(f"operator {op} takes {arity} operands, not {len(args)}")
    if (op is Op.ATOM) != bool(name):
        raise FormulaSyntaxError(
            "an atom needs a name that is not empty" if op is Op.ATOM else f"{op} takes no name"
        )
    if bounds is not None:
        low, high = bounds
        if op not in BOUNDED_OPS:
            raise FormulaSyntaxError(f"operator {op} takes no interval, but got {bounds}")
        if low < 0 or (high is not None and high < low):
            raise FormulaSyntaxError(
                f"the interval of {op} must satisfy 0 <= low <= high, but is [{low},{high}]"
            )
        if op in (Op.NEXT, Op.WEAK_NEXT) and (low != high or low < 1):
            raise FormulaSyntaxError(f"{op}[k] takes one number from 1 on, but got [{low},{high}]")
    if op in PAST_OPS and any(a.has_future for a in args):
        inner = next(a for a in args if a.has_future)
        raise FormulaSyntaxError(
            f"operator {op} looks back, so it cannot contain one that looks ahead: {inner}; "
            "put the operators of the future outside"
        )


TRUE: Final = Formula(Op.TRUE)
FALSE: Final = Formula(Op.FALSE)
LAST: Final = Formula(Op.LAST)


def atom(name: str) -> Formula:
    """Return the formula that holds where the proposition ``name`` is true."""
    return Formula(Op.ATOM, (), name)


def weaken_untils(formula: Formula) -> Formula:
    """Return ``formula`` with every until read as a weak until, as ManiGuard reads ``U``.

    A bounded until ``p U[a,b] q`` is left alone: its bound already makes it refutable.

    >>> from safe_rl.logic import parse
    >>> str(weaken_untils(parse("closed U full")))
    'closed W full'
    """
    args = tuple(weaken_untils(a) for a in formula.args)
    op = Op.WEAK_UNTIL if formula.op is Op.UNTIL and formula.bounds is None else formula.op
    return Formula(op, args, formula.name, formula.bounds)
