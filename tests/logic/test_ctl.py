"""CTL's grammar: what parses to what, what is printed, and what each mistake is told."""

import pickle
import random
import warnings

import pytest

from safe_rl.errors import FormulaSyntaxError, UnknownPropositionError
from safe_rl.logic import FormulaWarning, Op
from safe_rl.logic.ctl import CTL, Chance, Quantifier, path_as_ltlf, subformulas
from safe_rl.logic.ctl_parser import parse_ctl
from tests.model_checking.random_models import random_ctl

p, q = CTL(Op.ATOM, (), "p"), CTL(Op.ATOM, (), "q")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A G p", "AG p"),
        ("A(G p)", "AG p"),
        ("A[] p", "AG p"),
        ("E<> p", "EF p"),
        ("∀□ p", "AG p"),
        ("∃◇(p)", "EF p"),
        ("A(p U q)", "A[p U q]"),
        ("∃(p U q)", "E[p U q]"),
        ("E[p V q]", "E[p R q]"),
        ("AGEF p", "AG EF p"),
        ("AG p & q", "(AG p) & q"),
        ("!EF p | AX q -> p", "((!(EF p)) | (AX q)) -> p"),
        ("E[p U q] & p", "(E[p U q]) & p"),
        ("A[(p) U (q)]", "A[p U q]"),
        ("AG(NOT (p) AND q Or TRUE)", "AG(!p & q | true)"),
        ("AF[<=3] p", "AF[0,3] p"),
        ("AF<=3 p", "AF[0,3] p"),
        ("E[p U<=3 q]", "E[p U[0,3] q]"),
        ("EX[1] p", "EX p"),
        ("P >= .9 (F<=5 p)", "P>=0.9 [F[0,5] p]"),
        ("P≥0.9[F p]", "P>=0.9 [F p]"),
        ("A & E", '"A" & "E"'),
        ("AG on( milk, table )", 'AG "on(milk,table)"'),
    ],
)
def test_spellings(text, same):
    assert parse_ctl(text) is parse_ctl(same)


def test_nodes():
    always = CTL(Quantifier.ALL, (CTL(Op.ALWAYS, (p,)),))
    assert parse_ctl("AG p") is always and always.is_state and not always.args[0].is_state
    until = CTL(Op.UNTIL, (p, q), "", (1, 4))
    assert parse_ctl("E[p U[1,4] q]") is CTL(Quantifier.SOME, (until,))
    probably = parse_ctl("P<0.1 [F !p & last]")
    assert probably.chance == Chance("<", 0.1)
    assert parse_ctl("AG(p -> AF q)").atoms == ("p", "q")
    assert parse_ctl("p & !q").is_propositional and not always.is_propositional
    with pytest.raises(AttributeError, match="immutable"):
        always.name = "x"


def test_text_parses_back_to_the_same_formula():
    for seed in range(500):
        formula = random_ctl(random.Random(seed), 4, ["p", "G", "two words", "on(milk,table)"])
        assert parse_ctl(str(formula)) is formula
        assert pickle.loads(pickle.dumps(formula)) is formula


@pytest.mark.parametrize(
    "text",
    [
        "AG(p -> AF q)",
        "!AF !p & A[p U q]",
        "AG p <-> E[p M q]",
        "A[A[p U q] U E[q R p]]",
        "AX[3] EF[2,] p",
        "P>=0.9 [F[0,5] p]",
        "P<1e-05 [G(p -> F q) & !EX q]",
    ],
)
def test_text_is_kept(text):
    assert str(parse_ctl(text)) == text


def test_what_the_vocabulary_names_is_an_atom():
    assert parse_ctl("AG AF", ["AF"]) is parse_ctl('AG "AF"')
    assert parse_ctl("A & AF p", ["A", "p"]).atoms == ("A", "p")
    with pytest.raises(FormulaSyntaxError, match="cannot be a quantifier here"):
        parse_ctl("A[p U q]", ["A", "p", "q"])
    with pytest.raises(UnknownPropositionError, match="'grapsed'; did you mean 'grasped'") as error:
        parse_ctl("AG(grapsed -> AF q)", ["grasped", "q"])
    assert str(error.value).endswith("\n    AG(grapsed -> AF q)\n       ^")


