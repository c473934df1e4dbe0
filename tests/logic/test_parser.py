"""The grammar: what parses to what, and what each mistake is told."""

import warnings

import pytest

from safe_rl.errors import FormulaSyntaxError, UnknownPropositionError
from safe_rl.logic import Formula, FormulaWarning, Op, atom, parse

a, b, c = atom("a"), atom("b"), atom("c")


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a -> b -> c", "a -> (b -> c)"),
        ("a U b U c", "a U (b U c)"),
        ("a W b R c", "a W (b R c)"),
        ("a <-> b <-> c", "(a <-> b) <-> c"),
        ("a & b U c", "a & (b U c)"),
        ("a | b & c", "a | (b & c)"),
        ("a | b ^ c", "a | (b ^ c)"),
        ("a ^ b & c", "a ^ (b & c)"),
        ("a -> b | c", "a -> (b | c)"),
        ("a <-> b -> c", "a <-> (b -> c)"),
        ("!a U b", "(!a) U b"),
        ("G a U b", "(G a) U b"),
        ("G F a -> b", "(G (F a)) -> b"),
        ("a S b & c", "(a S b) & c"),
    ],
)
def test_precedence_and_associativity(text, grouped):
    assert parse(text) is parse(grouped)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a && b || c", "a & b | c"),
        ("a => b <=> c", "a -> b <-> c"),
        ("¬a ∧ b ∨ c → a ↔ b", "!a & b | c -> a <-> b"),
        ("◇ <> □ [] ○ a", "F F G G X a"),
        ("X[!] a", "X a"),
        ("X[1] a", "X a"),
        ("N a", "WX a"),
        ("a V b", "a R b"),
        ("F[<=3] a", "F[0,3] a"),
        ("F [ 1 , 4 ] a", "F[1,4] a"),
        ("G[]a", "G G a"),
        ("TRUE & False", "true & false"),
        ("'two words'", '"two words"'),
        ("on( milk,table )", '"on(milk,table)"'),
        ("on (milk, table_1.top)", '"on(milk,table_1.top)"'),
    ],
)
def test_spellings(text, same):
    assert parse(text) is parse(same)


def test_nodes():
    assert parse("a U[2,5] b") is Formula(Op.UNTIL, (a, b), "", (2, 5))
    assert parse("F[2,] a") is Formula(Op.EVENTUALLY, (a,), "", (2, None))
    assert parse("X[3] a") is Formula(Op.NEXT, (a,), "", (3, 3))
    assert parse("(a & b) -> !c") is (a & b) >> ~c
    assert parse(r'"a \"quoted\" name"').name == 'a "quoted" name'


def test_operators_written_together_are_read_with_a_warning():
    with pytest.warns(FormulaWarning, match="'X F'"):
        assert parse("XF t") is parse("X F t")
    with pytest.warns(FormulaWarning, match="'X X a'"):
        assert parse("XXa") is parse("X X a")
    with pytest.warns(FormulaWarning, match="one proposition"):
        assert parse("Ga").name == "Ga"


def test_known_propositions_are_atoms_whatever_they_look_like():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse("GFa & G", ["GFa", "G"]).atoms == ("GFa", "G")


def test_depth_is_no_limit():
    deep = "(" * 20_000 + "a" + ")" * 20_000
    assert parse(deep) is a
    assert parse("!" * 20_000 + "a").op is Op.NOT


MISTAKES = [
    ("", "the formula is empty", 0),
    ("G(a -> ", "expected a proposition or '(' after '->'", 6),
    ("(a", "this '(' is not closed", 0),
    ("(a & (b | c)", "this '(' is not closed", 0),
    ("a)", "this ')' closes nothing", 1),
    ("()", "found ')'", 1),
    ("a b", "expected an operator, but found 'b'", 2),
    ("(a b)", "expected an operator or ')', but found 'b'", 3),
    ("a & & b", "found '&'", 4),
    ("W a", "found 'W'", 0),
    ("a ~ b", "unknown operator '~'; did you mean '!'?", 2),
    ("a = b", "unknown operator '='; did you mean '<->'?", 2),
    ("a % b", "unknown operator or character '%'", 2),
    ("F[3,1] a", "is empty: 3 is more than 1", 1),
    ("F[x] a", "with whole numbers", 2),
    ("F[-1,2] a", "with whole numbers", 2),
    ("F[1.5] a", "with whole numbers", 3),
    ("X[0] a", "takes one number from 1 on", 1),
    ("X[1,2] a", "takes one number from 1 on", 1),
    ("a W[1,2] b", "takes no interval", 3),
    ("a[1,2]", "an interval stands behind an operator", 1),
    ("on(milk table)", "separated by commas", 2),
    ("on(milk", "not closed by ')'", 2),
    ('"abc', "not closed", 0),
    ('""', "must not be empty", 0),
]


@pytest.mark.parametrize(("text", "message", "column"), MISTAKES)
def test_a_mistake_is_told_where_it_is(text, message, column):
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(text)
    said, line, caret = str(caught.value).split("\n")
    assert message in said
    assert line.strip() == text.strip()
    assert caret.index("^") - 4 == column


def test_the_caret_points_into_the_right_line():
    with pytest.raises(FormulaSyntaxError) as caught:
        parse("G(a ->\n  b c)")
    _, line, caret = str(caught.value).split("\n")
    assert line.strip() == "b c)"
    assert line[caret.index("^")] == "c"


def test_unknown_proposition_suggests_a_near_one():
    with pytest.raises(UnknownPropositionError, match="'graped'; did you mean 'grasped'"):
        parse("G(graped -> open)", ["grasped", "open"])


def test_past_cannot_contain_future():
    with pytest.raises(FormulaSyntaxError, match="Y looks back"):
        parse("Y F a")
    with pytest.raises(FormulaSyntaxError, match="H looks back"):
        parse("H(a & last)")
    assert parse("F Y a").atoms == ("a",)


@pytest.mark.parametrize("value", [None, 3, b"a"])
def test_text_must_be_text(value):
    with pytest.raises(FormulaSyntaxError, match="must be a str"):
        parse(value)
