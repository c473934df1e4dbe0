"""Probabilities by sampled rollouts: counts, intervals, verdicts."""

import random

import pytest

from safe_rl.automata import compile_ltlf
from safe_rl.errors import ConfigurationError
from safe_rl.logic import holds
from safe_rl.logic.ctl import Chance
from safe_rl.model_checking import count_branches, judge, kripke, merge_rollouts, parse_ctl
from tests.automata.test_random_formulas import random_formula
from tests.model_checking.random_models import random_letters


def test_counts_are_those_of_the_rollouts():
    for seed in range(200):
        rng = random.Random(f"samples {seed}")
        rollouts = [random_letters(rng, rng.randint(1, 5), "ab") for _ in range(rng.randint(1, 12))]
        formula = random_formula(rng, ["a", "b"], rng.randint(1, 4), 0.2)
        found = count_branches(merge_rollouts(rollouts, ["a", "b"]), formula)
        expected = sum(holds(formula, rollout) for rollout in rollouts)
        assert (found.satisfied, found.violated) == (expected, len(rollouts) - expected)
        assert found.unknown == 0 and found.rollouts == len(rollouts)
        assert found.low <= expected / len(rollouts) <= found.high
        assert (found.example is None) == (expected == len(rollouts))


def test_an_example_is_a_branch_that_violates():
    tree = merge_rollouts([[{"a"}], [{"a"}, set()]])
    found = count_branches(tree, "G a")
    assert [tree.letter(s) for s in tree.path_to(found.example)] == [{"a"}, set()]


def test_what_was_cut_off_counts_where_nothing_can_change_it():
    rollouts = [[{"a"}, {"b"}], [{"a"}, {"a"}], [{"a"}, set()], [{"a"}, {"a"}]]
    tree = merge_rollouts(rollouts, ["a", "b"], truncated=[True, True, True, False])
    found = count_branches(tree, "a U b")
    assert (found.satisfied, found.violated, found.unknown) == (1, 2, 1)
    ended = count_branches(merge_rollouts(rollouts, ["a", "b"]), "a U b")
    assert (ended.satisfied, ended.violated, ended.unknown) == (1, 3, 0)
    # The interval covers both fates of what is unknown.
    both = [
        count_branches(merge_rollouts([*rollouts[:1] * k, *rollouts[2:3] * (4 - k)]), "a U b")
        for k in (1, 2)
    ]
    assert (found.low, found.high) == (both[0].low, both[1].high)


@pytest.mark.parametrize(
    ("relation", "verdicts"),
    [
        (">=", ("holds", "undecided", "fails")),
        (">", ("holds", "undecided", "fails")),
        ("<=", ("fails", "undecided", "holds")),
        ("<", ("fails", "undecided", "holds")),
    ],
)
def test_verdicts_follow_the_interval(relation, verdicts):
    tree = merge_rollouts([[{"b"}]] * 45 + [[set()]] * 5)  # between 0.782 and 0.967
    for bound, verdict in zip((0.7, 0.9, 0.99), verdicts, strict=True):
        assert judge(tree, f"P{relation}{bound} [F b]").verdict == verdict
        (claim,) = judge(tree, f"P{relation}{bound} [F b]").claims
        assert claim.verdict == claim.count.verdict(Chance(relation, bound)) == verdict


