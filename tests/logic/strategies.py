"""Hypothesis strategies for formulas and traces."""

from hypothesis import strategies as st

from safe_rl.logic import FALSE, LAST, TRUE, Formula, Op, atom

NAMES = ("a", "b", "on(milk,table)", "G", "two words")
_BOOLEAN = (Op.AND, Op.OR, Op.XOR, Op.IMPLIES, Op.IFF)
_FUTURE_1 = (Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS)
_FUTURE_2 = (Op.UNTIL, Op.WEAK_UNTIL, Op.RELEASE, Op.STRONG_RELEASE)
_PAST_1 = (Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY)


def _apply(ops, *operands):
    return st.builds(lambda op, *args: Formula(op, args), st.sampled_from(ops), *operands)


def past_formulas(names=NAMES, leaves=4):
    """Formulas without operators of the future."""
    base = st.one_of(st.sampled_from(names).map(atom), st.sampled_from([TRUE, FALSE]))
    return st.recursive(
        base,
        lambda sub: st.one_of(
            _apply((Op.NOT, *_PAST_1), sub), _apply((*_BOOLEAN, Op.SINCE), sub, sub)
        ),
        max_leaves=leaves,
    )


def _bounded(sub):
    bounds = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))).map(
        lambda b: (b[0], None if b[1] is None else b[0] + b[1])
    )
    unary = st.builds(
        lambda op, p, k: Formula(op, (p,), "", k),
        st.sampled_from([Op.EVENTUALLY, Op.ALWAYS]),
        sub,
        bounds,
    )
    until = st.builds(lambda p, q, k: Formula(Op.UNTIL, (p, q), "", k), sub, sub, bounds)
    steps = st.builds(
        lambda op, p, k: Formula(op, (p,), "", (k, k)),
        st.sampled_from([Op.NEXT, Op.WEAK_NEXT]),
        sub,
        st.integers(2, 3),
    )
    return st.one_of(unary, until, steps)


def formulas(names=NAMES, leaves=6):
    """Formulas with every operator."""
    base = st.one_of(
        st.sampled_from(names).map(atom),
        st.sampled_from([TRUE, FALSE, LAST]),
        past_formulas(names, 2),
    )
    return st.recursive(
        base,
        lambda sub: st.one_of(
            _apply((Op.NOT, *_FUTURE_1), sub),
            _apply((*_BOOLEAN, *_FUTURE_2), sub, sub),
            _bounded(sub),
        ),
        max_leaves=leaves,
    )


def traces(names=NAMES, max_size=6):
    """Finite traces, the empty one included."""
    return st.lists(st.frozensets(st.sampled_from(names)), max_size=max_size)
