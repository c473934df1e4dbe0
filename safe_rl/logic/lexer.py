"""Formula text as tokens; the part of the grammar that regular expressions cannot state.

Whether ``G`` starts an operator, a name or a run of operators depends on what follows it, and an
interval belongs to the operator before it; so tokens are cut by hand and the rest is left to
lark's LALR parser.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple

from safe_rl.errors import FormulaSyntaxError
from safe_rl.logic.formula import BOUNDED_OPS, Bounds, Op
from safe_rl.logic.grammar import (
    BINARY,
    IDENTIFIER,
    LOOKALIKES,
    PRECEDENCE,
    RUN_TOGETHER,
    SYMBOLS,
    UNARY,
    WORDS,
)

_SYMBOL = re.compile("|".join(map(re.escape, sorted(SYMBOLS, key=len, reverse=True))))
_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_INTERVAL = re.compile(
    r"\[\s*(?:<=\s*(?P<most>\d+)|(?P<low>\d+)\s*(?P<comma>,\s*(?P<high>\d+)?)?)\s*\]"
)
_INTERVAL_START = re.compile(r"\[\s*(<=\s*)?(\d+\s*,?\s*)?")
_STRONG = re.compile(r"\[\s*!\s*\]")
_ARGUMENTS = re.compile(r"\s*\(([^()]*)\)")
_ARGUMENT = re.compile(r"[A-Za-z0-9_.\-]+$")
_TYPES = {
    **{op: "UNARY" if PRECEDENCE[op] == PRECEDENCE[Op.NOT] else "BINARY" for op in PRECEDENCE},
    **dict.fromkeys((Op.TRUE, Op.FALSE, Op.LAST), "CONSTANT"),
}


class FormulaWarning(UserWarning):
    """The text of a formula can be read, but perhaps not as its writer meant."""


class Lexeme(NamedTuple):
    """A token: its grammar terminal, meaning, and place ``text[start_pos:end_pos]``."""

    type: str
    op: Op
    name: str
    bounds: Bounds | None
    start_pos: int
    end_pos: int
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


def syntax_error(text: str, position: int, message: str) -> FormulaSyntaxError:
    """Return an error that shows the line of ``text`` with a caret under ``position``."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    return FormulaSyntaxError(f"{message}\n    {line}\n    {' ' * (position - start)}^")


def lexemes(text: str, propositions: Collection[str] | None = None) -> Iterator[Lexeme]:
    """Yield the tokens of ``text``; names in ``propositions`` are atoms whatever they look like.

    Raises:
        FormulaSyntaxError: a character, an interval or a quoted name that cannot be read.
    """
    position = _skip(text, 0)
    while position < len(text):
        for token in lexemes_at(text, position, propositions or ()):
            yield token
            position = token.end_pos
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]


def lexemes_at(text: str, start: int, propositions: Collection[str]) -> Iterator[Lexeme]:
    """Yield the tokens that begin at ``start``: several where a word is operators on an atom.

    Raises:
        FormulaSyntaxError: as for :func:`lexemes`.
    """
    char = text[start]
    if char in "()":
        yield Lexeme("LPAR" if char == "(" else "RPAR", Op.ATOM, char, None, start, start + 1)
        return
    if char in "\"'":
        yield _quoted(text, start)
        return
    word = IDENTIFIER.match(text, start)
    if word is not None:
        yield from _word(text, start, word.group(), propositions)
        return
    symbol = _SYMBOL.match(text, start)
    if symbol is not None:
        yield operator_lexeme(text, SYMBOLS[symbol.group()], start, symbol.end())
        return
    if char == "[":
        raise syntax_error(text, start, "an interval stands behind an operator: F[a,b], U[a,b] …")
    for foreign, ours in sorted(LOOKALIKES.items(), key=lambda item: -len(item[0])):
        if text.startswith(foreign, start):
            raise syntax_error(text, start, f"unknown operator {foreign!r}; did you mean {ours!r}?")
    raise syntax_error(text, start, f"unknown operator or character {char!r}")


def _quoted(text: str, start: int) -> Lexeme:
    match = _QUOTED.match(text, start)
    if match is None:
        raise syntax_error(text, start, "this quoted name is not closed")
    name = re.sub(r"\\(.)", r"\1", match.group(1) or match.group(2) or "")
    if not name:
        raise syntax_error(text, start, "a quoted name must not be empty")
    return Lexeme("ATOM", Op.ATOM, name, None, start, match.end())


