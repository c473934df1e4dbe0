"""What planners are told: the texts of prompts, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GRAMMAR: Final = """\
Formulas are in LTLf, linear temporal logic on finite traces:
- true, false, ! (not), & (and), | (or), -> (implies), <-> (if and only if)
- X p: there is a next step, and p holds there; WX p: p holds at the next step, if there is one
- F p: p at this step or later; G p: p at this step and at every later one
- p U q: q comes, and p holds at every step before it; p W q: the same, but q may never come
- p R q: q holds up to and including the first step at which p does, if there is one
- F[a,b] p, G[a,b] p: the same within the steps from a to b from now
- Y p: p at the step before; O p: p at some step so far; H p: p at every step so far"""
"""The operators that planners are told of; ``docs/semantics.md`` has them all."""


def translation_prompt(sentence: str, meanings: Mapping[str, str]) -> str:
    """Return the request to translate a sentence over the named propositions."""
    names = "\n".join(
        f"- {name}" + (f": {says}" if says else "") for name, says in meanings.items()
    )
    return f"""\
Translate a sentence into a formula.

{GRAMMAR}

The propositions, and no others may be used:
{names}

The sentence: {sentence}

Answer with the formula only, on one line."""
