"""A sentence to an LTLf formula, by any planner, with the parser's own errors as feedback.

A formula that no trace or every trace satisfies is never taken: it looks like a rule and tests
nothing. Against a reference, two formulas are the same if their automata accept the same traces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from safe_rl.automata import DFA, compile_ltlf, difference
from safe_rl.errors import (
    CompilationLimitError,
    ConfigurationError,
    FormulaSyntaxError,
    UnknownPropositionError,
)
from safe_rl.feedback.calls import Caller
from safe_rl.feedback.loop import refine_problem
from safe_rl.feedback.planners import Message, Planner
from safe_rl.feedback.prompts import translation_prompt
from safe_rl.feedback.rounds import Judgement, Round
from safe_rl.logic import FALSE, TRUE, Formula, Op, parse

EQUIVALENT: Final = "equivalent"
WELL_FORMED: Final = "well-formed"
INEQUIVALENT: Final = "inequivalent"
PARSE_ERROR: Final = "parse error"
UNKNOWN_PROPOSITIONS: Final = "unknown propositions"
ALWAYS_TRUE: Final = "always true"
UNSATISFIABLE: Final = "unsatisfiable"
TOO_LARGE: Final = "too large"

_SOME_STEP: Final = Formula(Op.EVENTUALLY, (TRUE,))


@dataclass(frozen=True)
class Translation:
    """What became of a sentence.

    Attributes:
        sentence: what was translated.
        formula: the formula of the last round, or ``None`` where there is none that parses.
        outcome: ``"equivalent"`` to the reference; ``"well-formed"`` where there is no reference;
            or why it is not accepted: ``"inequivalent"``, ``"parse error"``,
            ``"unknown propositions"``, ``"always true"``, ``"unsatisfiable"``, ``"too large"``
            or ``"no answer"``.
        difference: a shortest trace on which formula and reference differ, or ``None``.
        rounds: all rounds.
    """

    sentence: str
    formula: Formula | None
    outcome: str
    difference: tuple[frozenset[str], ...] | None
    rounds: tuple[Round, ...]

    @property
    def accepted(self) -> bool:
        """Whether the formula may be used."""
        return self.outcome in (EQUIVALENT, WELL_FORMED)

    @property
    def words(self) -> str:
        """What is wrong with the formula, or empty."""
        return self.rounds[-1].judgement.words or self.rounds[-1].fault


@dataclass(frozen=True)
class Verdict:
    """What :func:`check_formula` says of a text.

    Attributes:
        outcome: see :class:`Translation`.
        formula: what the text denotes, or ``None``.
        words: what is wrong with it, or empty.
        difference: a shortest trace on which it differs from the reference, or ``None``.
    """

    outcome: str
    formula: Formula | None = None
    words: str = ""
    difference: tuple[frozenset[str], ...] | None = None


def distinguishing_trace(
    first: str | Formula, second: str | Formula
) -> tuple[frozenset[str], ...] | None:
    """Return a shortest trace that exactly one of two formulas accepts, or ``None``.

    The empty trace, which no episode is, does not count.

    Raises:
        FormulaSyntaxError: a text is no formula.
        CompilationLimitError: an automaton has more than 2,000 states or takes more than 10 s.

    >>> distinguishing_trace("F a", "!G !a") is None
    True
    >>> distinguishing_trace("G(a -> X b)", "G(a -> WX b)")
    (frozenset({'a'}),)
    """
    first, second = (parse(f) if isinstance(f, str) else f for f in (first, second))
    word = difference(_automaton(_SOME_STEP & first), _automaton(_SOME_STEP & second))
    return None if word is None else tuple(word)


def _automaton(formula: Formula) -> DFA:
    return compile_ltlf(formula, max_states=2000, time_limit=10.0)


def check_formula(
    text: str,
    propositions: Sequence[str] | Mapping[str, str],
    reference: str | Formula | None = None,
    *,
    show_difference: bool = True,
) -> Verdict:
    """Return whether a text is a formula that may be used, and what is wrong with it.

    Args:
        text: a formula.
        propositions: those it may name.
        reference: the formula that it should be equivalent to.
        show_difference: whether the words give a trace on which the two differ.

    Raises:
        CompilationLimitError: the reference is too large.

    >>> check_formula("G(open -> F shut", ["open", "shut"]).outcome
    'parse error'
    >>> check_formula("G(open -> F shut)", ["open", "shut"], "G(!open | F shut)").outcome
    'equivalent'
    >>> check_formula("F shut | !F shut", ["open", "shut"]).outcome
    'always true'
    """
    try:
        formula = parse(text, list(propositions))
    except FormulaSyntaxError as error:
        return Verdict(PARSE_ERROR, words=f"The formula cannot be parsed: {error}")
    except UnknownPropositionError as error:
        known = ", ".join(propositions)
        return Verdict(UNKNOWN_PROPOSITIONS, words=f"{error}\nThe propositions are: {known}.")
    try:
        for constant, outcome, words in (
            (TRUE, ALWAYS_TRUE, "is true on every trace, so it says nothing"),
            (FALSE, UNSATISFIABLE, "is false on every trace, so nothing can satisfy it"),
        ):
            if distinguishing_trace(formula, constant) is None:
                return Verdict(outcome, formula, f"The formula {formula} {words}.")
    except CompilationLimitError as error:
        return Verdict(TOO_LARGE, formula, f"The formula is too large: {error}")
    if reference is None:
        return Verdict(WELL_FORMED, formula)
    word = distinguishing_trace(formula, reference)
    if word is None:
        return Verdict(EQUIVALENT, formula)
    words = f"The formula {formula} does not mean the same as the sentence."
    if show_difference:
        accepts = _automaton(formula).accepts(word)
        steps = "\n".join(
            f"step {i}: {', '.join(sorted(letter)) or 'none'}" for i, letter in enumerate(word)
        )
        fits, does_not = ("your formula", "the sentence")[:: 1 if accepts else -1]
        words += (
            f" A trace on which these propositions are true satisfies {fits}, "
            f"but not {does_not}:\n{steps}"
        )
    return Verdict(INEQUIVALENT, formula, words, word)


@dataclass(frozen=True)
class TranslationProblem:
    """A sentence to translate, as a problem for :func:`safe_rl.feedback.loop.refine_problems`.

    Attributes:
        sentence: the rule in words.
        propositions: the names that may be used; a mapping gives what each means.
        reference: the formula that the answer should be equivalent to, or ``None``.
        show_difference: whether the words show a trace on which the two differ.
        name: default: the sentence.
        split: the set it belongs to.

    Raises:
        ConfigurationError: there is no proposition, or the reference is always true or false.
        UnknownPropositionError: the reference names something else.
    """

    sentence: str
    propositions: Sequence[str] | Mapping[str, str]
    reference: str | Formula | None = None
    show_difference: bool = True
    name: str = ""
    split: str = ""
    _parsed: Formula | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if isinstance(self.propositions, str) or not self.propositions:
            raise ConfigurationError(
                f"propositions {self.propositions!r} must be a list of names, or a mapping "
                "from names to what they mean, with at least one name"
            )
        object.__setattr__(self, "name", self.name or self.sentence)
        if self.reference is not None:
            checked = check_formula(str(self.reference), self.propositions)
            if checked.outcome == UNKNOWN_PROPOSITIONS:
                raise UnknownPropositionError(f"the reference: {checked.words}")
            if checked.outcome != WELL_FORMED:
                raise ConfigurationError(f"the reference is {checked.outcome}. {checked.words}")
            object.__setattr__(self, "_parsed", checked.formula)

    def opening(self) -> Sequence[Message]:
        """The sentence, the propositions and the grammar."""
        meanings = self.propositions
        if not isinstance(meanings, Mapping):
            meanings = dict.fromkeys(meanings, "")
        return [{"role": "user", "content": translation_prompt(self.sentence, meanings)}]

    def check(self, answer: str) -> Verdict:
        """Check the formula in an answer."""
        text = formula_in(answer)
        if not text:
            return Verdict(PARSE_ERROR, words="The answer holds no formula.")
        return check_formula(
            text, self.propositions, self._parsed, show_difference=self.show_difference
        )

    def judge(self, answer: str) -> Judgement:
        """Check an answer; an accepted formula counts as success and as safe."""
        verdict = self.check(answer)
        accepted = verdict.outcome in (EQUIVALENT, WELL_FORMED)
        ask = "\nAnswer with the corrected formula only."
        return Judgement(
            outcome=verdict.outcome,
            words=verdict.words and verdict.words + ask,
            plan=() if verdict.formula is None else (str(verdict.formula),),
            valid=verdict.formula is not None,
            success=accepted,
            safe=accepted,
            vacuous=False,
        )


def translate(
    sentence: str,
    propositions: Sequence[str] | Mapping[str, str],
    planner: Planner,
    *,
    reference: str | Formula | None = None,
    max_rounds: int = 3,
    show_difference: bool = True,
    caller: Caller | None = None,
) -> Translation:
    """Translate a sentence into an LTLf formula.

    Args:
        sentence: the rule in words.
        propositions: the names that may be used; a mapping gives what each means.
        planner: answers a conversation, such as an
            :class:`~safe_rl.feedback.endpoints.Endpoint`.
        reference: the formula that the answer should be equivalent to.
        max_rounds: how many answers at most.
        show_difference: whether the feedback shows a trace on which answer and reference differ;
            without it, the planner is told only that they do.
        caller: paces the calls and tries again.

    >>> answers = iter(["G(open -> F shut", "G(open -> F shut)"])
    >>> found = translate(
    ...     "Whatever is opened is shut again.", ["open", "shut"], lambda messages: next(answers)
    ... )
    >>> print(found.formula, "|", found.outcome, "|", len(found.rounds), "rounds")
    G(open -> F shut) | well-formed | 2 rounds
    """
    problem = TranslationProblem(sentence, propositions, reference, show_difference)
    done = refine_problem(planner, problem, max_rounds=max_rounds, caller=caller)
    last = done.last
    verdict = Verdict(last.judgement.outcome) if last.fault else problem.check(last.answer)
    return Translation(sentence, verdict.formula, verdict.outcome, verdict.difference, done.rounds)


_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"```(?:[\w+-]*[ \t]*\n|ltlf?[ \t]+)?(.*?)```", re.DOTALL)
_INLINE: Final = re.compile(r"`([^`\n]+)`")
_NAMED: Final = re.compile(
    r"^[\s*>#-]*(?:(?:the|final|corrected|ltlf?)\s+)*(?:formula|ltlf?|answer)\b[*\s]*(?:is\s*)?[:=]"
    r"[*\s]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def formula_in(answer: str) -> str:
    r"""Return the formula that an answer holds: in JSON, in a fence, after "Formula:", or bare.

    Where there are several of a kind, it is the last, which is the one a text arrives at.

    >>> formula_in("Sure! The formula is:\n```ltl\nG(a -> F b)\n```\nHope this helps.")
    'G(a -> F b)'
    >>> formula_in('{"formula": "F a"}'), formula_in("Formula: `F a`."), formula_in("F a")
    ('F a', 'F a', 'F a')
    """
    text = _THOUGHTS.sub("", answer).strip()
    fences = [body.strip() for body in _FENCE.findall(text) if body.strip()]
    for candidate in (text, *reversed(fences)):
        try:
            data = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get("formula"), str):
            return str(data["formula"]).strip()
    if fences:
        return _bare(fences[-1])
    named = [part.strip() for part in _NAMED.findall(text) if part.strip()]
    if named:
        return _bare(named[-1])
    quoted = _INLINE.findall(text)
    if quoted:
        return _bare(quoted[-1])
    lines = [line for line in text.splitlines() if line.strip()]
    return _bare(lines[-1]) if lines else ""


def _bare(text: str) -> str:
    """Without a name before it, marks around it, or a full stop behind it."""
    named = _NAMED.match(text)
    if named and named[1].strip():
        text = named[1]
    quoted = _INLINE.search(text)
    if quoted:
        text = quoted[1]
    return " ".join(text.split()).strip("$* ").rstrip(".;").strip()
