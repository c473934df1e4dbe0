"""CTL formulas as text that parses back to an equal formula."""

from __future__ import annotations

from typing import Final

from safe_rl.logic.ctl import CTL, Quantifier, subformulas
from safe_rl.logic.formula import Op
from safe_rl.logic.grammar import PRECEDENCE, RIGHT_ASSOCIATIVE
from safe_rl.logic.printer import atom_text, bounds_text

_PREFIX: Final = PRECEDENCE[Op.NOT]
_PRIMARY: Final = PRECEDENCE[Op.ATOM]


def ctl_text(formula: CTL) -> str:
    """Return the formula's text, with no more parentheses than the precedence table asks for.

    >>> from safe_rl.logic.ctl_parser import parse_ctl
    >>> ctl_text(parse_ctl("A (G ((p) => A(F(q)))) && E[a U (b)]"))
    'AG(p -> AF q) & E[a U b]'
    """
    texts: dict[CTL, str] = {}
    for node in subformulas(formula):
        texts[node] = _text(node, texts)
    return texts[formula]


def _level(f: CTL) -> int:
    if isinstance(f.op, Quantifier):
        return _PREFIX if f.op is not Quantifier.PROBABLY and len(f.args[0].args) == 1 else _PRIMARY
    return PRECEDENCE[f.op]


def _text(f: CTL, texts: dict[CTL, str]) -> str:
    """The text of one node, given those of its operands."""
    if isinstance(f.op, Quantifier):
        (path,) = f.args
        if f.chance is not None:
            return f"P{f.chance.relation}{f.chance.probability!r} [{texts[path]}]"
        return f"{f.op}{texts[path]}" if len(path.args) == 1 else f"{f.op}[{texts[path]}]"
    if f.op is Op.ATOM:
        return atom_text(f.name)
    if not f.args:
        return str(f.op)
    mine = PRECEDENCE[f.op]
    symbol = f"{f.op}{bounds_text(f.op, f.bounds)}"
    sides = [texts[arg] for arg in f.args]
    if len(sides) == 1:
        if _level(f.args[0]) < mine:
            return f"{symbol}({sides[0]})"
        return symbol + sides[0] if f.op is Op.NOT else f"{symbol} {sides[0]}"
    for i, arg in enumerate(f.args):
        groups_here = (mine in RIGHT_ASSOCIATIVE) == bool(i)
        if _level(arg) < mine or (_level(arg) == mine and not groups_here):
            sides[i] = f"({sides[i]})"
    return f"{sides[0]} {symbol} {sides[1]}"
