"""Trees: numbering, merging of rollouts by prefix, counts."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.model_checking import merge_arrays, merge_rollouts, tree_from_parents
from tests.model_checking.random_models import children, random_parents

LETTERS = st.frozensets(st.sampled_from("ab"))
ROLLOUTS = st.lists(st.lists(LETTERS, min_size=1, max_size=5), min_size=1, max_size=8)


def test_any_order_of_parents_is_numbered_depth_first():
    for seed in range(300):
        rng = random.Random(seed)
        parents, letters = random_parents(rng, 12)
        labels = [[name in letter for name in "pq"] for letter in letters]
        tree, number = tree_from_parents(parents, labels, ["p", "q"])
        assert sorted(number.tolist()) == list(range(len(parents)))
        below = children(parents)
        for state, parent in enumerate(parents):
            there = number[state]
            assert tree.parents[there] == (number[parent] if parent >= 0 else -1)
            assert set(tree.successors(there)) == {number[c] for c in below[state]}
            assert tree.letter(there) == letters[state]
            assert tree.depths[there] == len(tree.path_to(there)) - 1
        for state in range(tree.num_states):  # depth first: a subtree is a run of numbers
            inside = [s for s in range(tree.num_states) if state in tree.path_to(s)]
            assert inside == list(range(state, state + tree.sizes[state]))
        assert tree.counts[tree.leaves].tolist() == [1] * int(tree.leaves.sum())


def test_a_forest_and_given_counts():
    tree, number = tree_from_parents([-1, 0, -1], [[1], [0], [1]], ["p"], counts=[0, 3, 2])
    assert tree.initial.tolist() == [0, 2] and number.tolist() == [0, 1, 2]
    assert tree.counts.tolist() == [3, 3, 2] and tree.num_rollouts == 5


@pytest.mark.parametrize(
    ("parents", "counts", "message"),
    [
        ([], None, "the structure has no states"),
        ([0], None, "no state is initial"),
        ([-1, 5], None, "the parent of state 1 is 5; parents are 0 to 1, or -1"),
        ([-1, -2], None, "the parent of state 1 is -2"),
        ([-1, 2, 1], None, "parents run in a circle"),
        ([-1, 0], [1, 1], "state 0 has children, so no rollout ends in it, but its count is 1"),
        ([[-1]], None, r"parents must be integers of shape \[states\]"),
    ],
)
def test_what_is_no_tree_is_refused(parents, counts, message):
    labels = np.zeros((len(parents), 1), bool)
    with pytest.raises(ConfigurationError, match=message):
        tree_from_parents(parents, labels, ["p"], counts=counts)


@settings(max_examples=200, deadline=None)
@given(ROLLOUTS, st.data())
def test_merging_by_prefix(rollouts, data):
    """The nodes are the distinct prefixes, a last step being none of a step with more to come."""
    cut = data.draw(st.lists(st.booleans(), min_size=len(rollouts), max_size=len(rollouts)))
    tree = merge_rollouts(rollouts, ["a", "b"], truncated=cut)
    expected: dict[tuple[object, ...], int] = {}
    for rollout, off in zip(rollouts, cut, strict=True):
        for length in range(1, len(rollout) + 1):
            kind = "inner" if length < len(rollout) else "cut" if off else "end"
            key = (*rollout[:length], kind)
            expected[key] = expected.get(key, 0) + 1
    found = {}
    for state in range(tree.num_states):
        kind = "inner" if not tree.leaves[state] else "cut" if tree.cut[state] else "end"
        key = (*(tree.letter(s) for s in tree.path_to(state)), kind)
        assert key not in found
        found[key] = int(tree.counts[state])
    assert found == expected
    assert tree.num_rollouts == len(rollouts)
    for rollout, end in zip(rollouts, tree.ends, strict=True):
        assert [tree.letter(s) for s in tree.path_to(end)] == rollout


def test_keys_keep_apart_what_letters_do_not():
    rollouts = [[{"a"}, {"b"}], [{"a"}, {"b"}]]
    assert merge_rollouts(rollouts).num_states == 2
    tree = merge_rollouts(rollouts, keys=[["left", 0], ["right", 0]])
    assert tree.num_states == 4 and tree.counts.tolist() == [1, 1, 1, 1]


def test_many_propositions_tell_letters_apart():
    rng = np.random.default_rng(0)
    letters = np.unique(rng.random((300, 100)) < 0.5, axis=0)
    names = [f"p{i}" for i in range(100)]
    steps = np.concatenate([letters, letters])
    tree = merge_arrays(steps, np.ones(len(steps), int), names)
    assert tree.num_states == len(letters) and (tree.counts == 2).all()
    unlabelled = merge_arrays(np.zeros((5, 0), bool), [2, 3], [])
    assert unlabelled.num_states == 4 and unlabelled.letter(0) == frozenset()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: merge_rollouts([]), ConfigurationError, "there are no rollouts to merge"),
        (lambda: merge_rollouts([[{"a"}], []]), ConfigurationError, "rollout 1 has no steps"),
        (
            lambda: merge_rollouts([[{"a"}]], keys=[[]]),
            ConfigurationError,
            "one key for each letter",
        ),
        (
            lambda: merge_rollouts([[{"a"}]], truncated=[True, False]),
            ConfigurationError,
            r"truncated must be bool\[1\]",
        ),
        (
            lambda: merge_arrays(np.zeros((3, 1), bool), [2], ["p"]),
            ConfigurationError,
            r"labels must have shape \[2, 1\]",
        ),
        (
            lambda: merge_rollouts([[{"a": True}, {}]]),
            GroundingError,
            "the letter lacks proposition 'a'",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
