"""Sentences to formulas: no wrong, no empty and no unreadable formula passes for a translation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError, UnknownPropositionError
from safe_rl.feedback.refinement import (
    Answer,
    Caller,
    Pace,
    TranslationProblem,
    refine_problems,
    translate,
)
from safe_rl.feedback.refinement.formulas import check_formula, distinguishing_trace, formula_in
from safe_rl.logic import holds, parse
from tests.logic.strategies import formulas, traces

SENTENCE = "Whatever is opened is shut again."
NAMES = ("a", "b", "c")
MEANINGS = {"open": "the door is open", "shut": "the door is shut"}


@settings(max_examples=60, deadline=None)
@given(formulas(NAMES, leaves=4), formulas(NAMES, leaves=4), traces(NAMES))
def test_a_difference_is_one_by_the_reference_semantics(first, second, trace) -> None:
    word = distinguishing_trace(first, second)
    if word is None:
        if trace:
            assert holds(first, trace) == holds(second, trace)
    else:
        assert word, "no episode is empty"
        assert holds(first, list(word)) != holds(second, list(word))


@settings(max_examples=40, deadline=None)
@given(formulas(NAMES, leaves=4), traces(NAMES))
def test_outcomes_agree_with_the_reference_semantics(formula, trace) -> None:
    verdict = check_formula(str(formula), NAMES)
    assert verdict.outcome in ("well-formed", "always true", "unsatisfiable")
    assert verdict.formula == formula
    if trace and verdict.outcome != "well-formed":
        assert holds(formula, trace) == (verdict.outcome == "always true")
    if verdict.outcome == "well-formed":
        same = check_formula(str(formula), NAMES, ~~formula)
        assert same.outcome == "equivalent"
        other = check_formula(str(~formula), NAMES, formula)
        assert other.outcome == "inequivalent" and other.difference


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        ("G(open -> F shut", "parse error", "this '(' is not closed"),
        ("", "parse error", "empty"),
        ("G(opened -> F shut)", "unknown propositions", "did you mean 'open'?"),
        ("F(shut | !shut)", "always true", "says nothing"),
        ("F true", "always true", "says nothing"),
        ("G false", "unsatisfiable", "nothing can satisfy it"),
        ("F(open & !open)", "unsatisfiable", "nothing can satisfy it"),
        ("G(open -> X shut)", "inequivalent", "step 0: open"),
        ("G(open -> F shut)", "equivalent", ""),
        ("!F(open & G !shut)", "equivalent", ""),
        ("G(open -> F[0,5000] shut)", "too large", "2000"),
    ],
)
def test_outcomes(text: str, outcome: str, words: str) -> None:
    verdict = check_formula(text, list(MEANINGS), "G(open -> F shut)")
    assert verdict.outcome == outcome
    assert words in verdict.words
    assert (verdict.words == "") == (outcome == "equivalent")


def test_words_say_on_which_side_the_trace_is() -> None:
    weak = check_formula("G(open -> WX shut)", MEANINGS, "G(open -> X shut)")
    assert "satisfies your formula, but not the sentence:\nstep 0: open" in weak.words
    strong = check_formula("G(open -> X shut)", MEANINGS, "G(open -> WX shut)")
    assert "satisfies the sentence, but not your formula:\nstep 0: open" in strong.words
    hidden = check_formula("G(open -> X shut)", MEANINGS, "F open", show_difference=False)
    assert "step" not in hidden.words and hidden.difference


@pytest.mark.parametrize(
    "answer",
    [
        "G(a -> F b)",
        "  G(a -> F b).  ",
        "```\nG(a -> F b)\n```",
        "```ltl\nG(a ->\n  F b)\n```",
        "```G(a -> F b)```",
        "```ltlf G(a -> F b)```",
        "Sure!\n\n```text\nG(a -> F b)\n```\n\nIt says that b follows a: `F b` is eventually.",
        "First try: ```F a``` no, better:\n```\nG(a -> F b)\n```",
        "Formula: G(a -> F b)",
        "**Formula:** `G(a -> F b)`",
        "The formula is: $G(a -> F b)$",
        "I would write `G(a -> F b)`.",
        '{"formula": "G(a -> F b)"}',
        '```json\n{"formula": "G(a -> F b)"}\n```',
        "<think>G(b)? Formula: F b</think>\nG(a -> F b)",
        "LTLf: □(a → ◇ b)",
    ],
)
def test_formula_is_found(answer: str) -> None:
    assert parse(formula_in(answer)) == parse("G(a -> F b)")


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_answer_is_judged(answer: str) -> None:
    judged = TranslationProblem(SENTENCE, MEANINGS).judge(answer)
    assert judged.outcome and (judged.safe or judged.words)


def test_rounds_go_on_until_the_formula_is_equivalent() -> None:
    answers = iter(["G(open -> F shut", "G(opn -> F shut)", "F true", "G(open -> X shut)",
                    "G(open -> F shut)"])  # fmt: skip
    asked = []

    def planner(messages):
        asked.append([dict(message) for message in messages])
        return next(answers)

    found = translate(SENTENCE, MEANINGS, planner, reference="G(!open | F shut)", max_rounds=9)
    assert [one.judgement.outcome for one in found.rounds] == [
        "parse error", "unknown propositions", "always true", "inequivalent", "equivalent",
    ]  # fmt: skip
    assert found.accepted and str(found.formula) == "G(open -> F shut)" and found.words == ""
    first = asked[0][0]["content"]
    assert SENTENCE in first and "- open: the door is open" in first
    assert "this '(' is not closed" in asked[1][-1]["content"]
    assert "did you mean 'open'?" in asked[2][-1]["content"]


def test_the_same_formula_again_ends_it() -> None:
    found = translate(SENTENCE, MEANINGS, lambda m: "F  shut", reference="G shut", max_rounds=9)
    assert len(found.rounds) == 2 and not found.accepted
    assert found.outcome == "inequivalent" and found.difference == (
        frozenset(),
        frozenset({"shut"}),
    )


def test_no_answer_is_no_translation() -> None:
    found = translate(SENTENCE, MEANINGS, lambda m: Answer("F shut", "blocked"), max_rounds=2)
    assert (found.outcome, found.formula, found.accepted) == ("no answer", None, False)
    assert found.words


def test_many_at_once() -> None:
    problems = [
        TranslationProblem(f"Sentence {i}", ["a"], name=f"s{i}", reference="F a") for i in range(6)
    ]
    found = refine_problems(lambda m: "!G !a", problems, caller=Caller(Pace(in_flight=2)))
    assert [one.judgement.outcome for one in found] == ["equivalent"] * 6


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"propositions": []}, ConfigurationError, "at least one name"),
        ({"propositions": "open"}, ConfigurationError, "list of names"),
        ({"reference": "F true"}, ConfigurationError, "the reference is always true"),
        ({"reference": "F ("}, ConfigurationError, "the reference is parse error"),
        ({"reference": "F ajar"}, UnknownPropositionError, "the reference: unknown .* 'ajar'"),
    ],
)
def test_wrong_problems(arguments: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TranslationProblem(**({"sentence": SENTENCE, "propositions": MEANINGS} | arguments))
