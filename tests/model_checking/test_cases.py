"""Faults that people reported of other checkers, with the right value."""

import pytest

from safe_rl.errors import FormulaSyntaxError
from safe_rl.model_checking import check, confirms, merge_rollouts, parse_ctl

# SENTINEL, its published rules and its checker: what its own conversion refuses or gets wrong.


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("NOT (stove_on)", "!stove_on"),
        ("stove_on AND pan_on_stove", "stove_on & pan_on_stove"),
        ("AG (NOT (stove_on) OR AF (NOT (stove_on)))", "AG(!stove_on | AF !stove_on)"),
        ("A[ NOT (open) W near ]", "A[!open W near]"),
        ("ag", "ag"),
    ],
)
def test_words_in_any_case(rule, meant):
    assert parse_ctl(rule) is parse_ctl(meant)


@pytest.mark.parametrize(
    "rule",
    [
        "AG(stove_on -> AF[<=T_MAX] !stove_on)",
        "AG(stove_on -> F[<=T_MAX] !stove_on)",
        "AG(stove_on -> AF<=T_MAX !stove_on)",
    ],
)
def test_an_undefined_bound_is_a_syntax_error_that_shows_where(rule):
    with pytest.raises(FormulaSyntaxError, match="the bound of F must be") as error:
        parse_ctl(rule)
    *_, text, caret = str(error.value).splitlines()
    assert text.strip() == rule and text[caret.index("^") :].startswith("T_MAX")


def test_a_violating_tree_violates():
    """``AG(p -> AF q)`` where one branch ends without ``q``."""
    tree = merge_rollouts([[{"p"}, {"q"}], [{"p"}, set(), set()]], ["p", "q"])
    for leaves in ("weak", "stuttering"):
        found = check(tree, "AG(p -> AF q)", leaves=leaves)
        assert not found.holds
        shown = found.evidence()
        assert [sorted(tree.letter(s)) for s in shown.longest()] == [["p"], [], []]
        assert confirms(tree, found.formula, shown, holds=False, leaves=leaves)
    assert check(tree, "AG(q -> AF q)").holds


def test_not_p_fails_where_p_holds():
    tree = merge_rollouts([[{"p"}, set()]])
    assert not check(tree, "!p").holds and not check(tree, "NOT (p)").holds
    assert check(tree, "p & AX NOT p").holds


def test_a_branch_of_1_500_steps_needs_no_recursion():
    tree = merge_rollouts([[{"p"}] * 1500 + [{"q"}]])
    assert check(tree, "AG(p -> AF q)").holds and check(tree, "AG(p -> A[p U q])").holds
