"""Formulas in answers: found between the words, parsed, and held against a reference.

A formula that no trace or every trace satisfies is never taken: it looks like a rule and tests
nothing. Two formulas are the same if their automata accept the same traces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from safe_rl.automata import DFA, compile_ltlf, difference
from safe_rl.errors import CompilationLimitError, FormulaSyntaxError, UnknownPropositionError
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
