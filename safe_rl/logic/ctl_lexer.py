"""The text of a CTL formula as tokens: what CTL adds to the tokens of LTLf.

``A`` and ``E`` are quantifiers where a temporal operator or a bracket follows; ``AG``, ``EF`` and
the like may be written as one word, ``AGEF`` too. ``[`` and ``]`` group behind a quantifier. ``P``
with a comparison is PCTL's operator. Everything else is read by :mod:`safe_rl.logic.lexer`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator
from typing import Final

from safe_rl.logic.formula import Op
from safe_rl.logic.grammar import IDENTIFIER, RUN_TOGETHER, UNARY
from safe_rl.logic.lexer import FormulaWarning, Lexeme, lexemes_at, operator_lexeme, syntax_error

_SPACE = re.compile(r"\s*")
_RUN = re.compile(r"((?:[AE][XFG]+)+)([a-z_][A-Za-z0-9_]*)?$")
_BINARY_RUN = re.compile(r"([AE])([UWRMV])$")
_SYMBOLS: Final = {"∀": "A", "∃": "E"}
_RELATION = re.compile(r"\s*(>=|<=|=\?|≥|≤|>|<|=)")
_NUMBER = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])")
_AT_MOST = re.compile(r"\s*(?:<=(?!>)|≤)\s*")
_WHOLE = re.compile(r"\d+(?![\w.])")
_UNARY_SYMBOL = re.compile(r"<>|\[\]|[◇□○]")


def ctl_lexemes(text: str, propositions: Collection[str] | None = None) -> Iterator[Lexeme]:
    """Yield the tokens of ``text``; names in ``propositions`` are atoms whatever they look like.

    A quantifier is a token of type ``QUANTIFIER`` named ``A``, ``E``, or the bound of ``P``, such
    as ``>=0.9``. Brackets of both kinds are ``LPAR`` and ``RPAR``, and come in matching pairs.

    Raises:
        FormulaSyntaxError: a character, an interval, a probability or a quoted name that cannot
            be read, or a bracket without its partner.
    """
    known = propositions or ()
    opened: list[tuple[str, int]] = []
    quantified = False
    position = _skip(text, 0)
    while position < len(text):
        for token in _tokens(text, position, known, quantified):
            if token.type == "LPAR":
                opened.append((text[position], position))
            elif token.type == "RPAR":
                _close(text, position, opened)
            yield token
            position = token.end_pos
            quantified = token.type == "QUANTIFIER"
        position = _skip(text, position)
    if opened:
        bracket, place = opened[-1]
        raise syntax_error(text, place, f"this {bracket!r} is not closed")


def _skip(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]


def _close(text: str, position: int, opened: list[tuple[str, int]]) -> None:
    bracket = text[position]
    if not opened:
        raise syntax_error(text, position, f"this {bracket!r} closes nothing")
    partner, _ = opened.pop()
    if partner + bracket not in ("()", "[]"):
        wanted = ")" if partner == "(" else "]"
        raise syntax_error(
            text, position, f"expected {wanted!r} for {partner!r}, but found {bracket!r}"
        )


def _tokens(text: str, at: int, known: Collection[str], quantified: bool) -> Iterator[Lexeme]:
    char = text[at]
    if char == "[" and not text.startswith("[]", at):
        if not quantified:
            raise syntax_error(
                text,
                at,
                "a '[' stands behind a quantifier, as in A[p U q], "
                "or behind an operator as its interval, as in F[0,5]",
            )
        yield Lexeme("LPAR", Op.ATOM, char, None, at, at + 1)
    elif char == "]":
        yield Lexeme("RPAR", Op.ATOM, char, None, at, at + 1)
    elif char in _SYMBOLS:
        yield Lexeme("QUANTIFIER", Op.ATOM, _SYMBOLS[char], None, at, at + 1)
    else:
        word = IDENTIFIER.match(text, at)
        tokens = (
            lexemes_at(text, at, known) if word is None else _word(text, at, word.group(), known)
        )
        for token in tokens:
            yield _with_at_most(text, token)


def _word(text: str, start: int, word: str, known: Collection[str]) -> Iterator[Lexeme]:
    end = start + len(word)
    after = _skip(text, end)
    if word in known:
        if word in ("A", "E", "P") and text.startswith("[", after):
            raise syntax_error(
                text,
                start,
                f"{word!r} is one of the propositions, so it cannot be a quantifier here; "
                "give the proposition a longer name",
            )
        yield from lexemes_at(text, start, known)
        return
    if word == "P" and (relation := _RELATION.match(text, end)):
        yield _chance(text, start, relation)
        return
    if word == "P" and text.startswith("[", after):
        raise syntax_error(text, after, "P needs a bound before '[', such as P>=0.9 [F p]")
    if word in ("A", "E") and (text[after : after + 1] in ("(", "[") or _path(text, after)):
        yield Lexeme("QUANTIFIER", Op.ATOM, word, None, start, end)
        return
    if (binary := _BINARY_RUN.match(word)) and text[after : after + 1] in ("(", "["):
        quantifier, op = binary.groups()
        raise syntax_error(text, start, f"write {quantifier}[p {op} q] for {word}(p, q)")
    run = _RUN.match(word)
    if run is None:
        yield from lexemes_at(text, start, known)
        return
    operators, glued = run.groups()
    if glued:
        warnings.warn(
            f"{word!r} is read as operators, '{operators} {glued}'; write the space, "
            f"or quote the name if it is a proposition",
            FormulaWarning,
            stacklevel=5,
        )
    for i, letter in enumerate(operators):
        place = start + i
        if letter in "AE":
            yield Lexeme("QUANTIFIER", Op.ATOM, letter, None, place, place + 1)
        elif i < len(operators) - 1 or glued:
            yield Lexeme("UNARY", UNARY[letter], letter, None, place, place + 1)
        else:
            yield operator_lexeme(text, UNARY[letter], place, place + 1)
    if glued:
        yield from lexemes_at(text, start + len(operators), known)


def _path(text: str, position: int) -> bool:
    """Whether a temporal operator that takes one operand stands here."""
    if _UNARY_SYMBOL.match(text, position):
        return True
    word = IDENTIFIER.match(text, position)
    return word is not None and (
        word.group() in UNARY or RUN_TOGETHER.match(word.group()) is not None
    )


def _chance(text: str, start: int, found: re.Match[str]) -> Lexeme:
    relation = {"≥": ">=", "≤": "<="}.get(found[1], found[1])
    place = found.start(1)
    if relation == "=?":
        raise syntax_error(
            text,
            place,
            "a formula is true or false, so P needs a bound such as P>=0.9; "
            "the estimate is shown beside the verdict",
        )
    if relation == "=":
        raise syntax_error(text, place, "P takes >=, >, <= or <, as in P>=0.9 [F p]")
    number = _NUMBER.match(text, found.end())
    if number is None:
        raise syntax_error(
            text, _skip(text, found.end()), f"expected a number from 0 to 1 after 'P{found[1]}'"
        )
    if float(number[1]) > 1.0:
        raise syntax_error(
            text, number.start(1), f"a probability lies between 0 and 1, but this is {number[1]}"
        )
    return Lexeme("QUANTIFIER", Op.ATOM, relation + number[1], None, start, number.end())


def _with_at_most(text: str, token: Lexeme) -> Lexeme:
    """Read ``F<=5`` as ``F[0,5]``, as tools for PCTL write it."""
    if token.op not in (Op.EVENTUALLY, Op.ALWAYS, Op.UNTIL) or token.bounds is not None:
        return token
    sign = _AT_MOST.match(text, token.end_pos)
    if sign is None:
        return token
    number = _WHOLE.match(text, sign.end())
    if number is None:
        raise syntax_error(
            text, sign.end(), f"the bound of {token.op} must be a whole number, as in {token.op}<=5"
        )
    return token._replace(bounds=(0, int(number.group())), end_pos=number.end())
