"""Compilation: the same language as the reference semantics, minimal, within limits."""

import itertools

import pytest
from hypothesis import given, settings

from safe_rl.automata import DFA, compile_ltlf, difference, minimise
from safe_rl.errors import CompilationLimitError, SpecificationError, UnknownPropositionError
from safe_rl.logic import Formula, Op, holds, parse
from tests.logic.strategies import formulas, traces


@settings(max_examples=300, deadline=None)
@given(formulas(), traces())
def test_agrees_with_the_reference_semantics(formula, trace):
    assert compile_ltlf(formula).accepts(trace) == holds(formula, trace)


@settings(max_examples=100, deadline=None)
@given(formulas(("a", "b")))
def test_minimal(formula):
    dfa = compile_ltlf(formula)
    assert minimise(dfa) == dfa
    letters = [set(), {"a"}, {"b"}, {"a", "b"}]
    # In a minimal DFA every two states are told apart by some word, and each is reachable.
    apart = {
        (p, q)
        for p, q in itertools.combinations(range(dfa.num_states), 2)
        if dfa.accepting[p] != dfa.accepting[q]
    }
    grown = True
    while grown:
        grown = False
        for p, q in itertools.combinations(range(dfa.num_states), 2):
            if (p, q) not in apart and any(
                tuple(sorted((dfa.step(p, x), dfa.step(q, x)))) in apart for x in letters
            ):
                apart.add((p, q))
                grown = True
    assert len(apart) == dfa.num_states * (dfa.num_states - 1) // 2


@settings(max_examples=100, deadline=None)
@given(formulas(("a", "b")))
def test_canonical(formula):
    """Equal languages over equal atoms give equal values, whatever the formula's form."""
    twisted = Formula(Op.NOT, (Formula(Op.XOR, (formula, Formula(Op.TRUE))),))
    assert compile_ltlf(formula, atoms=("a", "b")) == compile_ltlf(twisted, atoms=("a", "b"))


@pytest.mark.parametrize(
    ("formula", "states"),
    [
        ("true", 1),
        ("false", 1),
        ("G a", 2),
        ("F a", 2),
        ("G(a -> X b)", 3),
        ("a U b", 3),
        ("G(a -> F b)", 2),
        ("G(a -> F[0,50] b)", 52),
        ("X[100] a", 103),
        ("G(a -> X[8] b)", 257),
        ("F[0,200] a", 203),
        ("G(Y a -> b)", 3),
        ("G(b -> O a)", 3),
    ],
)
def test_number_of_states(formula, states):
    assert compile_ltlf(formula).num_states == states


def test_syntactic_variants_do_not_blow_up():
    constrained = (
        "G (!q || ((!p || (!r U (!r && s && !z && X((!r && !z) U t)))) U "
        "(r || G (!p || (s && !z && X(!z U t))))))"
    )
    assert compile_ltlf(constrained).num_states < 20


def test_an_invariant_over_forty_atoms():
    names = [f"hit_{i}" for i in range(40)]
    dfa = compile_ltlf("G !(" + " | ".join(names) + ")")
    assert (dfa.num_states, len(dfa.var)) == (2, 40)
    assert dfa.accepts([set(), {"other"}])
    assert not dfa.accepts([set(), {"hit_39"}])
    with pytest.raises(CompilationLimitError, match="limit is 12 atoms"):
        _ = dfa.table


def test_a_conjunction_of_eight():
    rules = [f"G(a{i} -> (b{i} W c{i}))" for i in range(8)]
    dfa = compile_ltlf(" & ".join(rules))
    assert dfa.num_states == 2**8 + 1


def test_atoms_may_be_given():
    dfa = compile_ltlf("F b", atoms=("a", "b", "c"))
    assert dfa.atoms == ("a", "b", "c")
    assert dfa.table.shape == (2, 8)
    assert difference(dfa, compile_ltlf("F b")) is None
    with pytest.raises(UnknownPropositionError, match="'grasped'.*did you mean 'graspd'"):
        compile_ltlf("F grasped", atoms=("graspd",))


def test_state_limit_names_formula_limit_and_remedy():
    with pytest.raises(CompilationLimitError) as caught:
        compile_ltlf("G(a -> X[13] b)")
    for part in ("G(a -> X[13] b)", "5000 states", "raise max_states"):
        assert part in str(caught.value)
    assert compile_ltlf("G(a -> X[3] b)", max_states=40).num_states == 9


def test_time_limit_names_formula_limit_and_remedy():
    with pytest.raises(CompilationLimitError) as caught:
        compile_ltlf("G(a -> X[12] b)", time_limit=0.0)
    for part in ("G(a -> X[12] b)", "longer than 0 s", "raise time_limit"):
        assert part in str(caught.value)


def test_nesting_beyond_the_stack_is_one_error():
    with pytest.raises(CompilationLimitError, match="nested too deeply"):
        compile_ltlf(parse("!(a ^ F(b & " * 2000 + "a" + "))" * 2000))


def test_bad_prefix_semantics():
    """U is read as W, and the end of a trace never rejects; only a bad prefix does."""
    lid = compile_ltlf("on_support U lid_on", semantics="bad_prefix")
    assert lid.accepts([{"on_support"}])
    assert not lid.accepts([{"on_support"}, set()])
    assert not lid.accepts([{"on_support"}, set(), {"lid_on"}])
    live = compile_ltlf("G(a -> F b)", semantics="bad_prefix")
    assert live.num_states == 1
    assert live.is_safe(live.initial)
    with pytest.raises(SpecificationError, match="'finite' or 'bad_prefix'"):
        compile_ltlf("a", semantics="weak")  # type: ignore[arg-type]


@given(formulas(("a", "b")), traces(("a", "b")))
@settings(max_examples=100, deadline=None)
def test_bad_prefix_rejects_exactly_the_doomed(formula, trace):
    from safe_rl.logic import weaken_untils

    closed = compile_ltlf(formula, semantics="bad_prefix")
    weak = compile_ltlf(weaken_untils(formula))
    assert closed.accepts(trace) == (not weak.is_doomed(weak.run(trace)[-1]))


def test_dfa_is_a_value():
    first, second = compile_ltlf("F a"), compile_ltlf("true U a")
    assert isinstance(first, DFA)
    assert first == second
    assert hash(first) == hash(second)
    assert first.formula is not second.formula
