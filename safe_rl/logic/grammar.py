"""The one grammar of formulas: words, symbols and the precedence table.

From the tightest to the loosest binding:

====================  =====================================  ==============
level                 operators                              associativity
====================  =====================================  ==============
unary                 ``! X WX F G Y O H``                   (prefix)
until family          ``U W R M S``                          right
conjunction           ``&``                                  left
exclusive or          ``^``                                  left
disjunction           ``|``                                  left
implication           ``->``                                 right
equivalence           ``<->``                                left
====================  =====================================  ==============
"""

from __future__ import annotations

import re
from typing import Final

from safe_rl.logic.formula import Op

_LEVELS: Final[tuple[tuple[Op, ...], ...]] = (
    (Op.IFF,),
    (Op.IMPLIES,),
    (Op.OR,),
    (Op.XOR,),
    (Op.AND,),
    (Op.UNTIL, Op.WEAK_UNTIL, Op.RELEASE, Op.STRONG_RELEASE, Op.SINCE),
    (Op.NOT, Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS)
    + (Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY),
    (Op.TRUE, Op.FALSE, Op.LAST, Op.ATOM),
)
PRECEDENCE: Final[dict[Op, int]] = {op: i for i, ops in enumerate(_LEVELS) for op in ops}
"""Level of each operator; a higher number binds tighter."""
RIGHT_ASSOCIATIVE: Final = frozenset({PRECEDENCE[Op.IMPLIES], PRECEDENCE[Op.UNTIL]})

UNARY: Final[dict[str, Op]] = {
    "X": Op.NEXT,
    "N": Op.WEAK_NEXT,
    "WX": Op.WEAK_NEXT,
    "F": Op.EVENTUALLY,
    "G": Op.ALWAYS,
    "Y": Op.YESTERDAY,
    "O": Op.ONCE,
    "H": Op.HISTORICALLY,
}
BINARY: Final[dict[str, Op]] = {
    "U": Op.UNTIL,
    "W": Op.WEAK_UNTIL,
    "R": Op.RELEASE,
    "V": Op.RELEASE,
    "M": Op.STRONG_RELEASE,
    "S": Op.SINCE,
}
WORDS: Final[dict[str, Op]] = {
    "not": Op.NOT,
    "and": Op.AND,
    "or": Op.OR,
    "true": Op.TRUE,
    "false": Op.FALSE,
}
"""Words that are operators and constants in any case: ``not``, ``NOT``, ``Not`` …"""
SYMBOLS: Final[dict[str, Op]] = {
    "<->": Op.IFF,
    "<=>": Op.IFF,
    "↔": Op.IFF,
    "->": Op.IMPLIES,
    "=>": Op.IMPLIES,
    "→": Op.IMPLIES,
    "||": Op.OR,
    "|": Op.OR,
    "∨": Op.OR,
    "^": Op.XOR,
    "&&": Op.AND,
    "&": Op.AND,
    "∧": Op.AND,
    "!": Op.NOT,
    "¬": Op.NOT,
    "<>": Op.EVENTUALLY,
    "◇": Op.EVENTUALLY,
    "[]": Op.ALWAYS,
    "□": Op.ALWAYS,
    "○": Op.NEXT,
}
LOOKALIKES: Final[dict[str, str]] = {
    "~": "!",
    "==": "<->",
    "=": "<->",
    "-": "->",
    "<-": "->",
    "<": "<->",
    "+": "|",
    "*": "&",
    "/": "&",
    "⇒": "->",
    "⇔": "<->",
    "⊕": "^",
    "@": "a quoted name",
    "$": "a quoted name",
    "#": "a quoted name",
}
"""Symbols of other notations, and what to write here instead."""

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RUN_TOGETHER: Final = re.compile(r"([GFX]{2,})([a-z_][A-Za-z0-9_]*)?$")
"""``GFa``, ``XXa``, ``XF``: future operators written without spaces, perhaps before an atom."""
_ARGUMENT = r"[A-Za-z0-9_.\-]+"
CALL: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_]*\({_ARGUMENT}(?:,{_ARGUMENT})*\)$")


def is_operator_word(word: str) -> bool:
    """Return whether a bare ``word`` is read as something other than an atom."""
    return (
        word in UNARY
        or word in BINARY
        or word == Op.LAST
        or word.lower() in WORDS
        or RUN_TOGETHER.match(word) is not None
    )


def is_plain_name(name: str) -> bool:
    """Return whether an atom of this name can be written without quotes.

    >>> is_plain_name("Open_Door"), is_plain_name("on(milk,table)"), is_plain_name("GFa")
    (True, True, False)
    """
    head = IDENTIFIER.match(name)
    if head is None or is_operator_word(head.group()):
        return False
    return head.end() == len(name) or CALL.match(name) is not None
