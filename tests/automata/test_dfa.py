"""What can be read off a DFA: doom, safety, distances, words, tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.automata import compile_ltlf, difference
from safe_rl.errors import ConfigurationError, GroundingError
from tests.logic.strategies import formulas, traces

LETTERS = [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")]


def reachable(dfa, state):
    seen, stack = {state}, [state]
    while stack:
        q = stack.pop()
        for letter in LETTERS:
            successor = dfa.step(q, letter)
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return seen


@settings(max_examples=100, deadline=None)
@given(formulas(("a", "b")))
def test_doomed_and_safe(formula):
    dfa = compile_ltlf(formula)
    for state in range(dfa.num_states):
        accepting = [dfa.is_accepting(q) for q in reachable(dfa, state)]
        assert dfa.is_doomed(state) == (not any(accepting))
        assert dfa.is_safe(state) == all(accepting)


@settings(max_examples=100, deadline=None)
@given(formulas(("a", "b")), st.sampled_from(["accepting", "doomed", "safe"]))
def test_distances_and_shortest_words(formula, target):
    dfa = compile_ltlf(formula)
    left = dfa.distance(target)
    goals = dfa.targets(target)
    for state in range(dfa.num_states):
        word = dfa.shortest_word(state, target)
        if left[state] < 0:
            assert word is None
            assert not any(goals[q] for q in reachable(dfa, state))
            continue
        q = state
        for letter in word:
            q = dfa.step(q, letter)
        assert goals[q]
        assert len(word) == left[state]
        for length in range(min(left[state], 3)):  # nothing shorter exists
            for shorter in itertools.product(LETTERS, repeat=length):
                q = state
                for letter in shorter:
                    q = dfa.step(q, letter)
                assert not goals[q]


@settings(max_examples=50, deadline=None)
@given(formulas(("a", "b")), traces(("a", "b")))
def test_the_dense_table_is_the_diagram(formula, trace):
    dfa = compile_ltlf(formula, atoms=("b", "a"))
    state = dfa.initial
    for letter in trace:
        column = ("b" in letter) + 2 * ("a" in letter)
        state = int(dfa.table[state, column])
    assert state == dfa.run(trace)[-1]
    assert dfa.table.dtype == np.int32


def test_grasp_by_hand():
    """SafeManip's figure 4: waiting for release is open, a slip dooms."""
    dfa = compile_ltlf("G(grasped -> (stable U released))")
    held = dfa.step(dfa.initial, {"grasped", "stable"})
    assert not dfa.is_accepting(held)
    assert not dfa.is_doomed(held)
    assert dfa.step(held, {"released"}) == dfa.initial
    assert dfa.is_doomed(dfa.step(held, set()))
    assert dfa.shortest_word(dfa.initial, "doomed") == [frozenset({"grasped"})]
    assert dfa.distance("doomed").tolist() == [1, 0, 1] or dfa.distance("doomed")[held] == 1


def test_letters_as_mappings_must_be_complete():
    dfa = compile_ltlf("a & b")
    assert dfa.accepts([{"a": True, "b": 1, "c": None}])
    with pytest.raises(GroundingError, match="lacks proposition 'b'"):
        dfa.step(0, {"a": False})


def test_unknown_target():
    with pytest.raises(ConfigurationError, match="'accepting', 'doomed' or 'safe'"):
        compile_ltlf("a").distance("unsafe")  # type: ignore[arg-type]


def test_difference_finds_a_shortest_trace():
    assert difference(compile_ltlf("F a"), compile_ltlf("F[0,2] a")) == [
        frozenset(),
        frozenset(),
        frozenset(),
        frozenset("a"),
    ]
    assert difference(compile_ltlf("a & !a"), compile_ltlf("false")) is None
