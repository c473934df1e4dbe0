"""Rules: one least model, whatever the order, and the same as the stable model found by search."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from safe_rl.errors import OntologyError
from safe_rl.grounding.ontology import Reason, Rule, Trees
from safe_rl.grounding.ontology.rules import close, stratify

NODES = ("a", "b", "c", "d", "e", "f")


@st.composite
def trees_and_rules(draw, negation: bool = True):
    trees = Trees()
    for i, name in enumerate(NODES):
        trees = trees.grown(name, draw(st.sampled_from(("kind", "hazard", *NODES[:i]))))
    some = st.lists(st.sampled_from(NODES), min_size=1, max_size=2, unique=True)
    rules = []
    for i in range(draw(st.integers(0, 5))):
        unless = draw(st.just([]) | some) if negation else []
        rules.append(Rule(f"r{i}", tuple(draw(some)), tuple(unless), tuple(draw(some))))
    return trees, rules


def _strata(rules, trees):
    try:
        return stratify(rules, trees)
    except OntologyError:
        assume(False)


def _least_model(facts, positive, trees):
    """The least set with the facts that is closed under (when, then) pairs and hypernyms."""
    model = set(facts)
    while True:
        more = {above for name in model for above in trees.upward(name)}
        more |= {head for when, then in positive if when <= model for head in then}
        if more <= model:
            return frozenset(model)
        model |= more


def _stable_models(facts, rules, trees):
    """Gelfond and Lifschitz: the sets that are the least model of their own reduct."""
    for size in range(len(NODES) + 1):
        for guess in map(set, combinations(NODES, size)):
            reduct = [(set(r.when), r.then) for r in rules if not guess & set(r.unless)]
            if _least_model(facts, reduct, trees) == guess:
                yield frozenset(guess)


@settings(max_examples=150, deadline=None)
@given(trees_and_rules(), st.sets(st.sampled_from(NODES), max_size=3))
def test_the_closure_is_the_only_stable_model(case, facts):
    trees, rules = case
    held = close(facts, _strata(rules, trees), trees)
    assert list(_stable_models(facts, rules, trees)) == [frozenset(held)]


@settings(max_examples=60, deadline=None)
@given(trees_and_rules(), st.lists(st.sampled_from(NODES), unique=True), st.randoms())
def test_the_order_of_rules_and_nodes_means_nothing(case, facts, random):
    trees, rules = case
    expected = close(facts, _strata(rules, trees), trees)
    random.shuffle(rules)
    random.shuffle(facts)
    assert close(facts, stratify(rules, trees), trees) == expected


@settings(max_examples=60, deadline=None)
@given(
    trees_and_rules(negation=False),
    st.sets(st.sampled_from(NODES)),
    st.sets(st.sampled_from(NODES)),
)
def test_without_unless_more_facts_never_take_a_property_away(case, facts, more):
    trees, rules = case
    strata = stratify(rules, trees)
    assert close(facts, strata, trees).keys() <= close(facts | more, strata, trees).keys()


@settings(max_examples=60, deadline=None)
@given(trees_and_rules(), st.sets(st.sampled_from(NODES)))
def test_every_reason_holds(case, facts):
    trees, rules = case
    held = close(facts, _strata(rules, trees), trees)
    for prop, why in held.items():
        assert why.path[-1] == prop
        assert list(why.path) == list(trees.upward(why.path[0]))[: len(why.path)]
        if why.rule is None:
            assert why.path[0] in facts
        else:
            assert why.path[0] in why.rule.then
            assert held.keys() >= set(why.rule.when)
            assert held.keys().isdisjoint(why.rule.unless)


MEAT = Trees().grown("food", "kind").grown("meat", "food").grown("cured", "kind")
MEAT = MEAT.grown("raw", "hazard").grown("ready", "affordance")


def test_unless_waits_for_what_other_rules_give():
    rules = [
        Rule("ready_unless_raw", ("food",), ("raw",), ("ready",)),
        Rule("uncooked_meat_is_raw", ("meat",), ("cured",), ("raw",)),
    ]
    strata = stratify(rules, MEAT)
    assert [[rule.name for rule in stratum] for stratum in strata] == [
        [],
        ["uncooked_meat_is_raw"],
        ["ready_unless_raw"],
    ]
    assert close(["meat"], strata, MEAT) == {
        "meat": Reason(("meat",)),
        "food": Reason(("meat", "food")),
        "raw": Reason(("raw",), rules[1]),
    }
    assert "ready" in close(["meat", "cured"], strata, MEAT)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([("x", "food", "ready", "ready")], r"rule 'x', unless: 'ready' depends .* \(ready\)"),
        (
            [("x", "food", "raw", "ready"), ("y", "ready", "", "raw")],
            r"rule 'x', unless: 'raw' depends .* \(ready -> raw\)",
        ),
        ([("x", "cured", "food", "meat")], r"'food' depends .* \(meat -> food\)"),
        ([("x", "food", "", "rw")], r"rule 'x', then: there is no property 'rw'; did you mean"),
        ([("x", "kind", "", "raw")], "rule 'x', if: there is no property 'kind'"),
        ([("x", "food", "", "raw"), ("x", "meat", "", "raw")], "rule 'x' is given twice"),
    ],
)
def test_refused(rules, words):
    made = [Rule(n, (i,), tuple(filter(None, [u])), (t,)) for n, i, u, t in rules]
    with pytest.raises(OntologyError, match=words):
        stratify(made, MEAT)
