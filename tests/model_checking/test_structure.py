"""Structures as arrays: what is kept, and what is refused."""

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError, GroundingError, UnknownPropositionError
from safe_rl.model_checking import check, kripke, kripke_from_edges


def test_arrays():
    made = kripke([[1, 2], [2], [], [0]], [{"p"}, set(), {"q", "p"}, {"q"}], initial=[0, 3])
    assert made.propositions == ("p", "q")
    assert (made.num_states, made.num_edges) == (4, 4)
    assert [made.successors(s).tolist() for s in range(4)] == [[1, 2], [2], [], [0]]
    assert made.truth("p").tolist() == [True, False, True, False]
    assert [sorted(made.letter(s)) for s in range(4)] == [["p"], [], ["p", "q"], ["q"]]
    assert made.leaves.tolist() == [False, False, True, False]
    offsets, sources = made.predecessors
    assert [sources[offsets[s] : offsets[s + 1]].tolist() for s in range(4)] == [
        [3],
        [0],
        [0, 1],
        [],
    ]
    assert made.initial.tolist() == [0, 3]
    with pytest.raises(ValueError, match="read-only"):
        made.targets[0] = 3


def test_labels_are_bits():
    rng = np.random.default_rng(0)
    labels = rng.random((1003, 5)) < 0.5
    made = kripke_from_edges(np.zeros((0, 2), int), labels, list("abcde"))
    assert made.bits.shape == (5, 126)
    for i, name in enumerate("abcde"):
        assert (made.truth(name) == labels[:, i]).all()
    assert made.letter(1002) == {n for n, v in zip("abcde", labels[1002], strict=True) if v}


def test_letters_as_mappings_name_everything():
    made = kripke([[1], []], [{"p": True, "q": 0}, {"p": np.False_, "q": 1}])
    assert made.propositions == ("p", "q") and made.letter(1) == {"q"}
    with pytest.raises(GroundingError, match="lacks proposition 'q'"):
        kripke([[1], []], [{"p": True, "q": False}, {"p": True}])
    with pytest.raises(GroundingError, match="must be true or false, but is 'yes'"):
        kripke([[]], [{"p": "yes"}])
    with pytest.raises(GroundingError, match="unknown proposition 'pp'; did you mean 'p'"):
        kripke([[]], [{"pp"}], ["p", "q"])
    with pytest.raises(GroundingError, match="a letter is a set of names or a mapping"):
        kripke([[]], ["pq"])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: kripke([], []), "the structure has no states"),
        (lambda: kripke([[]], [set()], initial=[]), "no state is initial"),
        (lambda: kripke([[]], [set()], initial=[1]), "initial state 1 does not exist"),
        (lambda: kripke([[2]], [set()]), "edge 0 -> 2 enters state 2, but the states are 0 to 0"),
        (lambda: kripke([[0], []], [set()]), "successors of 2 states, but letters of 1"),
        (lambda: kripke([[]], [set()], ["p", "p"]), "'p' is given twice"),
        (lambda: kripke([[]], [set()], "pq"), "not the text 'pq'"),
        (lambda: kripke([[]], [set()], [""]), "proposition 0 must have a name"),
        (
            lambda: kripke_from_edges([[0, 1]], [[1, 0], [1, 1]], ["p"]),
            r"shape \[states, 1\], one column for each proposition, but have \[2, 2\]",
        ),
        (lambda: kripke_from_edges([[0.5, 1]], [[1], [1]], ["p"]), "edges must be integers"),
        (lambda: kripke_from_edges([[-1, 0]], [[1]], ["p"]), "edge -1 -> 0 leaves state -1"),
    ],
)
def test_what_cannot_be_is_refused(build, message):
    with pytest.raises(ConfigurationError, match=message):
        build()


def test_unknown_propositions_have_near_names():
    made = kripke([[]], [{"grasped"}])
    with pytest.raises(UnknownPropositionError, match="'graped'; did you mean 'grasped'"):
        check(made, "AG graped")
    with pytest.raises(UnknownPropositionError, match="the labels are grasped"):
        made.truth("open")
