"""The reference semantics of CTL on structures small enough to judge by hand."""

import pytest

from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.logic import holds
from safe_rl.logic.ctl_semantics import holds_ctl

# 0 -> 1 -> 2, and 0 -> 3 -> 3: one branch ends in a leaf, the other goes round.
SUCCESSORS = [[1, 3], [2], [], [3]]
LETTERS = [{"p"}, {"p"}, {"q"}, {"p"}]


@pytest.mark.parametrize(
    ("formula", "state", "weak", "stuttering"),
    [
        ("EX p", 0, True, True),
        ("EX q", 1, True, True),
        ("EX true", 2, False, True),
        ("AX false", 2, True, False),
        ("AX q", 2, True, True),
        ("AX p", 2, True, False),
        ("EF q", 0, True, True),
        ("AF q", 0, False, False),
        ("AF q", 1, True, True),
        ("AF p", 2, False, False),
        ("EG p", 0, True, True),
        ("EG p", 1, False, False),
        ("EG q", 2, True, True),
        ("AG p", 3, True, True),
        ("AG(p | q)", 0, True, True),
        ("A[p W q]", 0, True, True),
        ("A[p U q]", 0, False, False),
        ("E[p U q]", 0, True, True),
        ("A[q R (p | q)]", 0, True, True),
        ("E[q M p]", 0, False, False),
        ("E[(p | q) M (p | q)]", 0, True, True),
        ("AX[2] (p & !q)", 0, False, False),
        ("EX[2] q", 0, True, True),
        ("EX[3] q", 0, False, True),
        ("EF[3,5] q", 0, False, True),
        ("EF[2,2] q", 0, True, True),
        ("AF[3,] p", 0, False, False),
        ("AF[0,2] q", 1, True, True),
        ("AG[1,1] p", 0, True, True),
        ("AG[1,2] p", 0, False, False),
        ("E[p U[2,3] q]", 0, True, True),
        ("E[p U[3,4] q]", 0, False, False),
        ("E[true U[3,4] q]", 0, False, True),
    ],
)
def test_by_hand(formula, state, weak, stuttering):
    assert holds_ctl(formula, SUCCESSORS, LETTERS, state) is weak
    assert holds_ctl(formula, SUCCESSORS, LETTERS, state, leaves="stuttering") is stuttering


@pytest.mark.parametrize("formula", ["F q", "G p", "p U q", "p W q", "q R p", "q M p", "F[1,2] q"])
def test_a_chain_is_a_trace(formula):
    """On a structure with one path, A and E say what LTLf says of the trace."""
    for code in range(4**4):
        letters = [
            {n for i, n in enumerate("pq") if code >> (2 * step + i) & 1} for step in range(4)
        ]
        expected = holds(formula, letters)
        for quantifier in "AE":
            assert holds_ctl(f"{quantifier}({formula})", [[1], [2], [3], []], letters) is expected


def test_errors():
    with pytest.raises(ConfigurationError, match="about probabilities"):
        holds_ctl("P>=0.5 [F p]", [[]], [{"p"}])
    with pytest.raises(ConfigurationError, match="must be 'weak' or 'stuttering', but is 'strong'"):
        holds_ctl("EX p", [[]], [{"p"}], leaves="strong")
    with pytest.raises(GroundingError, match="lacks proposition 'q'"):
        holds_ctl("EX q", [[1], []], [{"p": True}, {"p": True}])
