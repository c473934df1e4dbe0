"""Exports say what the automaton is, and other tools can read them."""

import itertools
import json
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from lark import Lark, Transformer

from safe_rl.automata import compile_ltlf
from safe_rl.automata.export import (
    TABLE_HEADER,
    from_json,
    guard_text,
    state_kind,
    table_rows,
    to_dot,
    to_hoa,
    to_json,
    to_table,
)
from safe_rl.automata.guards import guards
from safe_rl.errors import SpecificationError
from safe_rl.logic import holds
from tests.logic.strategies import formulas

EXAMPLES = (
    "true",
    "false",
    "G(a -> X b)",
    "F(a & X b) & G !c",
    'G("two words" -> on(milk,table) W !done)',
    "a ^ b ^ c ^ d ^ e ^ f",
)

# The grammar of HOA v1, section by section, for state-based acceptance and explicit labels.
HOA = r"""
start: "HOA:" "v1" header* "--BODY--" state* "--END--"
?header: "States:" INT -> states
    | "Start:" INT -> initial
    | "AP:" INT STRING* -> propositions
    | "acc-name:" "Buchi" -> name_of_acceptance
    | "Acceptance:" INT acceptance -> acceptance
    | "properties:" WORD+ -> properties
    | "tool:" STRING+ -> tool
    | "name:" STRING -> name
    | HEADERNAME (INT | STRING | WORD)* -> other
?acceptance: "Inf" "(" INT ")"
state: "State:" INT STRING? sets? edge*
sets: "{" INT* "}"
edge: "[" label "]" INT
?label: conjunction ("|" conjunction)* -> disjunction
?conjunction: literal ("&" literal)* -> conjunction
?literal: "t" -> true | "f" -> false | INT -> proposition
    | "!" literal -> negation | "(" label ")"
HEADERNAME.-1: /[a-zA-Z_][0-9a-zA-Z_-]*:/
WORD.-1: /[a-zA-Z_][0-9a-zA-Z_-]*/
INT: /0|[1-9][0-9]*/
STRING: /"(\\.|[^\\"])*"/
%ignore /\s+/
%ignore /\/\*((?!\*\/).)*\*\//
"""


class _Hoa(Transformer):
    """Labels become predicates over the set of true proposition numbers."""

    def true(self, _):
        return lambda _letter: True

    def false(self, _):
        return lambda _letter: False

    def proposition(self, children):
        return lambda letter: int(children[0]) in letter

    def negation(self, children):
        return lambda letter: not children[0](letter)

    def conjunction(self, children):
        return lambda letter: all(child(letter) for child in children)

    def disjunction(self, children):
        return lambda letter: any(child(letter) for child in children)

    def edge(self, children):
        return children[0], int(children[1])

    def sets(self, children):
        return {int(child) for child in children}

    def state(self, children):
        accepting = [child for child in children if isinstance(child, set)]
        return int(children[0]), accepting == [{0}], [c for c in children if isinstance(c, tuple)]


def read_hoa(text):
    """Header fields by name, and states: number to (accepting, [(predicate, next)])."""
    tree = Lark(HOA, parser="lalr", lexer="contextual").parse(text)
    tree = _Hoa().transform(tree)
    header = {child.data: child.children for child in tree.children if hasattr(child, "data")}
    states = {c[0]: (c[1], c[2]) for c in tree.children if isinstance(c, tuple)}
    return header, states


def all_letters(atoms):
    for values in itertools.product((False, True), repeat=len(atoms)):
        yield {atom for atom, value in zip(atoms, values, strict=True) if value}


@pytest.mark.parametrize("text", EXAMPLES)
def test_hoa_parses_and_is_the_same_automaton(text):
    dfa = compile_ltlf(text)
    header, states = read_hoa(to_hoa(dfa))
    assert int(header["states"][0]) == dfa.num_states == len(states)
    assert int(header["initial"][0]) == dfa.initial
    count, *names = header["propositions"]
    assert int(count) == len(names) == len(dfa.atoms)
    assert [json.loads(name) for name in names] == list(dfa.atoms)
    assert {"deterministic", "complete", "state-acc"} <= set(header["properties"])
    for state, (accepting, edges) in states.items():
        assert accepting == dfa.is_accepting(state)
        for letter in all_letters(dfa.atoms):
            numbers = {dfa.atoms.index(atom) for atom in letter}
            taken = [target for predicate, target in edges if predicate(numbers)]
            assert taken == [dfa.step(state, letter)]


def test_hoa_says_how_finite_words_are_accepted():
    text = to_hoa(compile_ltlf("F a"))
    assert "/* a finite word is accepted if its run ends in a state of set 0 */" in text
    assert text.startswith("HOA: v1\n")
    assert text.endswith("\n--END--")


@pytest.mark.parametrize("text", EXAMPLES)
def test_guards_are_formulas_over_the_atoms(text):
    """Printed guards are read back by the formula parser, are disjoint and cover each letter."""
    dfa = compile_ltlf(text)
    for state in range(dfa.num_states):
        edges = {t: guard_text(g, dfa.atoms) for t, g in guards(dfa, state).items()}
        for letter in all_letters(dfa.atoms):
            taken = [target for target, guard in edges.items() if holds(guard, [letter])]
            assert taken == [dfa.step(state, letter)]


@given(formulas(("a", "b", "c"), leaves=7))
@settings(max_examples=100, deadline=None)
def test_guards_of_random_automata(formula):
    dfa = compile_ltlf(formula)
    for state in range(dfa.num_states):
        edges = {t: guard_text(g, dfa.atoms) for t, g in guards(dfa, state).items()}
        for letter in all_letters(dfa.atoms):
            taken = [target for target, guard in edges.items() if holds(guard, [letter])]
            assert taken == [dfa.step(state, letter)]


