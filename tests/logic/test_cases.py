"""Faults that people reported of other tools, with the right value. Each names its thread."""

import pytest

from safe_rl.automata import compile_ltlf, difference
from safe_rl.errors import FormulaSyntaxError
from safe_rl.logic import FormulaWarning, holds, parse


def both(formula: str, trace: list) -> bool:
    """The verdict of the semantics and of the automaton, which must be one."""
    expected = holds(parse(formula), trace)
    assert compile_ltlf(formula).accepts(trace) is expected
    return expected


def test_weak_and_strong_next_at_the_last_step():  # LTLf2DFA 23, 24; ultimate 129
    assert both("G(a -> WX b)", [{"a"}])
    assert not both("G(a -> X b)", [{"a"}])
    assert not both("G(a -> X b)", [set(), {"a"}, {"a", "b"}])


def test_weak_next_equivalence_on_one_step():  # LTLf2DFA 69
    assert both("WX(a) <-> b", [{"b"}])
    assert not both("WX(a) <-> b", [set()])


def test_release_is_the_dual_of_until():  # lydia PR 117
    assert difference(compile_ltlf("a R b"), compile_ltlf("!(!a U !b)")) is None


def test_upper_case_atoms_and_nested_next():  # flloat 31
    assert parse("Open_Door & Gripper").atoms == ("Open_Door", "Gripper")
    everywhere = compile_ltlf("G X G a")
    assert not any(everywhere.accepting[s] for s in range(1, everywhere.num_states))
    assert everywhere.accepts([])
    assert both("X G a", [set(), {"a"}])


def test_strong_and_weak_next_of_constants():  # lisa 2
    assert not both("X true", [set()])
    assert both("WX false", [set()])
    assert both("X true", [set(), set()])
    assert not both("WX false", [set(), set()])


@pytest.mark.parametrize("formula", ["G !a & (a M b)", "G a & !(a W b)"])
def test_unsatisfiable(formula):  # black 126
    assert compile_ltlf(formula).is_doomed(0)


def test_strict_alternation():  # texada 74
    trace = [{"P"}, {"S"}, {"P"}, {"S"}]
    assert not both('G("S" -> X(!"S" W P))', trace)
    assert both('G("S" -> WX(!"S" W P))', trace)
    assert parse('G("S" -> P)').atoms == ("S", "P")


def test_what_people_and_models_write():  # ltlf2dfa and agentltl, tried
    assert parse("□(grasped → ◇ released)") is parse("G(grasped -> F released)")
    assert parse("on(milk, table)").name == "on(milk,table)"
    assert parse("not a") is parse("!a")
    with pytest.warns(FormulaWarning, match="G F a"):
        assert parse("GFa") is parse("G F a")


def test_words_in_any_case_and_undefined_bound():  # SENTINEL's rules
    assert parse("NOT (a)") is parse("!a")
    assert parse("a AND b") is parse("a & b")
    assert parse("a Or b") is parse("a | b")
    with pytest.raises(FormulaSyntaxError) as caught:
        parse("F[<=T_MAX] a")
    message, line, caret = str(caught.value).split("\n")
    assert "bound of F" in message
    assert line[caret.index("^")] == "T"
