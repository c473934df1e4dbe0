"""Printing then parsing gives an equal formula."""

import pickle

import pytest
from hypothesis import given

from safe_rl.logic import Formula, Op, atom, parse, to_text
from tests.logic.strategies import formulas


@given(formulas())
def test_printing_and_parsing_are_inverse(formula):
    assert parse(to_text(formula)) is formula


@given(formulas())
def test_pickling_keeps_identity(formula):
    assert pickle.loads(pickle.dumps(formula)) is formula


@pytest.mark.parametrize(
    "text",
    [
        "G(a -> X b)",
        "a & (b | c) -> G(d U e)",
        "!(a & b)",
        "!a U b",
        "(a U b) U c",
        "(a -> b) -> c",
        "a & (b & c)",
        "F[0,3] a & X[2] b",
        "a U[1,] b",
        'G "G" | "a b"',
        "on(milk,table) W open",
    ],
)
def test_no_more_parentheses_than_needed(text):
    assert str(parse(text)) == text


def test_names_that_look_like_operators_are_quoted():
    assert str(atom("XXa")) == '"XXa"'
    assert str(atom('say "hi"')) == r'"say \"hi\""'
    assert str(Formula(Op.NOT, (atom("not"),))) == '!"not"'
