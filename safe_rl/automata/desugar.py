"""Formulas in fewer operators, for compilers that lack W, M, intervals and some Booleans."""

from __future__ import annotations

from safe_rl.logic import Formula, Op


def desugar(formula: Formula) -> Formula:
    """Return an equivalent formula without W, M, intervals, ``->``, ``<->`` and ``^``.

    Intervals are written out over single steps, so the result can be much longer; equal parts stay
    one object.

    >>> from safe_rl.logic import parse
    >>> print(desugar(parse("G(a -> (b W c))")))
    G(!a | (b U c | G b))
    """
    return _desugar(formula, {})


def _desugar(f: Formula, known: dict[Formula, Formula]) -> Formula:
    if f not in known:
        args = tuple(_desugar(arg, known) for arg in f.args)
        known[f] = _rewrite(f, args) if f.bounds is None else _unroll(f.op, args, *f.bounds)
    return known[f]


def _rewrite(f: Formula, args: tuple[Formula, ...]) -> Formula:
    match f.op, args:
        case Op.IMPLIES, (p, q):
            return ~p | q
        case Op.IFF, (p, q):
            return (p & q) | (~p & ~q)
        case Op.XOR, (p, q):
            return (p & ~q) | (~p & q)
        case Op.WEAK_UNTIL, (p, q):
            return Formula(Op.UNTIL, (p, q)) | Formula(Op.ALWAYS, (p,))
        case Op.STRONG_RELEASE, (p, q):
            return Formula(Op.UNTIL, (q, p & q))
    return Formula(f.op, args, f.name)


def _unroll(op: Op, args: tuple[Formula, ...], low: int, high: int | None) -> Formula:
    """A bounded operator, written out over single steps."""
    weak = op in (Op.ALWAYS, Op.WEAK_NEXT)
    target = args[-1]
    through = args[0] if op is Op.UNTIL else None

    def later(rest: Formula) -> Formula:
        step = Formula(Op.WEAK_NEXT if weak else Op.NEXT, (rest,))
        return step if through is None else through & step

    if op in (Op.NEXT, Op.WEAK_NEXT):
        result = target
    elif high is None:
        result = Formula(op, args)
    else:
        result = target
        for _ in range(high - low):
            result = target & later(result) if weak else target | later(result)
    for _ in range(low):
        result = later(result)
    return result
