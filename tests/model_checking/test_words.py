"""Evidence in words."""

from safe_rl.model_checking import check, describe, kripke, merge_rollouts


def test_a_loop_and_another_way_of_naming():
    lamp = kripke([[1], [2], [1]], [set(), {"on"}, {"on"}], ["on", "off"])
    found = check(lamp, "AF off").evidence()
    assert describe(lamp, found, name="s{}".format).splitlines() == [
        "AF off fails in s0:",
        "  s0 {} -> s1 {} -> s2 {}, and back to s1 for ever",
    ]


def test_what_no_path_shows():
    tree = merge_rollouts([[{"a"}, {"b"}]])
    assert describe(tree, check(tree, "EF(a & b)").evidence()) == (
        "EF(a & b) fails in state 0, on every path"
    )
    assert describe(tree, check(tree, "AF b").evidence()) == "AF b holds in state 0, on every path"


def test_a_long_path_is_shortened():
    tree = merge_rollouts([[set()] * 100 + [{"bad"}]])
    (_, line) = describe(tree, check(tree, "AG !bad").evidence()).splitlines()
    assert line.count("->") == 12 and "… 89 more …" in line and line.endswith("state 100 {bad}")
