"""The oracles agree where they answer, and are one clear error where they cannot."""

import shutil
import sys
import types
from importlib.util import find_spec

import pytest

from safe_rl.automata import DFA, compile_ltlf, difference
from safe_rl.automata import oracles as oracle_module
from safe_rl.automata.oracles import (
    disagreement,
    mona_dfa,
    mona_program,
    run_mona,
    spot_dfa,
    with_empty,
)
from safe_rl.errors import MissingDependencyError, OracleError
from safe_rl.logic import parse

FORMULAS = (
    "true",
    "false",
    "last",
    "!last",
    "a",
    "X true",
    "WX false",
    "X a",
    "WX(a) <-> b",
    "G(a -> X b)",
    "G(a -> WX b)",
    "a -> b -> c",
    "a ^ b ^ c",
    "a U b",
    "a W b",
    "a R b",
    "a M b",
    "G !a & (a M b)",
    "F[2,4] a",
    "F[2,] a",
    "F[0,0] a",
    "G[1,3] a",
    "a U[1,3] b",
    "a U[2,] b",
    "X[3] a",
    "WX[2] a",
    "G(a -> F[<=2] b)",
    "G(a -> last)",
    "G(last -> a)",
    'G(on(milk,table) -> WX "two words")',
    "G G X a",
    "(a & !a) | G b",
    "Y a",
    "!Y a | b",
    "F[0,1] Y a",
    "(Y a | H a) U[0,2] b",
    "G(a -> Y b)",
    "G(a -> Y Y b)",
    "F(a & O b)",
    "G(a -> (b S c))",
    "G(a -> (Y b S (c & O a)))",
    "G(a -> F(b & H(c | Y c)))",
)


@pytest.mark.mona
@pytest.mark.parametrize("text", FORMULAS)
def test_mona_agrees(text):
    assert disagreement(compile_ltlf(text), mona_dfa(text)) is None


@pytest.mark.mona
def test_mona_automaton_as_it_is():
    """``a U b`` has three states: open, fulfilled, doomed."""
    dfa = mona_dfa("a U b")
    assert isinstance(dfa, DFA)
    assert (dfa.atoms, dfa.num_states, str(dfa.formula)) == (("a", "b"), 3, "a U b")
    assert dfa.accepts([{"a"}, {"b"}])
    assert not dfa.accepts([{"a"}])
    assert not dfa.accepts([set(), {"b"}])
    unsatisfiable = mona_dfa("a & !a")
    assert unsatisfiable.num_states == 1
    assert not unsatisfiable.accepts([{"a"}])


@pytest.mark.mona
def test_an_atom_that_does_not_matter_stays_in_the_alphabet():
    assert mona_dfa("a | b & !b").atoms == ("a", "b")


def test_disagreement_is_seen():
    strong, weak = compile_ltlf("G(a -> X b)"), compile_ltlf("G(a -> WX b)")
    message = disagreement(strong, weak)
    assert message is not None
    assert "rejects [['a']]" in message
    doubled = DFA(  # F a, with its accepting state written twice
        atoms=("a",),
        roots=(0, -3, -2),
        var=(0,),
        low=(-1,),
        high=(-2,),
        accepting=(False, True, True),
    )
    message = disagreement(compile_ltlf("F a"), doubled)
    assert message is not None
    assert "has 2 states, and the oracle's 3" in message


def test_with_empty_changes_the_empty_trace_only():
    """The rule by which state counts are compared, on a case of each kind."""
    always = compile_ltlf("G a")  # accepts the empty trace, and its initial state is visited again
    assert with_empty(always, True) == always
    without = with_empty(always, False)
    assert without.num_states == 3
    assert not without.accepts([])
    assert difference(always, without) == []
    now = compile_ltlf("a")  # its initial state is never visited again
    assert with_empty(now, True).num_states == now.num_states == 3
    assert with_empty(compile_ltlf("false"), True).num_states == 2


