"""Formulas as text that parses back to an equal formula."""

from __future__ import annotations

from safe_rl.logic.formula import Bounds, Formula, Op
from safe_rl.logic.grammar import PRECEDENCE, RIGHT_ASSOCIATIVE, is_plain_name


def to_text(formula: Formula) -> str:
    """Return the formula's text, with no more parentheses than the precedence table asks for.

    >>> from safe_rl.logic import parse
    >>> to_text(parse("((a) && (b || c)) => G (d U e)"))
    'a & (b | c) -> G(d U e)'
    """
    texts: dict[Formula, str] = {}
    stack = [formula]
    while stack:  # in post-order, since formulas may be nested deeper than the call stack
        node = stack[-1]
        waiting = [arg for arg in node.args if arg not in texts]
        if waiting:
            stack.extend(waiting)
        else:
            texts[stack.pop()] = _text(node, texts)
    return texts[formula]


def atom_text(name: str) -> str:
    """Return how a proposition of this name is written: bare if it can be, else quoted.

    >>> atom_text("on(milk,table)"), atom_text("G"), atom_text("two words")
    ('on(milk,table)', '"G"', '"two words"')
    """
    if is_plain_name(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def bounds_text(op: Op, bounds: Bounds | None) -> str:
    """Return an operator's interval as it is written behind it, or an empty text."""
    if bounds is None:
        return ""
    low, high = bounds
    if op in (Op.NEXT, Op.WEAK_NEXT):
        return f"[{low}]"
    return f"[{low},{'' if high is None else high}]"


def _text(f: Formula, texts: dict[Formula, str]) -> str:
    """The text of one node, given those of its operands."""
    if f.op is Op.ATOM:
        return atom_text(f.name)
    if not f.args:
        return str(f.op)
    mine = PRECEDENCE[f.op]
    symbol = f"{f.op}{bounds_text(f.op, f.bounds)}"
    if len(f.args) == 1:
        (arg,) = f.args
        text = texts[arg]
        if PRECEDENCE[arg.op] < mine:
            return f"{symbol}({text})"
        return symbol + text if f.op is Op.NOT else f"{symbol} {text}"
    left, right = f.args
    left_text, right_text = texts[left], texts[right]
    right_associative = mine in RIGHT_ASSOCIATIVE
    if PRECEDENCE[left.op] < mine or (PRECEDENCE[left.op] == mine and right_associative):
        left_text = f"({left_text})"
    if PRECEDENCE[right.op] < mine or (PRECEDENCE[right.op] == mine and not right_associative):
        right_text = f"({right_text})"
    return f"{left_text} {symbol} {right_text}"
