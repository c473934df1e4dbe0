"""The nearest letter that would not have violated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from safe_rl.monitors import build_machine
from safe_rl.monitors.deciding import Decision, deciding_atoms, decision_words
from safe_rl.monitors.events import VIOLATED
from safe_rl.specs import Specification


def decide(formula: str, *letters: set[str], trigger: str = "true") -> tuple[set[str], bool]:
    machine = build_machine(Specification("rule", formula, trigger=trigger))
    state = machine.initial
    rows = [tuple(atom in letter for atom in machine.atoms) for letter in letters]
    for row in rows[:-1]:
        state, code = machine.transition(state, row)
        assert not code & VIOLATED
    decision = deciding_atoms(machine, state, rows[-1])
    return {machine.atoms[i] for i in decision.atoms}, decision.together


def test_by_hand():
    assert decide("G(a -> b)", {"b"}, {"a", "c"}) == ({"a", "b"}, False)
    assert decide("G !a", {"a"}) == ({"a"}, False)
    # both have to be otherwise
    assert decide("G(!a & !b)", {"a", "b"}) == ({"a", "b"}, True)
    # promised a step ago: only the answer helps now
    assert decide("G(a -> X b)", {"a"}, {"a"}) == ({"b"}, False)


@given(st.sets(st.sampled_from("abc")), st.sets(st.sampled_from("abc")))
def test_what_decided_would_have_averted_it(first, second):
    machine = build_machine(Specification("rule", "G((a | b) -> X(b | c))", trigger="a"))
    letters = [tuple(atom in letter for atom in machine.atoms) for letter in (first, second)]
    state, code = machine.transition(machine.initial, letters[0])
    assert not code & VIOLATED
    if not machine.transition(state, letters[1])[1] & VIOLATED:
        return
    decision = deciding_atoms(machine, state, letters[1])
    assert decision.atoms
    ways = [decision.atoms] if decision.together else [(atom,) for atom in decision.atoms]
    for way in ways:
        other = [value != (i in way) for i, value in enumerate(letters[1])]
        assert not machine.transition(state, other)[1] & VIOLATED


def test_words():
    names, letter = ["a", "b"], [True, False]
    assert decision_words(names, letter, Decision((1,), False), by_end=False) == "!b"
    assert decision_words(names, letter, Decision((0, 1), True), by_end=False).endswith(
        "a, !b (together)"
    )
    assert "earlier step" in decision_words(names, letter, Decision((), False), by_end=False)
    assert "end of the episode" in decision_words(names, letter, Decision((), False), by_end=True)


def test_more_than_three_together():
    wanted = " & ".join("abcde")
    decided, together = decide(f"G(go -> X({wanted}))", {"go"}, set())
    assert (decided, together) == (set("abcde"), True)


def test_to_stay_in_violation_averts_nothing():
    machine = build_machine(Specification("r", "G !a", trigger="a", recovery="F c"))
    assert machine.atoms == ("a", "c")
    state, code = machine.transition(machine.initial, (True, False))
    assert code & VIOLATED
    _, code = machine.transition(state, (True, True))
    assert code & VIOLATED, "it recovers into the next violation"
    # without c it would not have been a new violation, but still in the old one
    assert deciding_atoms(machine, state, (True, True)) == Decision((0,), together=False)


def test_a_step_that_no_letter_survives():
    assert decide("a & WX false", {"a"}, {"a"}) == (set(), False)
