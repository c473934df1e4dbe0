"""The checker against the definition by paths, and against the textbook's fixpoints."""

import random

import pytest

from safe_rl.errors import ConfigurationError, FormulaSyntaxError
from safe_rl.logic import Op
from safe_rl.logic.ctl import subformulas
from safe_rl.logic.ctl_semantics import holds_ctl
from safe_rl.model_checking import (
    Checker,
    attractors,
    check,
    kripke,
    merge_rollouts,
    parse_ctl,
    tree_from_parents,
)
from safe_rl.model_checking.textbook import satisfying_by_fixpoints
from tests.model_checking.random_models import (
    children,
    random_ctl,
    random_graph,
    random_letters,
    random_parents,
)

LEAVES = ("weak", "stuttering")


@pytest.mark.parametrize("leaves", LEAVES)
def test_small_trees_by_every_path(leaves):
    """The definition by brute force: every branch of the tree, read by LTLf's reference."""
    for seed in range(600):
        rng = random.Random(f"tree {seed}")
        parents, letters = random_parents(rng)
        labels = [[name in letter for name in "pq"] for letter in letters]
        tree, number = tree_from_parents(parents, labels, ["p", "q"])
        formula = random_ctl(rng, rng.randint(1, 3))
        below = children(parents)
        expected = [
            holds_ctl(formula, below, letters, state, leaves=leaves)
            for state in range(len(parents))
        ]
        assert Checker(tree, leaves).satisfying(formula)[number].tolist() == expected, formula
        as_graph = kripke(below, letters, ["p", "q"])
        assert Checker(as_graph, leaves).satisfying(formula).tolist() == expected, formula


@pytest.mark.parametrize("leaves", LEAVES)
def test_small_graphs_by_every_path(leaves):
    for seed in range(400):
        rng = random.Random(f"graph {seed}")
        successors, letters = random_graph(rng, 5)
        formula = random_ctl(rng, rng.randint(1, 3))
        made = kripke(successors, letters, ["p", "q"])
        expected = [
            holds_ctl(formula, successors, letters, state, leaves=leaves)
            for state in range(len(letters))
        ]
        assert Checker(made, leaves).satisfying(formula).tolist() == expected, formula
        assert satisfying_by_fixpoints(made, formula, leaves).tolist() == expected, formula


@pytest.mark.parametrize("wide", [1, 64])
@pytest.mark.parametrize("leaves", LEAVES)
def test_larger_graphs_by_fixpoints(leaves, wide, monkeypatch):
    """Wide and thin layers give the same; so do a tree and the same tree as a graph."""
    monkeypatch.setattr(attractors, "WIDE", wide)
    for seed in range(60):
        rng = random.Random(f"larger {seed}")
        count = rng.randint(50, 300)
        successors = [
            rng.sample(range(count), rng.choice([0, 1, 1, 1, 2, 3])) for _ in range(count)
        ]
        letters = random_letters(rng, count)
        made = kripke(successors, letters, ["p", "q"])
        formula = random_ctl(rng, 3)
        expected = satisfying_by_fixpoints(made, formula, leaves)
        assert (Checker(made, leaves).satisfying(formula) == expected).all(), formula
        parents, letters = random_parents(rng, count)
        labels = [[name in letter for name in "pq"] for letter in letters]
        tree, number = tree_from_parents(parents, labels, ["p", "q"])
        as_graph = kripke(children(parents), letters, ["p", "q"])
        found = Checker(tree, leaves).satisfying(formula)[number]
        assert (found == Checker(as_graph, leaves).satisfying(formula)).all(), formula
        assert (found == satisfying_by_fixpoints(as_graph, formula, leaves)).all(), formula


def test_edges_given_twice_change_nothing():
    once = kripke([[1, 2], [], [2]], [{"p"}, {"q"}, {"p"}])
    twice = kripke([[1, 1, 2, 2], [], [2, 2, 2]], [{"p"}, {"q"}, {"p"}])
    for text in ("AF q", "EG p", "A[p U q]", "AX p", "EF[1,1] q"):
        found = [Checker(made).satisfying(text).tolist() for made in (once, twice)]
        assert found[0] == found[1], text


def test_the_two_readings_of_a_leaf_differ_in_x_and_lower_bounds_only():
    compared = 0
    for seed in range(400):
        rng = random.Random(seed)
        successors, letters = random_graph(rng)
        formula = random_ctl(rng, 3)
        counts_steps = any(
            part.op is Op.NEXT or (part.bounds or (0, None))[0] for part in subformulas(formula)
        )
        if not counts_steps:
            made = kripke(successors, letters, ["p", "q"])
            found = [Checker(made, leaves).satisfying(formula).tolist() for leaves in LEAVES]
            assert found[0] == found[1], formula
            compared += 1
    assert compared > 100


def test_every_initial_state_counts():
    made = kripke([[], []], [{"p"}, set()], initial=[0, 1])
    found = check(made, "p")
    assert not found.holds and found.failing == (1,) and found.satisfying.tolist() == [True, False]
    assert check(made, parse_ctl("p | !p")).holds


def test_errors():
    tree = merge_rollouts([[{"p"}]])
    with pytest.raises(ConfigurationError, match="about probabilities, which this structure"):
        check(tree, "P>=0.5 [F p]")
    with pytest.raises(ConfigurationError, match="leaves must be 'weak' or 'stuttering'"):
        check(tree, "AG p", leaves="strong")
    with pytest.raises(ConfigurationError, match="expected a CTL formula or its text"):
        check(tree, parse_ctl("AG p").args[0])
    with pytest.raises(FormulaSyntaxError, match="needs a path quantifier"):
        check(tree, "G p")
