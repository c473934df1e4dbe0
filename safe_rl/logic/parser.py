"""Text to formula, by lark's LALR parser over the tokens of :mod:`safe_rl.logic.lexer`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from lark import Lark, Transformer
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from safe_rl.errors import FormulaSyntaxError, UnknownPropositionError, near
from safe_rl.logic.formula import Formula, atom
from safe_rl.logic.grammar import PRECEDENCE, RIGHT_ASSOCIATIVE
from safe_rl.logic.lexer import Lexeme, lexemes, syntax_error

_GRAMMAR = """
?start: expression
expression: operand (BINARY operand)*
?operand: primary | UNARY operand -> prefix
?primary: CONSTANT -> constant | ATOM -> proposition | LPAR expression RPAR -> group
%declare BINARY UNARY CONSTANT ATOM LPAR RPAR
"""


class _Tokens(Lexer):
    """Feeds lark the tokens that are already cut."""

    __future_interface__ = 1

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        for token in lexer_state.text:
            lexer_state.last_token = token
            yield token


class _Build(Transformer[Any, Formula]):
    """Builds formulas while the parser reduces, so that depth costs no recursion."""

    def expression(self, children: list[Any]) -> Formula:
        """Fold ``operand (operator operand)*`` by the one precedence table (shunting-yard)."""
        if len(children) == 1:
            return children[0]
        operands: list[Formula] = [children[0]]
        operators: list[Lexeme] = []

        def fold() -> None:
            symbol = operators.pop()
            right = operands.pop()
            operands[-1] = Formula(symbol.op, (operands[-1], right), "", symbol.bounds)

        for symbol, operand in zip(children[1::2], children[2::2], strict=True):
            level = PRECEDENCE[symbol.op]
            while operators and (
                PRECEDENCE[operators[-1].op] > level
                or (PRECEDENCE[operators[-1].op] == level and level not in RIGHT_ASSOCIATIVE)
            ):
                fold()
            operators.append(symbol)
            operands.append(operand)
        while operators:
            fold()
        return operands[0]

    def prefix(self, children: list[Any]) -> Formula:
        symbol, operand = children
        return Formula(symbol.op, (operand,), "", symbol.bounds)

    def constant(self, children: list[Any]) -> Formula:
        return Formula(children[0].op)

    def proposition(self, children: list[Any]) -> Formula:
        return atom(children[0].name)

    def group(self, children: list[Any]) -> Any:
        return children[1]


_parser = Lark(_GRAMMAR, parser="lalr", lexer=_Tokens, transformer=_Build())


def parse(text: str, propositions: Collection[str] | None = None) -> Formula:
    """Return the formula that ``text`` denotes.

    Args:
        text: A formula in the grammar of :mod:`safe_rl.logic.grammar`.
        propositions: The vocabulary, if it is known. A name in it is always read as an atom.

    Raises:
        FormulaSyntaxError: the text is no formula; the message shows it with a caret.
        UnknownPropositionError: an atom is not in ``propositions``.

    >>> parse("□(grasped → ◇ released)") is parse("G(grasped -> F released)")
    True
    >>> parse("on(milk, table) U not open").atoms
    ('on(milk,table)', 'open')
    """
    if not isinstance(text, str):
        raise FormulaSyntaxError(f"a formula's text must be a str, not {type(text).__name__}")
    tokens = list(lexemes(text, propositions))
    try:
        formula: Formula = _parser.parse(tokens)  # type: ignore[assignment]
    except UnexpectedToken as error:
        raise _explain(text, tokens, error) from None
    if propositions is not None:
        for name in formula.atoms:
            if name not in propositions:
                place = next(t.start_pos for t in tokens if t.type == "ATOM" and t.name == name)
                raise UnknownPropositionError(
                    str(
                        syntax_error(
                            text, place, f"unknown proposition {name!r}{near(name, propositions)}"
                        )
                    )
                )
    return formula


def _explain(text: str, tokens: list[Lexeme], error: UnexpectedToken) -> FormulaSyntaxError:
    """Turn lark's complaint into a sentence with a caret."""
    opened: list[Lexeme] = []
    for token in tokens:
        if token is error.token:
            break
        if token.type == "LPAR":
            opened.append(token)
        elif token.type == "RPAR" and opened:
            opened.pop()
    operand_expected = "ATOM" in error.expected
    if not isinstance(error.token, Lexeme):  # the end of the text
        if not tokens:
            return syntax_error(text, 0, "the formula is empty")
        if operand_expected:
            last = tokens[-1]
            return syntax_error(
                text, last.end_pos, f"expected a proposition or '(' after {_shown(text, last)}"
            )
        return syntax_error(text, opened[-1].start_pos, "this '(' is not closed")
    token = error.token
    if token.type == "RPAR" and not opened and not operand_expected:
        return syntax_error(text, token.start_pos, "this ')' closes nothing")
    wanted = "a proposition, '(' or a unary operator" if operand_expected else "an operator"
    if not operand_expected and opened:
        wanted += " or ')'"
    return syntax_error(
        text, token.start_pos, f"expected {wanted}, but found {_shown(text, token)}"
    )


def _shown(text: str, token: Lexeme) -> str:
    return repr(text[token.start_pos : token.end_pos])
