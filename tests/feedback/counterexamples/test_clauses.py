"""A formula and the conjunction of its clauses have the same language."""

from __future__ import annotations

from functools import reduce

from hypothesis import given, settings

from safe_rl.feedback.counterexamples.clauses import MOST_CLAUSES, ClauseMonitor, split_clauses
from safe_rl.logic import holds, parse
from safe_rl.specs import Specification
from tests.logic.strategies import formulas, traces

NAMES = ("a", "b", "c")


@settings(max_examples=400, deadline=None)
@given(formulas(NAMES, 8), traces(NAMES, 5))
def test_the_clauses_together_are_the_formula(formula, trace):
    clauses = split_clauses(formula)
    together = reduce(lambda p, q: p & q, clauses)
    assert holds(together, trace) == holds(formula, trace)


def test_by_hand():
    def split(text):
        return [str(clause) for clause in split_clauses(parse(text))]

    assert split("a U b") == ["a U b"]
    assert split("!(a | F b)") == ["!a", "!F b"]
    assert split("G(a <-> b)") == ["G(a -> b)", "G(b -> a)"]
    assert split("G[0,3](a & X(b & c))") == ["G[0,3] a", "G[0,3] X b", "G[0,3] X c"]
    assert split("(a & b) W c") == ["a W c", "b W c"]
    assert split("c R (a & b)") == ["c R a", "c R b"]
    assert split("!(a -> b)") == ["a", "!b"]
    assert split("a | b & c") == ["a | b", "a | c"]
    assert split("F(a & b)") == ["F(a & b)"]
    assert split("a & a") == ["a"]


def test_too_many_parts_stay_whole():
    conjunctions = " | ".join(f"(a{i} & b{i})" for i in range(6))
    assert len(split_clauses(parse(conjunctions))) <= MOST_CLAUSES
    wide = parse(" & ".join(f"a{i}" for i in range(MOST_CLAUSES + 1)))
    assert split_clauses(wide) == (wide,)


def test_a_clause_too_large_to_compile_is_not_told():
    formula = "G(a -> F b) & F(a & X[12] b)"  # the second one has to remember twelve steps
    rule = Specification("r", formula, trigger="true")
    clauses = ClauseMonitor(rule)
    assert len(clauses.clauses) == 2
    assert clauses.broken([(1, 0)], by_end=True) == ()