def test_missing_mona_is_an_error(monkeypatch, tmp_path):
    """LTLf2DFA 15, 44: an absent tool is an error, never an empty automaton."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OracleError, match="'mona', which is not on PATH; .*apt-get install mona"):
        run_mona("true;\n")
    if not find_spec("ltlf2dfa"):
        pytest.skip('ltlf2dfa is not installed: pip install "safe-rl-ltlf[mona]"')
    with pytest.raises(OracleError, match="'mona', which is not on PATH"):
        mona_dfa("F a")


def test_missing_ltlf2dfa_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ltlf2dfa.ltlf", None)
    with pytest.raises(MissingDependencyError, match=r"safe-rl-ltlf\[mona\]"):
        mona_dfa("F a")


@pytest.mark.mona
def test_a_program_that_mona_refuses_is_an_error():
    with pytest.raises(OracleError, match=r"(?s)exported no automaton.*'nonsense' not declared"):
        run_mona("var2 A;\nnonsense;\n")
    with pytest.raises(OracleError, match="exported no automaton.*it said: nothing"):
        run_mona("var2 A;\ntrue;\n")


@pytest.mark.mona
def test_time_limit_of_the_oracle():
    with pytest.raises(OracleError, match="longer than 0.05 s; raise time_limit"):
        mona_dfa("G(a -> X[15] b)", time_limit=0.05)


@pytest.mark.mona
def test_an_encoding_that_explodes_is_refused():
    with pytest.raises(OracleError, match="would hold .* operators.*nest fewer"):
        mona_dfa(parse("G " * 40 + "a"))


def test_a_broken_mona_is_an_error(monkeypatch, tmp_path):
    """A program of that name that cannot be run, and one that writes nonsense."""
    fake = tmp_path / "mona"
    fake.write_text("#!/bin/sh\necho 'MONA DFA' > oracle.dfa\n")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(fake))
    if find_spec("ltlf2dfa"):
        with pytest.raises(OracleError, match="cannot be read: it has no field 'final'"):
            mona_dfa("F a")
    fake.write_text("#!/does/not/exist\n")
    with pytest.raises(OracleError, match="cannot be run"):
        run_mona("true;\n")


@pytest.mark.mona
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("final: ", "final: x ", "invalid literal"),
        ("final: 0 -1", "final: 0 0", "acceptances"),
        ("variables: P0 P1", "variables: P1 P0", "order"),
        ("variables: P0 P1", "variables: P0 P7", "variables are"),
        ("behaviour: 0", "behaviour: 1", "dummy step"),
        ("behaviour: ", "behaviour: 0 ", "roots"),
    ],
)
def test_a_damaged_automaton_is_an_error(monkeypatch, old, new, says):
    formula = parse("a U b")
    exported = run_mona(mona_program(formula))
    assert old in exported
    monkeypatch.setattr(
        oracle_module, "run_mona", lambda program, time_limit: exported.replace(old, new, 1)
    )
    with pytest.raises(OracleError, match=f"cannot be read: .*{says}"):
        mona_dfa(formula)


def test_absent_spot_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "spot", None)
    with pytest.raises(OracleError, match="Spot's Python bindings are not installed"):
        spot_dfa("F a")


def test_the_other_package_named_spot_is_recognised(monkeypatch):
    """PyPI's ``spot`` is another project; it must not pass for the automata library."""
    impostor = types.ModuleType("spot")
    impostor.__file__ = "/site-packages/spot/__init__.py"
    monkeypatch.setitem(sys.modules, "spot", impostor)
    with pytest.raises(OracleError, match=r"spot/__init__.py is not the automata library.*PyPI"):
        spot_dfa("F a")


def test_spot_agrees():
    try:
        spot_dfa("true")
    except OracleError as error:
        pytest.skip(str(error))
    future_only = [text for text in FORMULAS if not set("YOHS") & set(text)]
    assert [text for text in future_only if disagreement(compile_ltlf(text), spot_dfa(text))] == []
