"""PCTL on Markov chains: known probabilities, and those of simulation's expectation by matrices."""

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.model_checking import PctlChecker, check, kripke, markov, markov_chain

UP, COUNT = 0.6, 11


def gambler():
    """From 0 (broke) to 10 (rich), one up with 0.6 and one down with 0.4; both ends stay."""
    edges, chances = [[0, 0], [COUNT - 1, COUNT - 1]], [1.0, 1.0]
    for state in range(1, COUNT - 1):
        edges += [[state, state + 1], [state, state - 1]]
        chances += [UP, 1 - UP]
    labels = np.zeros((COUNT, 2), bool)
    labels[COUNT - 1, 0] = labels[0, 1] = True
    return markov_chain(edges, chances, labels, ["rich", "broke"], [5])


def test_gamblers_ruin():
    ratio = (1 - UP) / UP
    exact = np.array([(1 - ratio**i) / (1 - ratio ** (COUNT - 1)) for i in range(COUNT)])
    checker = PctlChecker(gambler())
    np.testing.assert_allclose(checker.probabilities("P>0 [F rich]"), exact, atol=1e-12)
    np.testing.assert_allclose(checker.probabilities("P>0 [!broke U rich]"), exact, atol=1e-12)
    np.testing.assert_allclose(checker.probabilities("P>0 [!rich W broke]"), 1 - exact, atol=1e-12)
    np.testing.assert_allclose(checker.probabilities("P>0 [G !rich]"), 1 - exact, atol=1e-12)
    assert checker.satisfying("P>=0.9 [F rich]").tolist() == (exact >= 0.9).tolist()
    assert check(gambler(), "P>0.8 [F rich] & P<=0.2 [F broke]").holds


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_bounded_operators_by_powers_of_the_matrix(steps):
    chain = gambler()
    matrix = np.zeros((COUNT, COUNT))
    np.add.at(matrix, (chain.sources, chain.targets), chain.probabilities)
    rich = np.linalg.matrix_power(matrix, steps)[:, COUNT - 1]  # rich stays rich
    checker = PctlChecker(chain)
    np.testing.assert_allclose(checker.probabilities(f"P>0 [F<={steps} rich]"), rich)
    np.testing.assert_allclose(checker.probabilities(f"P>0 [G<={steps} !rich]"), 1 - rich)
    np.testing.assert_allclose(checker.probabilities(f"P>0 [F[{steps},{steps}] rich]"), rich)
    if steps:
        np.testing.assert_allclose(checker.probabilities(f"P>0 [X[{steps}] rich]"), rich)
    after = np.linalg.matrix_power(matrix, steps) @ checker.probabilities("P>0 [F rich]")
    np.testing.assert_allclose(checker.probabilities(f"P>0 [F[{steps},] rich]"), after)


def test_nested_and_mixed_with_ctl():
    checker = PctlChecker(gambler())
    likely = checker.satisfying("P>=0.9 [F rich]")
    nested = checker.probabilities("P>0 [F P>=0.9 [F rich]]")
    assert (nested[likely] == 1).all() and (nested[~likely] < 1).all()
    assert checker.satisfying("EF rich").tolist() == [False] + [True] * 10
    assert checker.satisfying("AF P>=1 [G (rich | broke)]").tolist() == [True] + [False] * 9 + [
        True
    ]


def test_a_run_may_end():
    labels = [[0], [1], [0]]
    chain = markov_chain([[0, 1], [0, 2]], [0.3, 0.7], labels, ["p"])
    checker = PctlChecker(chain)
    np.testing.assert_allclose(checker.probabilities("P>0 [F p]"), [0.3, 1, 0])
    np.testing.assert_allclose(checker.probabilities("P>0 [X p]"), [0.3, 0, 0])
    np.testing.assert_allclose(checker.probabilities("P>0 [F[2,] p]"), [0, 0, 0])
    stays = PctlChecker(chain, "stuttering")
    np.testing.assert_allclose(stays.probabilities("P>0 [X p]"), [0.3, 1, 0])
    np.testing.assert_allclose(stays.probabilities("P>0 [F[2,] p]"), [0.3, 1, 0])


def test_a_bound_that_is_met_exactly_is_met():
    third = markov_chain([[0, 1], [0, 2], [0, 3]], [1 / 3] * 3, [[0], [1], [1], [1]], ["p"])
    assert check(third, "P>=1 [X p] & !P>1 [X p] & P<=1 [F p]").holds


def test_errors(monkeypatch):
    labels = [[0], [1]]
    with pytest.raises(ConfigurationError, match="state 0 sum to 0.5, not to 1"):
        markov_chain([[0, 1]], [0.5], labels, ["p"])
    with pytest.raises(ConfigurationError, match="probability of edge 1 is 0.0; it must be above"):
        markov_chain([[0, 1], [0, 0]], [1.0, 0.0], labels, ["p"])
    with pytest.raises(ConfigurationError, match=r"1 edges, but probabilities of shape \[2\]"):
        markov_chain([[0, 1]], [0.5, 0.5], labels, ["p"])
    chain = markov_chain([[0, 1]], [1.0], labels, ["p"])
    with pytest.raises(ConfigurationError, match="P takes one temporal operator"):
        check(chain, "P>=0.5 [F p & G p]")
    with pytest.raises(ConfigurationError, match="asks for no probability"):
        PctlChecker(chain).probabilities("AG p")
    with pytest.raises(ConfigurationError, match="need a MarkovChain, but this is a Kripke"):
        PctlChecker(kripke([[]], [set()]))
    monkeypatch.setattr(markov, "SOLVED", 3)
    with pytest.raises(ConfigurationError, match="9 states have a probability .* the limit is 3"):
        check(gambler(), "P>0 [F rich]")
