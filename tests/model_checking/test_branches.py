"""LTLf on branches, by the product with its automaton, against every branch one by one."""

import random

import numpy as np
import pytest

from safe_rl.automata import compile_ltlf
from safe_rl.errors import ConfigurationError, UnknownPropositionError
from safe_rl.logic import holds, parse
from safe_rl.model_checking import branches as branches_module
from safe_rl.model_checking import (
    check,
    check_branches,
    kripke,
    merge_arrays,
    merge_rollouts,
    product,
)
from safe_rl.model_checking.branches import automaton_states
from tests.automata.test_random_formulas import random_formula
from tests.model_checking.random_models import random_letters


def all_branches(successors, state=0):
    if not successors[state]:
        yield [state]
    for after in successors[state]:
        for rest in all_branches(successors, after):
            yield [state, *rest]


def test_every_and_some_branch():
    for seed in range(400):
        rng = random.Random(f"branches {seed}")
        count = rng.randint(1, 8)
        successors = [
            sorted(rng.sample(range(s + 1, count), rng.randint(0, min(2, count - 1 - s))))
            for s in range(count)
        ]
        letters = random_letters(rng, count, "ab")
        formula = random_formula(rng, ["a", "b"], rng.randint(1, 4), 0.2)
        traces = [[letters[s] for s in branch] for branch in all_branches(successors)]
        verdicts = [holds(formula, trace) for trace in traces]
        graph = kripke(successors, letters, ["a", "b"])
        tree = merge_rollouts(traces, ["a", "b"])
        for structure in (graph, tree):
            every = check_branches(structure, formula, "A")
            some = check_branches(structure, formula, "E")
            assert (every.holds, some.holds) == (all(verdicts), any(verdicts))
            for found, shown in ((every, not every.holds), (some, some.holds)):
                assert (found.path is not None) == shown
                if found.path is not None:
                    trace = [structure.letter(s) for s in found.path.states]
                    assert trace in traces and holds(formula, trace) == found.holds


@pytest.mark.parametrize("wide", [1, 10**9])
def test_levels_and_single_steps_agree(wide, monkeypatch):
    monkeypatch.setattr(branches_module, "_WIDE", wide)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 12, 200)
    labels = rng.random((lengths.sum(), 3)) < 0.4
    tree = merge_arrays(labels, lengths, list("abc"))
    dfa = compile_ltlf("G(a -> F[0,3] (b | X c))")
    found = automaton_states(tree, dfa)
    for state in range(0, tree.num_states, 7):
        trace = [tree.letter(s) for s in tree.path_to(state)]
        assert found[state] == dfa.run(trace)[-1]


def test_more_atoms_than_a_table_has_columns():
    names = [f"p{i}" for i in range(20)]
    formula = parse(f"G({' & '.join(names)})")
    assert check_branches(merge_rollouts([[set(names)] * 3], names), formula).holds
    assert not check_branches(merge_rollouts([[set(names), set(names[1:])]], names), formula).holds


def test_formulas_without_atoms():
    tree = merge_rollouts([[set()], [{"a"}, set()]])
    assert check_branches(tree, "F last").holds
    assert not check_branches(tree, "X true").holds and check_branches(tree, "X true", "E").holds


def test_a_product_can_be_asked_in_ctl():
    lamp = kripke([[0, 1], [0, 1]], [set(), {"on"}])
    pairs = product(lamp, "G(on -> WX on)")
    assert pairs.structure.propositions == ("on", "accepting", "doomed")
    assert check(pairs.structure, "AG(doomed -> AG doomed) & EG accepting").holds
    found = check(pairs.structure, "AG !doomed").evidence()
    assert [pairs.states[pair] for pair in found.path.states] == [0, 1, 0]
    for pair in range(pairs.structure.num_states):
        assert pairs.structure.letter(pair) - {"accepting", "doomed"} == lamp.letter(
            pairs.states[pair]
        )
        accepts = pairs.dfa.accepting[pairs.automaton[pair]]
        assert ("accepting" in pairs.structure.letter(pair)) == accepts
    with pytest.raises(ConfigurationError, match="has a proposition 'on' already"):
        product(lamp, "G on", doomed="on")


def test_errors():
    loop = kripke([[1], [2], [1]], [{"a"}] * 3)
    with pytest.raises(ConfigurationError, match=r"goes on for ever \(1 -> 2 -> 1\)"):
        check_branches(loop, "G a")
    tree = merge_rollouts([[{"a"}]])
    with pytest.raises(UnknownPropositionError, match="'aa'; did you mean 'a'"):
        check_branches(tree, "G aa")
    with pytest.raises(UnknownPropositionError, match="unknown proposition 'b'"):
        check_branches(tree, parse("G b"))
    with pytest.raises(ConfigurationError, match="the quantifier must be 'A' or 'E', but is 'all'"):
        check_branches(tree, "G a", "all")
