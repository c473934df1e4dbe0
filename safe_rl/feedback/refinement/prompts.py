"""What planners are told: the texts of prompts, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


CORRECT_THE_PLAN: Final = "Answer with the whole corrected plan only."

CHANCE: Final = """\
Actions can turn out otherwise than intended: a wet thing may slip from the hand, a pour may spill.
The plan must be safe however they turn out."""


def formulas_prompt(formulas: Iterable[str], ctl: Iterable[str] = ()) -> str:
    """Return the rules of safety as formulas, with the grammar; empty if there are none."""
    rules, over_all = "\n".join(f"- {f}" for f in formulas), "\n".join(f"- {f}" for f in ctl)
    parts = []
    if rules:
        parts.append(f"{GRAMMAR}\n\nEvery run must satisfy these rules of safety:\n{rules}")
    if over_all:
        parts.append(
            "All ways in which the plan may go, taken together, must satisfy these formulas in "
            f"CTL (A: on all ways from here; E: on some):\n{over_all}"
        )
    return "\n\n".join(parts)


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
