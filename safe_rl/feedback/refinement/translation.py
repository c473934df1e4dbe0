"""A sentence to an LTLf formula, by any planner, with the parser's own errors as feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from safe_rl.errors import (
    ConfigurationError,
    UnknownPropositionError,
)
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.refinement.calls import Caller
from safe_rl.feedback.refinement.formulas import (
    EQUIVALENT,
    PARSE_ERROR,
    UNKNOWN_PROPOSITIONS,
    WELL_FORMED,
    Verdict,
    check_formula,
    formula_in,
)
from safe_rl.feedback.refinement.loop import refine_problem
from safe_rl.feedback.refinement.planners import Message, Planner
from safe_rl.feedback.refinement.prompts import translation_prompt
from safe_rl.feedback.refinement.rounds import Round
from safe_rl.logic import Formula


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
class TranslationProblem:
    """A sentence to translate, as a problem of the refinement loop.

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
            :class:`~safe_rl.feedback.refinement.Endpoint`.
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