@pytest.mark.parametrize(
    ("formula", "guard"),
    [
        ("a & (b | c)", "a & b | a & c"),
        ("(a & b) | (!a & c) | (b & c)", "a & b | !a & c"),  # the last disjunct is redundant
        ("!(a & b & c)", "!a | !b | !c"),
        ("!(a & b)", "!a | !b"),
        ("!a", "!a"),
        ("(a | b | c) & (d | e | f)", "!(!a & !b & !c | !d & !e & !f)"),
        ("a ^ b", "a & !b | !a & b"),
    ],
)
def test_guards_are_short(formula, guard):
    dfa = compile_ltlf(formula)
    (target,) = {dfa.step(dfa.initial, letter) for letter in all_letters(dfa.atoms)} - {
        state for state in range(dfa.num_states) if dfa.is_doomed(state)
    }
    assert guard_text(guards(dfa, dfa.initial)[target], dfa.atoms) == guard


def test_a_guard_without_a_small_cover_is_nested():
    names = [f"p{i}" for i in range(16)]
    dfa = compile_ltlf(" ^ ".join(names))
    safe = next(state for state in range(dfa.num_states) if dfa.is_safe(state))
    assert guard_text(guards(dfa, dfa.initial)[safe], dfa.atoms) == " ^ ".join(names)


def test_a_wide_invariant_has_a_short_guard():
    names = [f"p{i}" for i in range(40)]
    dfa = compile_ltlf(f"G({' & '.join(names)})")
    texts = [guard_text(g, dfa.atoms) for g in guards(dfa, dfa.initial).values()]
    assert texts == [" & ".join(names), f"!({' & '.join(names)})"]


@pytest.mark.parametrize("text", EXAMPLES)
def test_json_round_trip(text):
    dfa = compile_ltlf(text)
    again = from_json(to_json(dfa))
    assert again == dfa
    assert again.formula is dfa.formula
    assert from_json(to_json(dfa, indent=None)) == dfa


@given(formulas())
@settings(max_examples=50, deadline=None)
def test_json_round_trip_of_random_formulas(formula):
    dfa = compile_ltlf(formula)
    assert from_json(to_json(dfa)) == dfa


def test_json_repeats_what_readers_want():
    states = json.loads(to_json(compile_ltlf("G !hit")))["states"]
    assert states == [
        {
            "kind": "initial, accepting",
            "edges": [{"guard": "!hit", "next": 0}, {"guard": "hit", "next": 1}],
        },
        {"kind": "doomed", "edges": [{"guard": "true", "next": 1}]},
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.update(format="dfa"), "lacks format 'safe-rl-dfa'"),
        (lambda c: c.update(version=99), "version 99; this release reads version 1"),
        (lambda c: c.pop("roots"), "'roots' must hold values of type int, but is None"),
        (lambda c: c.update(accepting=[1, 0, 0]), "'accepting' must hold values of type bool"),
        (lambda c: c.update(initial=7), "initial state 7 is not among 3 states"),
        (lambda c: c.update(initial="0"), "'initial' must hold values of type int"),
        (lambda c: c["accepting"].pop(), "3 roots and 2 acceptances"),
        (lambda c: c["low"].pop(), "differ in length"),
        (lambda c: c["high"].__setitem__(0, -9), "node 0 leads to -9"),
        (lambda c: c["high"].__setitem__(0, 0), "node 0 leads to 0"),
        (lambda c: c["var"].__setitem__(0, 5), "node 0 tests atom 5 of 2"),
        (lambda c: c["roots"].__setitem__(0, 44), "state 0 leads to 44"),
        (lambda c: c.update(var=[0] * len(c["var"])), "test atoms out of order"),
    ],
)
def test_a_damaged_json_is_one_clear_error(change, says):
    content = json.loads(to_json(compile_ltlf("a U b")))
    change(content)
    with pytest.raises(SpecificationError, match=says):
        from_json(json.dumps(content))


def test_text_that_is_not_json():
    with pytest.raises(SpecificationError, match="not JSON"):
        from_json("digraph {}")


def test_table():
    dfa = compile_ltlf("G(a -> X b)")
    lines = to_table(dfa).splitlines()
    assert lines[0].split() == list(TABLE_HEADER)
    rows = table_rows(dfa)
    assert len(lines) == 1 + len(rows)
    assert rows[:2] == [("0", "initial, accepting", "!a", "0"), ("", "", "a", "1")]


def test_kinds_of_states():
    dfa = compile_ltlf("a U b")
    kinds = {state_kind(dfa, state) for state in range(dfa.num_states)}
    assert kinds == {"initial, rejecting", "safe", "doomed"}
    assert state_kind(compile_ltlf("true"), 0) == "initial, safe"


def test_dot_merges_edges_and_tells_states_apart():
    dfa = compile_ltlf("(a | b) U c")
    text = to_dot(dfa)
    edges = re.findall(r"^  (\d+) -> (\d+) ", text, re.MULTILINE)
    assert len(edges) == len(set(edges)) == sum(len(guards(dfa, s)) for s in range(3))
    looks = dict(re.findall(r"^  (\d+) \[(.*)\];$", text, re.MULTILINE))
    assert len(set(re.sub(r'label="\d+"', "", look) for look in looks.values())) == 3
    assert 'label="(a | b) U c"' in text
    assert 'label="grasp"' in to_dot(dfa, name="grasp")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("text", EXAMPLES)
def test_graphviz_reads_the_dot(text):
    dfa = compile_ltlf(text)
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=to_dot(dfa), capture_output=True, text=True, check=True
    )
    nodes = [line for line in drawn.stdout.splitlines() if line.startswith("node ")]
    assert len(nodes) == dfa.num_states + 1
    assert drawn.stderr == ""
