"""Shortest words to doom, fulfilment and recovery: a few by hand.

That no shorter ones exist is tested on random specifications, in tests/feedback.
"""

from __future__ import annotations

from safe_rl.monitors import build_machine
from safe_rl.monitors.continuations import may_end, shortest_continuation, shortest_insertion
from safe_rl.specs import Specification


def after(machine, *letters):
    state = machine.initial
    for letter in letters:
        state, _ = machine.transition(state, letter)
    return state


def test_an_atom_that_does_not_matter_stays_as_it_was():
    machine = build_machine(Specification("r", "G(a -> X X b)", trigger="a", recovery="F c"))
    assert machine.atoms == ("a", "b", "c")
    state = after(machine, (1, 0, 0))
    assert not may_end(machine, state) and may_end(machine, machine.initial)
    # a has to end, or it would promise again; c stays
    word = shortest_continuation(machine, state, "fulfilment", (1, 0, 1))
    assert word == ((0, 0, 1), (0, 1, 1))
    assert shortest_continuation(machine, state, "doom", (0, 0, 1)) == ((0, 0, 1), (0, 0, 1))


def test_where_nothing_leads_there():
    machine = build_machine(Specification("r", "G(a -> F b)"))
    assert shortest_continuation(machine, after(machine, (1, 0)), "doom", (1, 0)) is None
    absorbing = build_machine(Specification("r", "G !a", trigger="a"))
    violated = after(absorbing, (1,))
    for goal in ("recovery", "fulfilment", "doom"):
        assert shortest_continuation(absorbing, violated, goal, (1,)) is None


def test_a_recovery_that_violates_at_once_is_none():
    machine = build_machine(Specification("r", "G(a -> b)", recovery="F c"))
    assert machine.atoms == ("a", "b", "c")
    violated = after(machine, (1, 0, 0))
    # with a alone, c would recover into the next violation
    assert shortest_continuation(machine, violated, "recovery", (1, 0, 0)) == ((0, 0, 1),)


def test_no_way_leads_through_the_next_violation():
    # After a alone only c recovers, and violates at once; that violation would be easy to leave.
    machine = build_machine(
        Specification("r", "G !(a | c)", trigger="a", recovery="(a & !c & X c) | (c & X(!a & !c))")
    )
    assert machine.atoms == ("a", "c")
    assert shortest_continuation(machine, after(machine, (1, 0)), "recovery", (1, 0)) is None
    easy = shortest_continuation(machine, after(machine, (0, 1)), "recovery", (0, 1))
    assert easy == ((0, 0),)


def test_insertions():
    machine = build_machine(
        Specification("r", "(!serve W plate) & G(serve -> WX(!serve W plate))", trigger="serve")
    )
    assert machine.atoms == ("serve", "plate")
    assert shortest_insertion(machine, 0, (1, 0), (0, 0)) == ((0, 1),)
    never = build_machine(Specification("r", "G !serve", trigger="serve"))
    assert shortest_insertion(never, 0, (1,), (0,)) is None