def _word(text: str, start: int, word: str, known: Collection[str]) -> Iterator[Lexeme]:
    end = start + len(word)
    if word not in known:
        op = UNARY.get(word) or BINARY.get(word) or WORDS.get(word.lower())
        if op is None and word == Op.LAST:
            op = Op.LAST
        if op is not None:
            yield operator_lexeme(text, op, start, end)
            return
        run = RUN_TOGETHER.match(word)
        if run is not None:
            spaced = " ".join(run.group(1)) + (f" {run.group(2)}" if run.group(2) else "")
            warnings.warn(
                f"{word!r} is read as operators, {spaced!r}; write the spaces, "
                f"or quote the name if it is a proposition",
                FormulaWarning,
                stacklevel=6,
            )
            for i, letter in enumerate(run.group(1)):
                after = start + i + 1
                if i == len(run.group(1)) - 1 and not run.group(2):
                    yield operator_lexeme(text, UNARY[letter], start + i, after)
                else:
                    yield Lexeme("UNARY", UNARY[letter], letter, None, start + i, after)
            if not run.group(2):
                return
            start, word = start + len(run.group(1)), run.group(2)
        elif len(word) == 2 and word[0] in "GFX" and word[1].islower():
            warnings.warn(
                f"{word!r} is read as one proposition; write '{word[0]} {word[1]}' "
                f"if an operator is meant",
                FormulaWarning,
                stacklevel=6,
            )
    yield _atom(text, start, word, end)


def _atom(text: str, start: int, word: str, end: int) -> Lexeme:
    """An identifier, or a call such as ``on(milk, table)``, named by its text without spaces."""
    opening = _skip(text, end)
    if opening >= len(text) or text[opening] != "(":
        return Lexeme("ATOM", Op.ATOM, word, None, start, end)
    call = _ARGUMENTS.match(text, end)
    if call is None:
        raise syntax_error(text, opening, f"the arguments of {word!r} are not closed by ')'")
    arguments = [argument.strip() for argument in call.group(1).split(",")]
    for argument in arguments:
        if not _ARGUMENT.match(argument):
            raise syntax_error(
                text,
                opening,
                f"the arguments of {word!r} must be names or numbers separated by commas, "
                f"but one is {argument!r}; if {word!r} is no call, "
                "an operator is missing before '('",
            )
    return Lexeme("ATOM", Op.ATOM, f"{word}({','.join(arguments)})", None, start, call.end())


def operator_lexeme(text: str, op: Op, start: int, end: int) -> Lexeme:
    """Return an operator that stands from ``start`` to ``end``, with the interval behind it.

    Raises:
        FormulaSyntaxError: the operator takes no interval, or it cannot be read.
    """
    bounds: Bounds | None = None
    opening = _skip(text, end)
    if text.startswith("[", opening) and not text.startswith("[]", opening):
        if op is Op.NEXT and (strong := _STRONG.match(text, opening)):
            end = strong.end()
        elif op in BOUNDED_OPS:
            bounds, end = _interval(text, op, opening)
        else:
            raise syntax_error(text, opening, f"operator {op} takes no interval")
    return Lexeme(_TYPES[op], op, str(op), bounds, start, end)


def _interval(text: str, op: Op, opening: int) -> tuple[Bounds | None, int]:
    match = _INTERVAL.match(text, opening)
    if match is None:
        form = "[k]" if op in (Op.NEXT, Op.WEAK_NEXT) else "[a,b] or [<=k]"
        inner = _INTERVAL_START.match(text, opening)
        at = inner.end() if inner else opening
        raise syntax_error(
            text, min(at, len(text)), f"the bound of {op} must be {form} with whole numbers"
        )
    if match["most"] is not None:
        bounds: Bounds = (0, int(match["most"]))
    elif match["comma"] is None:
        bounds = (int(match["low"]), int(match["low"]))
    else:
        bounds = (int(match["low"]), int(match["high"]) if match["high"] else None)
    if op in (Op.NEXT, Op.WEAK_NEXT):
        if match["most"] is not None or match["comma"] is not None or bounds[0] < 1:
            raise syntax_error(text, opening, f"{op}[k] takes one number from 1 on")
        return (None if bounds == (1, 1) else bounds), match.end()
    if bounds[1] is not None and bounds[1] < bounds[0]:
        raise syntax_error(
            text, opening, f"the bound of {op} is empty: {bounds[0]} is more than {bounds[1]}"
        )
    return bounds, match.end()
