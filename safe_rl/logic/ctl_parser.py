"""Text to CTL formula: an operator-precedence parser without recursion.

The words, symbols and the precedence table are those of :mod:`safe_rl.logic.grammar`; a quantifier
binds as tightly as the temporal operator that it stands before.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from safe_rl.errors import FormulaSyntaxError, UnknownPropositionError, near
from safe_rl.logic.ctl import BOOLEAN_OPS, CTL, PATH_OPS, Chance, Quantifier
from safe_rl.logic.ctl_lexer import ctl_lexemes
from safe_rl.logic.formula import PAST_OPS, Op
from safe_rl.logic.grammar import PRECEDENCE, RIGHT_ASSOCIATIVE
from safe_rl.logic.lexer import Lexeme, syntax_error

_CHANCE = re.compile(r"([<>]=?)(.+)")


class _Operand(NamedTuple):
    """A formula, and where it is a path formula, the tokens that say so.

    Attributes:
        formula: what has been read.
        bare: the outermost operator that still needs a quantifier, or ``None``.
        inner: one that stands below ``bare``, and would need a quantifier of its own.
    """

    formula: CTL
    bare: Lexeme | None = None
    inner: Lexeme | None = None


def parse_ctl(text: str, propositions: Collection[str] | None = None) -> CTL:
    """Return the CTL formula that ``text`` denotes.

    Args:
        text: A formula such as ``AG(p -> AF q)``, ``E[p W q]`` or ``P>=0.9 [F<=10 p]``.
        propositions: The vocabulary, if it is known. A name in it is always read as an atom.

    Raises:
        FormulaSyntaxError: the text is no CTL formula; the message shows it with a caret.
        UnknownPropositionError: an atom is not in ``propositions``.

    >>> str(parse_ctl("A G (NOT hot OR A (hot U off))"))
    'AG(!hot | A[hot U off])'
    >>> parse_ctl("EF[<=3] (a AND b)") is parse_ctl("E[F[0,3](a & b)]")
    True
    """
    if not isinstance(text, str):
        raise FormulaSyntaxError(f"a formula's text must be a str, not {type(text).__name__}")
    tokens = list(ctl_lexemes(text, propositions))
    formula = _Parser(text).parse(tokens)
    if propositions is not None:
        for name in formula.atoms:
            if name not in propositions:
                place = next(t.start_pos for t in tokens if t.type == "ATOM" and t.name == name)
                message = f"unknown proposition {name!r}{near(name, propositions)}"
                raise UnknownPropositionError(str(syntax_error(text, place, message)))
    return formula


class _Parser:
    """Shunting-yard: operands and operators on two stacks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._operands: list[_Operand] = []
        self._operators: list[Lexeme] = []

    def parse(self, tokens: list[Lexeme]) -> CTL:
        """Return the formula of the tokens."""
        operand_next = True
        for index, token in enumerate(tokens):
            operand_next = (
                self._operand(token) if operand_next else self._operator(token, tokens[:index])
            )
        if operand_next:
            if not tokens:
                raise syntax_error(self._text, 0, "the formula is empty")
            shown = self._shown(tokens[-1])
            raise syntax_error(
                self._text, tokens[-1].end_pos, f"expected a proposition or '(' after {shown}"
            )
        while self._operators:
            self._reduce()
        (whole,) = self._operands
        self._state(whole)
        return whole.formula

    def _operand(self, token: Lexeme) -> bool:
        """Take a token where an operand is expected; return whether one still is."""
        match token.type:
            case "UNARY" | "QUANTIFIER" | "LPAR":
                self._operators.append(token)
                return True
            case "CONSTANT" | "ATOM":
                bare = token if token.op is Op.LAST else None
                name = token.name if token.op is Op.ATOM else ""
                self._operands.append(_Operand(CTL(token.op, (), name), bare))
                self._reduce_prefixes()
                return False
        raise syntax_error(
            self._text,
            token.start_pos,
            f"expected a proposition, '(', a unary operator or a quantifier, "
            f"but found {self._shown(token)}",
        )

    def _operator(self, token: Lexeme, before: list[Lexeme]) -> bool:
        """Take a token where an operator is expected; return whether an operand is next."""
        if token.type == "RPAR":
            while self._operators[-1].type != "LPAR":
                self._reduce()
            self._operators.pop()
            self._reduce_prefixes()
            return False
        if token.type == "BINARY":
            level = PRECEDENCE[token.op]
            while self._operators and self._operators[-1].type != "LPAR":
                top = PRECEDENCE[self._operators[-1].op]
                if top < level or (top == level and level in RIGHT_ASSOCIATIVE):
                    break
                self._reduce()
            self._operators.append(token)
            return True
        wanted = "an operator"
        if any(operator.type == "LPAR" for operator in self._operators):
            wanted += " or a closing bracket"
        hint = ""
        if before[-1].type == "ATOM" and before[-1].name in ("A", "E", "P"):
            hint = f"; {before[-1].name!r} is read as a proposition here"
        raise syntax_error(
            self._text,
            token.start_pos,
            f"expected {wanted}, but found {self._shown(token)}{hint}",
        )

    def _reduce_prefixes(self) -> None:
        while self._operators and self._operators[-1].type in ("UNARY", "QUANTIFIER"):
            self._reduce()

    def _reduce(self) -> None:
        token = self._operators.pop()
        if token.type == "QUANTIFIER":
            self._operands.append(self._quantified(token, self._operands.pop()))
            return
        count = 1 if token.type == "UNARY" else 2
        args = self._operands[-count:]
        del self._operands[-count:]
        formula = CTL(token.op, tuple(arg.formula for arg in args), "", token.bounds)
        below = next((arg for arg in args if arg.bare is not None), None)
        if token.op in BOOLEAN_OPS:
            bare, inner = (below.bare, below.inner) if below else (None, None)
        else:
            bare, inner = token, below.bare if below else None
        self._operands.append(_Operand(formula, bare, inner))

    def _quantified(self, token: Lexeme, operand: _Operand) -> _Operand:
        path = operand.formula
        chance = _CHANCE.fullmatch(token.name)
        if operand.bare is None:
            name = "P" + token.name if chance else token.name
            example = f"{name} [F p]" if chance else f"{name}G p, {name}F p or {name}[p U q]"
            hint = "" if chance else f"; a proposition of the name {name!r} is written in quotes"
            raise syntax_error(
                self._text, token.start_pos, f"{name} needs a temporal operator: {example}{hint}"
            )
        if chance:
            bound = Chance(chance[1], float(chance[2]))
            return _Operand(CTL(Quantifier.PROBABLY, (path,), "", None, bound))
        if operand.inner is not None:
            raise self._needs_quantifier(operand.inner)
        if path.op in BOOLEAN_OPS:
            raise syntax_error(
                self._text,
                operand.bare.start_pos,
                f"{token.name} takes one temporal operator, not a combination with {path.op}; "
                f"give each its own quantifier, as in {token.name}G p & {token.name}F q",
            )
        if path.op not in PATH_OPS:
            raise self._needs_quantifier(operand.bare)
        quantifier = Quantifier.ALL if token.name == "A" else Quantifier.SOME
        return _Operand(CTL(quantifier, (path,)))

    def _state(self, operand: _Operand) -> None:
        if operand.bare is not None:
            raise self._needs_quantifier(operand.bare)

    def _needs_quantifier(self, token: Lexeme) -> FormulaSyntaxError:
        op, place = token.op, token.start_pos
        if op in PAST_OPS:
            return syntax_error(self._text, place, f"CTL does not look back, as {op} does")
        if op is Op.LAST:
            return syntax_error(
                self._text, place, "'last' is about a path; a state that ends its path is AX false"
            )
        if op is Op.WEAK_NEXT:
            return syntax_error(
                self._text, place, "CTL's AX is the weak next and EX the strong one; write AX or EX"
            )
        on_all, on_some = (
            (f"A{op}", f"E{op}") if token.type == "UNARY" else (f"A[p {op} q]", f"E[p {op} q]")
        )
        return syntax_error(
            self._text,
            place,
            f"operator {op} needs a path quantifier: {on_all} on every path, {on_some} on some path"
            " (LTLf on whole branches: check_branches, or --ltlf on the command line)",
        )

    def _shown(self, token: Lexeme) -> str:
        return repr(self._text[token.start_pos : token.end_pos])
