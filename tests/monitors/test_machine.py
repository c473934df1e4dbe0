"""The Mealy machine of one specification."""

import pytest

from safe_rl.automata import compile_ltlf
from safe_rl.monitors import Verdict, build_machine
from safe_rl.specs import Specification


def test_machine_keeps_only_what_can_be_told_apart():
    # Armed with the trigger off or on, and one absorbing violation.
    assert build_machine(Specification("s", "G(a -> b)")).num_states == 3
    # For an invariant the trigger is on exactly in violation: two states.
    dry = Specification("s", "G !p", trigger="p", recovery="F !p")
    assert build_machine(dry).num_states == 2
    # A trigger that is constant costs one state, the one before reset.
    assert build_machine(Specification("s", "G !p", trigger="true")).num_states == 3
    assert build_machine(Specification("s", "G !p", trigger="false")).num_states == 2


def test_machine_knows_the_main_automaton_state_and_the_verdict():
    spec = Specification("s", "!b U a", trigger="b", recovery="F a")
    machine = build_machine(spec)
    assert machine.verdict(machine.initial) is Verdict.PRESUMABLY_VIOLATED
    assert set(machine.main_state) == {-1, *range(machine.main.num_states)} - {
        state for state in range(machine.main.num_states) if machine.main.is_doomed(state)
    }
    assert machine.main == compile_ltlf(spec.formula, atoms=machine.atoms)
    after, _ = machine.transition(machine.initial, [False, True])  # atoms are b, a
    assert machine.verdict(after) is Verdict.SATISFIED
    lost, code = machine.transition(machine.initial, [True, False])
    assert not machine.is_armed(lost) and machine.verdict(lost) is Verdict.VIOLATED
    assert code & 2


def test_formula_that_nothing_satisfies_is_violated_at_reset():
    machine = build_machine(Specification("s", "a & !a", trigger="true", recovery="F a"))
    assert machine.verdict(machine.initial) is Verdict.VIOLATED
    _, code = machine.transition(machine.initial, [True])
    assert code & 1 and code & 2 and code & 4


def test_atoms_of_trigger_and_recovery_join_those_of_the_formula():
    spec = Specification("s", "G !p", trigger="q", recovery="F r")
    assert build_machine(spec).atoms == ("p", "q", "r")


def test_machine_too_large_is_an_error_that_says_so(monkeypatch):
    from safe_rl.errors import CompilationLimitError
    from safe_rl.monitors import machine as module

    monkeypatch.setattr(module, "MAX_STATES", 20)
    spec = Specification("s", "G(a -> F[0,30] b)", recovery="F[0,9] c")
    with pytest.raises(CompilationLimitError, match="more than 20 states"):
        build_machine(spec)
