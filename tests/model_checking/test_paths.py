"""Witnesses and counterexamples: there is one wherever a path can show it, and it is confirmed."""

import random
from dataclasses import replace

import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import Quantifier
from safe_rl.model_checking import (
    Checker,
    Evidence,
    Path,
    check,
    confirms,
    evidence,
    kripke,
    merge_rollouts,
    parse_ctl,
)
from tests.model_checking.random_models import random_ctl, random_graph


@pytest.mark.parametrize("leaves", ["weak", "stuttering"])
def test_every_verdict_has_evidence_that_is_confirmed(leaves):
    """Each failed A has a path, and so has each E that holds; a separate function confirms both."""
    paths = 0
    for seed in range(500):
        rng = random.Random(f"evidence {seed}")
        successors, letters = random_graph(rng)
        made = kripke(successors, letters, ["p", "q"])
        formula = random_ctl(rng, rng.randint(1, 4))
        checker = Checker(made, leaves)
        for state, holds in enumerate(checker.satisfying(formula).tolist()):
            shown = evidence(checker, formula, state)
            assert (shown.formula, shown.state, shown.holds) == (formula, state, holds)
            assert confirms(made, formula, shown, holds=holds, leaves=leaves), (formula, shown)
            assert not confirms(made, formula, shown, holds=not holds, leaves=leaves)
            a_path_can = (formula.op is Quantifier.SOME) == holds
            if isinstance(formula.op, Quantifier) and not formula.is_propositional:
                assert (shown.path is not None) == a_path_can, formula
                paths += a_path_can
    assert paths > 500


def test_spoilt_evidence_is_not_confirmed():
    """A path cut short, with a step that is not there, or without its loop or end shows nothing."""
    spoilt = 0
    for seed in range(400):
        rng = random.Random(f"spoilt {seed}")
        successors, letters = random_graph(rng)
        made = kripke(successors, letters, ["p", "q"])
        formula = random_ctl(rng, 1)
        if not isinstance(formula.op, Quantifier):
            continue
        checker = Checker(made)
        for state in range(len(letters)):
            shown = evidence(checker, formula, state)
            if shown.path is None:
                continue
            path = shown.path
            bad = [replace(path, states=())]
            if not path.ends and path.loops_to is None and len(path.states) > 1:
                bad.append(replace(path, states=path.states[:-1]))  # shortest, so too short now
            strangers = sorted(set(range(len(letters))) - set(successors[path.states[-1]]))
            bad += [replace(path, states=(*path.states, s), loops_to=None) for s in strangers]
            if successors[path.states[-1]]:
                bad.append(replace(path, ends=True, loops_to=None))
            bad += [replace(path, loops_to=i) for i, s in enumerate(path.states) if s in strangers]
            bad.append(replace(path, states=(*path.states[:-1], len(letters))))
            for wrong in bad:
                spoilt += 1
                found = replace(shown, path=wrong)
                assert not confirms(made, formula, found, holds=shown.holds), (formula, found)
    assert spoilt > 1000


def test_what_a_beginning_leaves_open_is_not_confirmed():
    loop = kripke([[1], [0]], [{"p"}, {"p"}], ["p", "q"])
    rule = parse_ctl("EG p")
    shown = check(loop, rule).evidence()
    assert shown.path == Path((0, 1), loops_to=0)
    assert confirms(loop, rule, shown, holds=True)
    assert not confirms(loop, rule, replace(shown, path=Path((0, 1))), holds=True)
    bounded = parse_ctl("EG[0,1] p")
    assert confirms(loop, bounded, check(loop, bounded).evidence(), holds=True)
    assert not confirms(loop, bounded, Evidence(bounded, 0, True, Path((0,))), holds=True)


def test_parts_are_confirmed_too():
    chain = kripke([[1], [2], []], [set(), {"hot"}, set()], ["hot", "off"])
    rule = parse_ctl("AG(hot -> AF off)")
    shown = check(chain, rule).evidence()
    assert shown.path == Path((0, 1)) and shown.longest() == (0, 1, 2)
    ((position, implication),) = shown.parts
    hot, answered = (part for _, part in implication.parts)
    assert (position, hot.holds, answered.path) == (1, True, Path((1, 2), ends=True))
    for wrong in (
        replace(answered, path=Path((1, 2))),
        replace(answered, path=Path((1,), ends=True)),
        replace(answered, holds=True, path=None),
        replace(answered, state=0),
    ):
        part = replace(implication, parts=((0, hot), (0, wrong)))
        assert not confirms(chain, rule, replace(shown, parts=((1, part),)), holds=False)
    assert not confirms(chain, rule, replace(shown, parts=((0, implication),)), holds=False)
    assert not confirms(chain, rule, replace(shown, parts=((5, implication),)), holds=False)
    # Without its parts the path still shows it: the operand is found by fixpoints.
    assert confirms(chain, rule, replace(shown, parts=()), holds=False)
    elsewhere = replace(shown, path=Path((0,)), parts=())
    assert not confirms(chain, rule, elsewhere, holds=False)


def test_evidence_about_something_else_is_not_confirmed():
    chain = kripke([[1], []], [{"p"}, set()], ["p", "q"])
    first, second = parse_ctl("AF q"), parse_ctl("AG p")
    shown = check(chain, first).evidence()
    assert confirms(chain, first, shown, holds=False)
    assert not confirms(chain, second, shown, holds=False)
    assert not confirms(chain, first, replace(shown, state=9), holds=False)
    # No path shows that E fails.
    some = parse_ctl("EF q")
    assert not confirms(chain, some, Evidence(some, 0, False, Path((0, 1), ends=True)), holds=False)
    assert confirms(chain, some, Evidence(some, 0, False), holds=False)
    assert not confirms(chain, some, Evidence(some, 0, True), holds=True)


def test_the_path_is_a_shortest_one():
    #     0 -> 1 -> 2 -> 3 (bad), and 0 -> 4 -> 3
    made = kripke([[1, 4], [2], [3], [], [3]], [set()] * 3 + [{"bad"}, set()])
    assert check(made, "AG !bad").evidence().path == Path((0, 4, 3))
    assert check(made, "EF bad").evidence().path == Path((0, 4, 3))
    assert check(made, "EF[3,3] bad").evidence().path == Path((0, 1, 2, 3))


def test_which_state_is_explained():
    made = kripke([[], [], []], [{"p"}, set(), set()], initial=[0, 1])
    found = check(made, "AG p")
    assert found.evidence().state == 1 and found.evidence(0).holds
    assert check(made, "AG !(p & !p)").evidence().state == 0
    with pytest.raises(ConfigurationError, match="state 3 does not exist; the states are 0 to 2"):
        found.evidence(3)


def test_depth_bounds_what_is_explained():
    tree = merge_rollouts([[{"p"}, {"p"}, set()]])
    formula = parse_ctl("EX EX EX true | AG EF AG p")
    assert check(tree, formula).evidence(depth=0).parts == ()
    shallow = check(tree, formula).evidence(depth=2)
    assert confirms(tree, formula, shallow, holds=False)