def test_operators_glued_to_an_atom_warn():
    with pytest.warns(FormulaWarning, match="'AGAFdone' is read as operators, 'AGAF done'"):
        assert parse_ctl("AGAFdone") is parse_ctl("AG AF done")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_ctl("AGEF done")


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("", "the formula is empty", 0),
        ("AG(p -> F q)", "operator F needs a path quantifier: AF on every path, EF on some", 8),
        ("G p", "operator G needs a path quantifier", 0),
        ("p U q", r"operator U needs a path quantifier: A\[p U q\]", 2),
        ("AFG p", "operator G needs a path quantifier", 2),
        ("A[p U q U p]", "operator U needs a path quantifier", 8),
        ("A[G p & F q]", "A takes one temporal operator, not a combination with &", 2),
        ("A(p)", "A needs a temporal operator: AG p, AF p or", 0),
        ("P>=0.5 [p]", r"P>=0.5 needs a temporal operator: P>=0.5 \[F p\]", 0),
        ("A p", "expected an operator, but found 'p'; 'A' is read as a proposition", 2),
        ("AG", "expected a proposition or '\\(' after 'G'", 2),
        ("AG p)", r"this '\)' closes nothing", 4),
        ("A[p U q", r"this '\[' is not closed", 1),
        ("A[p U q)", r"expected '\]' for '\[', but found '\)'", 7),
        ("[p U q]", "a '\\[' stands behind a quantifier", 0),
        ("AG(p & )", "expected a proposition, '\\(', a unary operator or a quantifier", 7),
        ("AU(p, q)", r"write A\[p U q\] for AU\(p, q\)", 0),
        ("AX last", "'last' is about a path", 3),
        ("AG Y p", "CTL does not look back, as Y does", 3),
        ("E[WX p]", "write AX or EX", 2),
        ("AG ~p", "unknown operator '~'; did you mean '!'", 3),
        ("P>=1.5 [F p]", "a probability lies between 0 and 1, but this is 1.5", 3),
        ("P>=x [F p]", "expected a number from 0 to 1 after 'P>='", 3),
        ("P=?[F p]", "P needs a bound such as P>=0.9", 1),
        ("P=0.5 [F p]", "P takes >=, >, <= or <", 1),
        ("P[F p]", "P needs a bound before", 1),
        ("AF<=K p", "the bound of F must be a whole number, as in F<=5", 4),
        ("AF[3,1] p", "the bound of F is empty", 2),
    ],
)
def test_errors_show_where(text, message, caret):
    with pytest.raises(FormulaSyntaxError, match=message) as error:
        parse_ctl(text)
    assert str(error.value).endswith(f"\n    {text}\n    {' ' * caret}^")


def test_only_a_text_is_parsed():
    with pytest.raises(FormulaSyntaxError, match="must be a str, not int"):
        parse_ctl(3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CTL(Quantifier.ALL, (p,)), "A takes one temporal operator over state formulas"),
        (lambda: CTL(Quantifier.SOME, (p, q)), "E takes one path formula"),
        (lambda: CTL(Quantifier.PROBABLY, (CTL(Op.EVENTUALLY, (p,)),)), "P needs a bound"),
        (lambda: CTL(Quantifier.PROBABLY, (p,), chance=Chance(">=", 0.5)), "temporal operator"),
        (lambda: CTL(Op.AND, (p, q), chance=Chance(">=", 0.5)), "takes no probability"),
        (lambda: CTL(Op.UNTIL, (p,)), "takes 2 operands, not 1"),
        (lambda: CTL(Op.ATOM), "an atom needs a name"),
        (lambda: CTL(Op.WEAK_UNTIL, (p, q), "", (0, 3)), "takes no interval"),
    ],
)
def test_impossible_nodes_are_refused(build, message):
    with pytest.raises(FormulaSyntaxError, match=message):
        build()


def test_deep_formulas_need_no_recursion():
    deep = parse_ctl("!(" * 5000 + "AG p" + ")" * 5000)
    assert len(list(subformulas(deep))) == 5003
    assert parse_ctl(str(deep)) is deep


def test_path_formulas_in_ltlf():
    path = parse_ctl('P>0 [(EX p) U (q & "[EX p]")]').args[0]
    formula, parts = path_as_ltlf(path)
    assert set(formula.atoms) == {"[[EX p]]", "q", "[EX p]"}
    assert parts["[[EX p]]"] is parse_ctl("EX p") and parts["[EX p]"].op is Op.ATOM
