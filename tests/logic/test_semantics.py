"""The reference semantics, on values worked out by hand."""

import pytest
from hypothesis import given

from safe_rl.errors import GroundingError
from safe_rl.logic import Formula, Op, holds, parse, weaken_untils
from tests.logic.strategies import formulas, traces

A, B, AB, NONE = {"a"}, {"b"}, {"a", "b"}, set()


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("a U b", [A, A, B], True),
        ("a U b", [A, A], False),
        ("a W b", [A, A], True),
        ("a W b", [A, NONE, B], False),
        ("a R b", [B, AB, NONE], True),
        ("a R b", [B, B], True),
        ("a M b", [B, B], False),
        ("a M b", [B, AB], True),
        ("last", [A], True),
        ("F(a & last)", [A, B], False),
        ("F(b & last)", [A, B], True),
        ("X[2] a", [NONE, NONE, A], True),
        ("X[2] a", [NONE, A], False),
        ("WX[2] a", [NONE, A], True),
        ("F[1,2] a", [A, NONE, NONE, A], False),
        ("F[1,3] a", [A, NONE, NONE, A], True),
        ("G[1,2] a", [NONE, A, A, NONE], True),
        ("G[1,2] a", [NONE, A], True),
        ("a U[2,3] b", [A, AB, A, B], True),
        ("a U[2,3] b", [A, B, NONE], False),
        ("F(b & Y a)", [A, B], True),
        ("F(b & O a)", [A, NONE, B], True),
        ("G(b -> H a)", [A, AB, B], False),
        ("F(last & (a S b))", [B, A, A], True),
        ("F(last & (a S b))", [B, NONE, A], False),
        ("Y true", [A], False),
    ],
)
def test_by_hand(formula, trace, expected):
    assert holds(formula, trace) is expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a", False),
        ("!a", True),
        ("true", True),
        ("last", False),
        ("X true", False),
        ("WX false", True),
        ("F true", False),
        ("G false", True),
        ("a U true", False),
        ("a W false", True),
        ("a R false", True),
        ("a M true", False),
        ("Y true", False),
        ("O true", False),
        ("H false", True),
        ("a S true", False),
        ("F[0,3] true", False),
        ("G[0,3] false", True),
    ],
)
def test_the_empty_trace(formula, expected):
    assert holds(formula, []) is expected


@given(formulas(("a", "b")), formulas(("a", "b")), traces(("a", "b")))
def test_laws(p, q, trace):
    def at(op, *args):
        return holds(Formula(op, args), trace)

    assert at(Op.EVENTUALLY, p) == (not at(Op.ALWAYS, ~p))
    assert at(Op.NEXT, p) == (not at(Op.WEAK_NEXT, ~p))
    assert at(Op.RELEASE, p, q) == (not at(Op.UNTIL, ~p, ~q))
    assert at(Op.STRONG_RELEASE, p, q) == (not at(Op.WEAK_UNTIL, ~p, ~q))
    assert at(Op.WEAK_UNTIL, p, q) == (at(Op.UNTIL, p, q) or at(Op.ALWAYS, p))


def test_positions():
    assert holds("a", [B, A], 1)
    with pytest.raises(IndexError, match="position 2 lies outside a trace of 2 steps"):
        holds("a", [B, A], 2)


def test_a_mapping_must_name_what_is_asked_for():
    assert holds("a", [{"a": True}])
    with pytest.raises(GroundingError, match="lacks proposition 'grasped'; did you mean 'graspd'"):
        holds("grasped", [{"graspd": True}])
    with pytest.raises(GroundingError, match="must be true or false, but is 0.5"):
        holds("a", [{"a": 0.5}])
    with pytest.raises(GroundingError, match="not the text 'a'"):
        holds("a", ["a"])


def test_weaken_untils():
    assert weaken_untils(parse("G(a -> b U c) & a U[0,3] b")) is parse("G(a -> b W c) & a U[0,3] b")