def test_samples_never_show_certainty():
    tree = merge_rollouts([[{"ok"}]] * 1000)
    assert judge(tree, "P>=1 [G ok]").verdict == "undecided"
    assert judge(tree, "P>0.99 [G ok]").verdict == "holds"
    assert judge(tree, "P>0 [F !ok]").verdict == "undecided"
    assert judge(tree, "P<=0.01 [F !ok]").verdict == "holds"


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("P>=0.7 [F b] & P<=0.9 [F b]", "undecided"),
        ("P>=0.7 [F b] & P>=0.99 [F b]", "fails"),
        ("P>=0.9 [F b] & P>=0.99 [F b]", "fails"),
        ("P>=0.9 [F b] | P>=0.7 [F b]", "holds"),
        ("!P>=0.9 [F b]", "undecided"),
        ("!P>=0.99 [F b]", "holds"),
        ("P>=0.99 [F b] -> P>=0.9 [F b]", "holds"),
        ("P>=0.9 [F b] -> P>=0.99 [F b]", "undecided"),
        ("P>=0.7 [F b] <-> EF b", "holds"),
        ("P>=0.9 [F b] <-> EF b", "undecided"),
        ("P>=0.99 [F b] ^ EF b", "holds"),
        ("P>=0.7 [F b] & AF b", "fails"),
        ("EF b", "holds"),
        ("AF b", "fails"),
    ],
)
def test_combinations_in_three_values(formula, verdict):
    tree = merge_rollouts([[set(), {"b"}]] * 45 + [[set(), set()]] * 5, ["b"])
    assert judge(tree, formula).verdict == verdict


def test_bounds_and_state_formulas_inside():
    tree = merge_rollouts([[set(), {"b"}, set()]] * 30 + [[set(), set(), {"b"}]] * 30)
    (claim,) = judge(tree, "P>=0.9 [F[<=1] b]").claims
    assert claim.count.satisfied == 30
    (claim,) = judge(tree, "P>=0.9 [G<=1 !b]").claims
    assert claim.count.satisfied == 30
    (claim,) = judge(tree, "P>=0.9 [(!b) U<=2 b & !EX true]").claims
    assert str(claim.count.formula) == '!b U[0,2] b & !"[EX true]"' and claim.count.satisfied == 0
    (claim,) = judge(tree, "P>=0.9 [!b U<=2 (b & !EX true)]").claims
    assert claim.count.satisfied == 30
    path = parse_ctl("P>=0 [!b U<=2 (b & !EX true)]").args[0]
    assert count_branches(tree, path) == claim.count


def test_bounds_beyond_the_branches_cost_nothing():
    """Counts are those of the formula as it stands, cut or not, with bounds around the depth."""
    rng = random.Random(0)
    rollouts = [random_letters(rng, rng.randint(1, 4), "ab") for _ in range(40)]
    cut = [rng.random() < 0.5 for _ in rollouts]
    tree = merge_rollouts(rollouts, ["a", "b"], truncated=cut)
    for low in range(6):
        for high in [None, *range(low, 7)]:
            interval = f"[{low},{'' if high is None else high}]"
            for text in (f"F{interval} a", f"G(a -> F{interval} b)", f"a U{interval} b"):
                found = count_branches(tree, text)
                dfa = compile_ltlf(text)
                satisfied = violated = 0
                for rollout, off in zip(rollouts, cut, strict=True):
                    state = dfa.run(rollout)[-1]
                    satisfied += bool(dfa.safe[state] if off else dfa.accepting[state])
                    violated += bool(dfa.doomed[state] if off else not dfa.accepting[state])
                assert (found.satisfied, found.violated) == (satisfied, violated), text
        assert count_branches(tree, f"X[{low + 1}] a").rollouts == 40
    assert judge(tree, "P>0.01 [F<=1000000 a]").verdict == "holds"
    assert count_branches(tree, "X[1000000] a & G[50000,60000] b").satisfied == 0


def test_errors():
    tree = merge_rollouts([[{"b"}]])
    for formula in ("AG P>=0.5 [F b]", "P>=0.5 [F P>=0.5 [F b]]", "P>=0.5 [F b & !P>0 [X b]]"):
        with pytest.raises(ConfigurationError, match="can only be judged for whole rollouts"):
            judge(tree, formula)
    with pytest.raises(ConfigurationError, match="but this is a Kripke; merge rollouts with"):
        count_branches(kripke([[]], [{"b"}]), "F b")
    with pytest.raises(ConfigurationError, match="confidence must lie between 0 and 1"):
        count_branches(tree, "F b", confidence=95)
