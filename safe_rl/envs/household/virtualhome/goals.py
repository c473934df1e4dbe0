"""VirtualHome's temporal goals as LTLf formulas.

The goals are in a logic of their own (Embodied Agent Interface, arXiv:2410.07166, appendix): a goal
without ``then`` is reached where some state satisfies it; ``a then b`` where ``b`` is reached later
than ``a``. An action counts in the state in which it begins; in a letter it stands beside the state
that it leads to, so it is read with a next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Final

from safe_rl.errors import FormulaSyntaxError
from safe_rl.logic import FALSE, TRUE, Formula, Op, atom

FACTS: Final = frozenset(
    "closed open on off sitting dirty clean lying plugged_in plugged_out "
    "ontop inside between next_to facing holds_rh holds_lh".split()
)
"""What goals say of states; every other name in a goal is that of an action."""

_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_][\w-]*(?:\.\d+)?)|([(),.]))")


def goal_formula(text: str, objects: Sequence[str]) -> Formula:
    """Return a temporal goal as a formula.

    Args:
        text: The goal, such as ``(exists x0. (TYPE(x0)) then ON(computer.417))``.
        objects: What quantifiers range over.

    Raises:
        FormulaSyntaxError: it is no such goal.

    >>> print(goal_formula("(exists x0. (TYPE(x0)) then ON(computer.417))", ["computer_417"]))
    F(X did_type & X F on(computer_417))
    """
    return _Goal(text, tuple(objects)).formula()


def object_name(text: str) -> str:
    """Return an object's name as letters have it: ``computer_417`` for ``computer.417``."""
    return text.replace(".", "_").replace("-", "_").lower()


class _Goal:
    """A recursive-descent parser, one method for each level of the grammar."""

    def __init__(self, text: str, objects: tuple[str, ...]) -> None:
        self._text = text
        self._objects = objects
        self._tokens = self._split()
        self._at = 0

    def formula(self) -> Formula:
        goal = self._then({})
        if self._at < len(self._tokens):
            self._refuse("the end")
        return _reached(goal)

    def _split(self) -> list[str]:
        tokens, end = [], 0
        while self._text[end:].strip():
            found = _TOKEN.match(self._text, end)
            if found is None:
                raise FormulaSyntaxError(f"the goal {self._text!r} has a sign that no goal has")
            tokens.append(found[1] or found[2])
            end = found.end()
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            self._refuse(repr(wanted))
        self._at += 1

    def _refuse(self, wanted: str) -> None:
        place = " ".join(self._tokens[self._at :]) or "the end"
        raise FormulaSyntaxError(f"the goal {self._text!r}: {wanted} expected at {place!r}")

    def _then(self, bound: dict[str, str]) -> Formula | tuple[Formula, ...]:
        """A state goal, or the state goals that are to be reached one after the other."""
        parts = [self._or(bound)]
        while self._peek() == "then":
            self._at += 1
            parts.append(self._or(bound))
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(part, tuple) for part in parts):
            raise FormulaSyntaxError(f"the goal {self._text!r} has a 'then' within a 'then'")
        return tuple(part for part in parts if isinstance(part, Formula))

    def _or(self, bound: dict[str, str]) -> Formula | tuple[Formula, ...]:
        return self._joined(Op.OR, "or", bound)

    def _joined(self, op: Op, word: str, bound: dict[str, str]) -> Formula | tuple[Formula, ...]:
        operand = self._primitive if op is Op.AND else self._and
        parts = [operand(bound)]
        while self._peek() == word:
            self._at += 1
            parts.append(operand(bound))
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(part, Formula) for part in parts):
            return reduce(lambda a, b: Formula(op, (a, b)), parts)  # type: ignore[arg-type]
        raise FormulaSyntaxError(f"the goal {self._text!r} has a 'then' within {word!r}")

    def _and(self, bound: dict[str, str]) -> Formula | tuple[Formula, ...]:
        return self._joined(Op.AND, "and", bound)

    def _primitive(self, bound: dict[str, str]) -> Formula | tuple[Formula, ...]:
        word = self._peek()
        if word == "(":
            self._at += 1
            inside = self._then(bound)
            self._take(")")
            return inside
        if word == "not":
            self._at += 1
            inside = self._primitive(bound)
            if isinstance(inside, tuple):
                raise FormulaSyntaxError(f"the goal {self._text!r} has a 'then' within 'not'")
            return ~inside
        if word in ("exists", "forall"):
            return self._quantified(word, bound)
        if not word or word in "(),.":
            self._refuse("a proposition")
        return self._atom(bound)

    def _quantified(self, word: str, bound: dict[str, str]) -> Formula:
        self._at += 1
        variable = self._peek()
        self._at += 1
        self._take(".")
        start = self._at
        # An action on anything at all has a proposition of its own; tried first, because a
        # disjunction over all objects is large.
        anything = self._primitive({**bound, variable: ""})
        if word == "exists" and isinstance(anything, Formula) and _only_or(anything):
            return anything
        found = []
        for name in self._objects:
            self._at = start
            part = self._primitive({**bound, variable: name})
            if isinstance(part, tuple):
                raise FormulaSyntaxError(f"the goal {self._text!r} has a 'then' within {word!r}")
            found.append(part)
        if not found:
            return FALSE if word == "exists" else TRUE
        op = Op.OR if word == "exists" else Op.AND
        return reduce(lambda a, b: Formula(op, (a, b)), found)

    def _atom(self, bound: dict[str, str]) -> Formula:
        name = self._peek().lower()
        self._at += 1
        self._take("(")
        args = []
        while self._peek() not in (")", ""):
            args.append(bound.get(self._peek(), object_name(self._peek())))
            self._at += 1
            if self._peek() == ",":
                self._at += 1
        self._take(")")
        if name in FACTS:
            return atom(f"{name}({','.join(args)})")
        # With the empty name for each argument that is quantified, see _quantified.
        shown = f"({','.join(args)})" if any(args) else ""
        return Formula(Op.NEXT, (atom(f"did_{name}{shown}"),))


def _only_or(formula: Formula) -> bool:
    """Whether a formula is a disjunction of actions, each on anything at all."""
    if formula.op is Op.OR:
        return all(map(_only_or, formula.args))
    return formula.op is Op.NEXT and "(" not in formula.args[0].name


def _reached(goal: Formula | tuple[Formula, ...]) -> Formula:
    """The formula for a goal that is to be reached."""
    if isinstance(goal, Formula):
        return Formula(Op.EVENTUALLY, (goal,))
    first, *rest = goal
    if not rest:
        return _reached(first)
    later = Formula(Op.NEXT, (_reached(tuple(rest)),))
    return Formula(Op.EVENTUALLY, (first & later,))
