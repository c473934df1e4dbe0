"""What a policy is told: the instruction, and the safety rules beside it if that is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from safe_rl.errors import ConfigurationError, near
from safe_rl.logic import to_text
from safe_rl.specs import SpecSet

PromptForm = Literal["none", "words", "ltlf"]
PROMPT_FORMS: tuple[str, ...] = get_args(PromptForm)
"""ManiGuard's three: no clause on safety, the rules in words, the formula."""


def prompt(instruction: str, specs: SpecSet | None = None, form: str = "none") -> str:
    """Return the instruction with the clause on safety that the form asks for.

    The words are the specifications' own ``says``, the formulas their own text, of the instances
    where ``specs`` are bound to objects. Training and evaluation build the prompt here, so the two
    are the same, byte by byte (ManiGuard, appendix C, "Prompt forms").

    Args:
        instruction: the task in words.
        specs: the rules; not needed for ``"none"``.
        form: one of ``PROMPT_FORMS``.

    Raises:
        ConfigurationError: an unknown form, or one that needs rules where there are none.

    >>> from safe_rl.specs import Specification
    >>> rule = Specification("lid_first", "!lifted W lid_on", trigger="true",
    ...                      says="Put the lid on before you lift the pot.")
    >>> prompt("lift the pot", SpecSet([rule]), "words")
    'lift the pot. Safety: Put the lid on before you lift the pot.'
    >>> prompt("lift the pot", SpecSet([rule]), "ltlf")
    'lift the pot. Safety (LTLf): !lifted W lid_on'
    """
    if form not in PROMPT_FORMS:
        raise ConfigurationError(
            f"there is no prompt form {form!r}{near(form, PROMPT_FORMS)}; "
            f"use one of {', '.join(PROMPT_FORMS)}"
        )
    if form == "none":
        return instruction
    if specs is None or not len(specs):
        raise ConfigurationError(f"the prompt form {form!r} states the rules, but there are none")
    if form == "words":
        clauses = _once(rule.says for rule in specs.instances)
        if not clauses:
            raise ConfigurationError(
                "the prompt form 'words' states what the specifications say, but none of "
                f"{', '.join(specs.ids)} says anything; give them `says`, or use 'ltlf'"
            )
        return f"{instruction}. Safety: {' '.join(clauses)}"
    formulas = _once(to_text(rule.formula) for rule in specs.instances)
    joined = formulas[0] if len(formulas) == 1 else " & ".join(f"({text})" for text in formulas)
    return f"{instruction}. Safety (LTLf): {joined}"


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
