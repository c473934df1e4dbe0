"""The pattern library against its own definition, against the public text, and against MONA."""

import itertools
import random
from pathlib import Path

import pytest

from safe_rl.automata import compile_ltlf, difference
from safe_rl.automata.oracles import disagreement, mona_dfa
from safe_rl.errors import ConfigurationError, FormulaSyntaxError
from safe_rl.logic import holds, parse
from safe_rl.specs.patterns import (
    SCOPES,
    declare,
    declare_names,
    pattern,
    pattern_names,
    pattern_template,
)

PUBLIC = [
    line
    for line in (Path(__file__).parents[1] / "data" / "dwyer55.ltl").read_text().splitlines()
    if line.strip()
]
"""Public LTL text of the catalogue, in the order of ``pattern_names()`` by ``SCOPES``."""

ALL = list(itertools.product(pattern_names(), SCOPES))


def letters(text):
    """``"q ps -"`` is the trace {q}, {p, s}, {}."""
    return [set(step) - {"-"} for step in text.split()]


_LEAKS = "the public text lets {} come when r has already closed the scope"
_NO_F = "the public text lost the F of the unscoped pattern: it asks for s at the very step of p"
PUBLIC_DIFFERS = {
    ("precedence", "after"): (
        "the public text, <>(q & ...), may pick any q; the scope starts at the first",
        "qp q",
        False,
    ),
    ("precedence_chain_2_1", "after"): (
        "in the public text, !q U (q & F p -> ...), the implication is true wherever q is false",
        "- qp",
        False,
    ),
    ("response_chain_2_1", "before"): (_LEAKS.format("p"), "s t r p", False),
    ("response_chain_2_1", "between"): (_LEAKS.format("p"), "qs t r p", False),
    ("response_chain_2_1", "after_until"): (_LEAKS.format("p"), "qs t r p", False),
    ("response_chain_1_2", "before"): (_LEAKS.format("t, at the step of r,"), "ps tr", False),
    ("response_chain_1_2", "after"): (_NO_F, "qp s t", True),
    ("response_chain_1_2", "between"): (_LEAKS.format("t, at the step of r,"), "qps tr", False),
    ("response_chain_1_2", "after_until"): (
        _LEAKS.format("t, at the step of r,"),
        "qps tr",
        False,
    ),
    ("constrained_response_chain", "before"): (
        _LEAKS.format("t, at the step of r,"),
        "ps tr",
        False,
    ),
    ("constrained_response_chain", "after"): (_NO_F, "qp s t", True),
    ("constrained_response_chain", "between"): (
        _LEAKS.format("t, at the step of r,"),
        "qps tr",
        False,
    ),
    ("constrained_response_chain", "after_until"): (
        _LEAKS.format("t, at the step of r,"),
        "qps tr",
        False,
    ),
}
"""Where the library departs from the public text: why, a trace, and the library's verdict on it."""


def segments(trace, scope):
    """The parts of a trace that a scope selects, as the module's docstring defines them."""
    opens = [i for i, letter in enumerate(trace) if "q" in letter]
    closes = [i for i, letter in enumerate(trace) if "r" in letter]
    if scope == "globally":
        return [trace]
    if scope == "before":
        return [trace[: closes[0]]] if closes else []
    if scope == "after":
        return [trace[opens[0] :]] if opens else []
    found = []
    for start in opens:
        later = [i for i in closes if i >= start]
        if later and later[0] > start:
            found.append(trace[start : later[0]])
        elif not later and scope == "after_until":
            found.append(trace[start:])
    return found


def test_eleven_patterns_by_five_scopes():
    assert len(ALL) == len(PUBLIC) == 55
    assert len({pattern_template(name, scope) for name, scope in ALL}) == 55


@pytest.mark.parametrize(("name", "scope"), ALL)
def test_a_scoped_pattern_is_the_pattern_on_each_segment(name, scope):
    unscoped = compile_ltlf(pattern_template(name))
    scoped = compile_ltlf(pattern_template(name, scope))
    atoms = sorted({*unscoped.atoms, *scoped.atoms})
    alphabet = [set(c) for n in range(len(atoms) + 1) for c in itertools.combinations(atoms, n)]
    rng = random.Random(f"{name} {scope}")
    short = [[*t] for n in (1, 2) for t in itertools.product(alphabet, repeat=n)]
    long = [[rng.choice(alphabet) for _ in range(rng.randint(3, 9))] for _ in range(3000)]
    sparse = [
        [{a for a in atoms if rng.random() < 0.25} for _ in range(rng.randint(3, 9))]
        for _ in range(3000)
    ]
    for trace in (*short, *long, *sparse):
        expected = all(unscoped.accepts(part) for part in segments(trace, scope))
        assert scoped.accepts(trace) == expected, trace


@pytest.mark.parametrize(("name", "scope"), ALL)
def test_against_the_public_text(name, scope):
    """Equal on every non-empty trace, but for the differences that are listed and explained."""
    public = PUBLIC[ALL.index((name, scope))].replace("XF", "X F")
    ours, theirs = compile_ltlf(pattern_template(name, scope)), compile_ltlf(public)
    assert ours.accepts([]) == theirs.accepts([])  # so that a difference is a non-empty trace
    if (name, scope) not in PUBLIC_DIFFERS:
        assert difference(ours, theirs) is None
    else:
        _, text, verdict = PUBLIC_DIFFERS[name, scope]
        trace = letters(text)
        assert holds(pattern_template(name, scope), trace) is verdict
        assert holds(public, trace) is not verdict
        assert all(holds(pattern_template(name), s) for s in segments(trace, scope)) is verdict


