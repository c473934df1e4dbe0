"""2,000 random formulas: compiled DFAs against the reference semantics and against MONA."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.automata import compile_ltlf, difference
from safe_rl.automata.oracles import disagreement, mona_dfa, with_empty
from safe_rl.logic import FALSE, LAST, TRUE, Formula, Op, atom, holds, parse
from tests.logic.strategies import formulas, traces

BATCHES = 40
PER_BATCH = 50
_BINARY = (
    Op.AND,
    Op.OR,
    Op.XOR,
    Op.IMPLIES,
    Op.IFF,
    Op.UNTIL,
    Op.WEAK_UNTIL,
    Op.RELEASE,
    Op.STRONG_RELEASE,
)
_UNARY = (Op.NOT, Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS)
_PAST = (Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY, Op.SINCE)
_BOOLEAN = (Op.NOT, Op.AND, Op.OR, Op.XOR, Op.IMPLIES, Op.IFF)


def random_formula(rng, names, depth, past_share):
    """A formula with every operator, bounded forms included; ``past_share`` of them look back."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([*map(atom, names), *map(atom, names), LAST, TRUE, FALSE])

    def sub():
        return random_formula(rng, names, depth - 1, past_share)

    if rng.random() < past_share:
        return random_past(rng, names, min(depth, 3))
    op = rng.choice(_UNARY + _BINARY)
    args = (sub(),) if op in _UNARY else (sub(), sub())
    bounds = None
    if op in (Op.EVENTUALLY, Op.ALWAYS, Op.UNTIL) and rng.random() < 0.3:
        low = rng.randint(0, 2)
        bounds = (low, rng.choice([None, low, low + 1, low + 2]))
    elif op in (Op.NEXT, Op.WEAK_NEXT) and rng.random() < 0.2:
        bounds = (2, 2)
    return Formula(op, args, "", bounds)


def random_past(rng, names, depth):
    if depth == 0:
        return atom(rng.choice(names))
    op = rng.choice(_PAST if rng.random() < 0.7 else _BOOLEAN)
    args = [random_past(rng, names, depth - 1) for _ in range(2)]
    return Formula(op, tuple(args[: 1 if op in (*_PAST[:3], Op.NOT) else 2]))


def batch(number):
    """50 formulas: three atoms in one of them, at most two in the others; a fifth with past."""
    rng = random.Random(f"random formulas {number}")
    found = []
    for i in range(PER_BATCH):
        names = ("a", "b", "c") if i == 0 else ("a", "b")
        past_share = 0.3 if i % 5 == 1 else 0.0
        found.append(random_formula(rng, names, rng.randint(2, 5), past_share))
    return found


def all_traces(names, longest):
    letters = [
        frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)
    ]
    for length in range(longest + 1):
        yield from itertools.product(letters, repeat=length)


@pytest.mark.parametrize("number", range(BATCHES))
def test_agrees_with_the_reference_semantics(number):
    """On every trace up to length 4, the empty one included."""
    for formula in batch(number):
        dfa = compile_ltlf(formula)
        for trace in all_traces(formula.atoms, 4):
            assert dfa.accepts(trace) == holds(formula, trace), f"{formula} on {trace}"


@pytest.mark.mona
@pytest.mark.parametrize("number", range(BATCHES))
def test_agrees_with_mona(number):
    """The language on non-empty traces of any length, and the number of states."""
    found = [disagreement(compile_ltlf(f), mona_dfa(f)) for f in batch(number)]
    assert [message for message in found if message is not None] == []


def test_the_sample_holds_every_operator():
    """Two thousand formulas, every operator among them, few of them trivial."""
    sample = [formula for number in range(BATCHES) for formula in batch(number)]
    assert len(sample) == 2000
    seen = set()
    for formula in sample:
        stack = [formula]
        while stack:
            node = stack.pop()
            seen.add((node.op, node.bounds is not None))
            stack.extend(node.args)
    assert {op for op, _ in seen} == set(Op)
    assert {op for op, bounded in seen if bounded} == {
        Op.NEXT,
        Op.WEAK_NEXT,
        Op.EVENTUALLY,
        Op.ALWAYS,
        Op.UNTIL,
    }
    sizes = [compile_ltlf(formula).num_states for formula in sample]
    assert sum(size > 1 for size in sizes) > 1200
    assert max(sizes) > 10


def test_a_changed_operator_is_noticed():
    """The comparison has teeth: neighbours in the sample differ in language."""
    sample = batch(0)
    pairs = list(itertools.pairwise(sample))
    different = sum(difference(compile_ltlf(f), compile_ltlf(g)) is not None for f, g in pairs)
    assert different > len(pairs) // 2


NAMES = ("a", "b")
EQUIVALENCES = [
    ("!(p & q)", "!p | !q"),
    ("!(p | q)", "!p & !q"),
    ("p -> q", "!p | q"),
    ("p <-> q", "(p -> q) & (q -> p)"),
    ("p ^ q", "!(p <-> q)"),
    ("!X p", "WX !p"),
    ("!F p", "G !p"),
    ("!(p U q)", "!p R !q"),
    ("!(p W q)", "!p M !q"),
    ("p W q", "(p U q) | G p"),
    ("p M q", "(p R q) & F p"),
    ("p U q", "q | (p & X(p U q))"),
    ("p R q", "q & (p | WX(p R q))"),
    ("p W q", "q R (p | q)"),
    ("F p", "true U p"),
    ("G p", "false R p"),
    ("F F p", "F p"),
    ("G G p", "G p"),
    ("G(p & q)", "G p & G q"),
    ("F(p | q)", "F p | F q"),
    ("G F p", "F(last & p)"),
    ("F G p", "F(last & p)"),
    ("X(p & q)", "X p & X q"),
    ("WX(p | q)", "WX p | WX q"),
    ("X[2] p", "X X p"),
    ("WX[2] p", "WX WX p"),
    ("F[1,2] p", "X p | X X p"),
    ("G[1,2] p", "WX p & WX WX p"),
    ("p U[1,2] q", "p & X(q | (p & X q))"),
    ("F[2,] p", "X X F p"),
]


@pytest.mark.parametrize(("left", "right"), EQUIVALENCES)
@given(p=formulas(NAMES, leaves=3), q=formulas(NAMES, leaves=3))
@settings(max_examples=15, deadline=None)
def test_law(left, right, p, q):
    """The laws hold on every non-empty trace, whatever p and q stand for.

    On the empty trace some do not: G F p and F(last & p) differ there, for one.
    """
    dfas = [compile_ltlf(_substitute(parse(text), {"p": p, "q": q})) for text in (left, right)]
    assert difference(*(with_empty(dfa, False) for dfa in dfas)) is None


def _substitute(formula, parts):
    if formula.op is Op.ATOM:
        return parts[formula.name]
    args = tuple(_substitute(arg, parts) for arg in formula.args)
    return Formula(formula.op, args, "", formula.bounds)


@given(formulas(), traces())
@settings(max_examples=200, deadline=None)
def test_printing_and_parsing_are_inverse_and_keep_the_meaning(formula, trace):
    again = parse(str(formula))
    assert again is formula
    assert holds(str(formula), trace) == holds(formula, trace)


@given(formulas(NAMES), st.lists(st.frozensets(st.sampled_from(NAMES)), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_negation_complements(formula, trace):
    positive, negative = compile_ltlf(formula), compile_ltlf(~formula)
    assert positive.accepts(trace) != negative.accepts(trace)
    assert positive.num_states == negative.num_states
