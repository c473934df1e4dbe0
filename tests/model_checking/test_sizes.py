"""Large structures: no recursion, and memory within what the documentation states."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from safe_rl.model_checking import (
    check,
    check_branches,
    confirms,
    count_branches,
    kripke_from_edges,
    merge_arrays,
    tree_from_parents,
)

STEPS = 100_000


def chain(closed: bool):
    """``p`` at the first step and ``q`` at the last, as the end of a graph or of a tree."""
    labels = np.zeros((STEPS, 2), bool)
    labels[0, 0] = True
    labels[-1, 1] = closed
    edges = np.stack([np.arange(STEPS - 1), np.arange(1, STEPS)], axis=1)
    tree = merge_arrays(labels, [STEPS], ["p", "q"])
    return tree, kripke_from_edges(edges, labels, ["p", "q"])


@pytest.mark.parametrize("kind", [0, 1], ids=["tree", "graph"])
def test_a_chain_of_100_000_steps(kind):
    answered, open_ended = chain(True)[kind], chain(False)[kind]
    for formula in ("AG(p -> AF q)", "E[!q U q]", "AF[<=99999] q", "A[!q W q] & EF EX q"):
        assert check(answered, formula).holds, formula
    found = check(open_ended, "AG(p -> AF q)")
    shown = found.evidence()
    assert not found.holds and shown.longest() == tuple(range(STEPS))
    assert confirms(open_ended, found.formula, shown, holds=False)
    witness = check(answered, "EF q").evidence()
    assert witness.path.states[-1] == STEPS - 1
    assert confirms(answered, witness.formula, witness, holds=True)
    assert check_branches(answered, "G(p -> F q)").holds
    assert len(check_branches(open_ended, "G(p -> F q)").path.states) == STEPS


def test_a_long_loop():
    edges = np.stack([np.arange(STEPS), (np.arange(STEPS) + 1) % STEPS], axis=1)
    loop = kripke_from_edges(edges, np.ones((STEPS, 1), bool), ["p"])
    found = check(loop, "AF !p")
    shown = found.evidence()
    assert not found.holds and (len(shown.path.states), shown.path.loops_to) == (STEPS, 0)
    assert confirms(loop, found.formula, shown, holds=False)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["bushy", "deep"])
def test_a_tree_of_a_million_states(shape):
    """docs/model-checking.md: 40 bytes a state to keep, 100 more to check a formula."""
    count = 1_000_000
    rng = np.random.default_rng(0)
    step = (np.arange(count) - 1) // 3 if shape == "bushy" else np.arange(count) - 1
    parents = np.where(rng.random(count) < 0.01, step // 2, step)
    parents[0] = -1
    labels = rng.random((count, 2)) < (0.05, 0.3)
    tree, _ = tree_from_parents(parents, labels, ["p", "q"])
    arrays = [getattr(tree, field.name) for field in fields(tree) if field.name != "propositions"]
    assert sum(array.nbytes for array in arrays) <= 40 * count
    tracemalloc.start()
    try:
        found = check(tree, "AG(p -> AF q)")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 100 * count
    # A path that waits for q in vain ends in a leaf; each p above it without a q between fails.
    shown = found.evidence()
    assert not found.holds and confirms(tree, found.formula, shown, holds=False)
    waiting = shown.longest()
    assert tree.leaves[waiting[-1]]
    last_p = max(i for i, state in enumerate(waiting) if labels_of(tree, state, "p"))
    assert not any(labels_of(tree, state, "q") for state in waiting[last_p:])
    counted = count_branches(tree, "G(p -> F q)")
    assert counted.rollouts == int(tree.leaves.sum()) and counted.violated > 0


def labels_of(tree, state, name):
    return name in tree.letter(state)