@pytest.mark.mona
@pytest.mark.parametrize("source", ["library", "public"])
def test_all_55_against_mona(source):
    """Language and number of states."""
    texts = [pattern_template(*key) for key in ALL] if source == "library" else PUBLIC
    formulas = [parse(text.replace("XF", "X F")) for text in texts]
    assert [m for f in formulas if (m := disagreement(compile_ltlf(f), mona_dfa(f)))] == []


def test_parts_may_be_names_or_formulas():
    asked = parse("stirring | pouring")
    got = pattern("absence", scope="before", p=asked, r="on(lid, pot)")
    assert got == parse("F on(lid,pot) -> !(stirring | pouring) U on(lid,pot)")
    assert pattern("response", p="true", s='"G"') == parse('G(true -> F "G")')


A = {"a": "a"}
AB = {"a": "a", "b": "b"}
DECLARE_CASES = {
    "existence": ("a a", {"n": 2}, "a -"),
    "absence": ("a -", {"n": 2}, "a - a"),
    "exactly": ("- a - a", {"n": 2}, "a a a"),
    "init": ("a b", {}, "b a"),
    "end": ("b a", {}, "a b"),
    "choice": ("- b", {}, "- -"),
    "exclusive_choice": ("- b b", {}, "a b"),
    "responded_existence": ("b a", {}, "a -"),
    "co_existence": ("b a", {}, "b"),
    "response": ("a a b", {}, "a b a"),
    "precedence": ("a b b", {}, "b a"),
    "succession": ("a a b", {}, "b a b"),
    "alternate_response": ("a - b b", {}, "a a b"),
    "alternate_precedence": ("a - b a b", {}, "a b b"),
    "alternate_succession": ("a b - a b", {}, "a a b"),
    "chain_response": ("a b - b", {}, "a - b"),
    "chain_precedence": ("a b a", {}, "b a b"),
    "chain_succession": ("- a b", {}, "a b b"),
    "not_co_existence": ("a a", {}, "a b"),
    "not_succession": ("b a", {}, "a - b"),
    "not_chain_succession": ("a - b a", {}, "a b"),
}


@pytest.mark.parametrize("name", declare_names())
def test_declare_template(name):
    """One trace that each template accepts and one that it rejects."""
    good, options, bad = DECLARE_CASES[name]
    unary = name in ("existence", "absence", "exactly", "init", "end")
    formula = declare(name, **options, **(A if unary else AB))
    assert holds(formula, letters(good))
    assert not holds(formula, letters(bad))


LAWS = {
    "absence": ~declare("existence", **A),
    "exactly": declare("existence", **A) & declare("absence", n=2, **A),
    "co_existence": declare("responded_existence", **AB)
    & declare("responded_existence", a="b", b="a"),
    "succession": declare("response", **AB) & declare("precedence", **AB),
    "alternate_succession": declare("alternate_response", **AB)
    & declare("alternate_precedence", **AB),
    "chain_succession": declare("chain_response", **AB) & declare("chain_precedence", **AB),
    "exclusive_choice": declare("choice", **AB) & declare("not_co_existence", **AB),
    "not_co_existence": declare("absence", a="a") | declare("absence", a="b"),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_template_that_is_made_of_others(name):
    parts = A if name in ("absence", "exactly") else AB
    assert difference(compile_ltlf(declare(name, **parts)), compile_ltlf(LAWS[name])) is None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_counting_templates_count(n):
    for trace in itertools.product([set(), {"a"}], repeat=5):
        count = sum("a" in letter for letter in trace)
        assert holds(declare("existence", n=n, a="a"), trace) == (count >= n)
        assert holds(declare("absence", n=n, a="a"), trace) == (count < n)
        assert holds(declare("exactly", n=n, a="a"), trace) == (count == n)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pattern("respnse", p="a", s="b"), "no pattern 'respnse'; did you mean 'response'"),
        (lambda: pattern("response", scope="befor", p="a"), "no scope 'befor'; did you mean 'befo"),
        (lambda: pattern("response", p="a"), "has the letters p, s; the call lacks s"),
        (lambda: pattern("absence", p="a", r="b"), "the call does not take r"),
        (lambda: pattern("absence", scope="before", p="a", q="b"), "lacks r and does not take q"),
        (lambda: declare("sucession", a="a", b="b"), "did you mean 'succession'"),
        (lambda: declare("existence", n=0, a="a"), "at least one step, but n is 0"),
        (lambda: declare("absence", n=True, a="a"), "at least one step, but n is True"),
        (lambda: declare("response", n=2, a="a", b="b"), "takes no n .got 2."),
        (lambda: declare("init", a="a", b="b"), "does not take b"),
    ],
)
def test_errors(call, says):
    with pytest.raises(ConfigurationError, match=says):
        call()


def test_a_part_that_does_not_parse():
    with pytest.raises(FormulaSyntaxError):
        pattern("absence", p="a &")
