"""``safe-rl compile``: a formula's minimal automaton, as a table or in an exchange format."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal

from safe_rl.automata import DFA, compile_ltlf
from safe_rl.automata.export import to_dot, to_hoa, to_json, to_table


def show_automaton(
    formula: str,
    form: str,
    semantics: Literal["finite", "bad_prefix"],
    max_states: int,
    time_limit: float,
) -> None:
    """Compile ``formula`` and print it in the given form.

    Raises:
        FormulaSyntaxError: with the text and a caret.
        CompilationLimitError: the automaton passes a limit.
    """
    dfa = compile_ltlf(formula, max_states=max_states, time_limit=time_limit, semantics=semantics)
    writers: dict[str, Callable[[DFA], str]] = {
        "table": _table,
        "dot": to_dot,
        "hoa": to_hoa,
        "json": to_json,
    }
    text = writers[form](dfa)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _table(dfa: DFA) -> str:
    atoms = ", ".join(dfa.atoms) or "none"
    states = f"{dfa.num_states} state" + ("s" if dfa.num_states != 1 else "")
    head = [
        f"formula  {dfa.formula}",
        f"atoms    {atoms}",
        f"states   {states}, initial {dfa.initial}, "
        f"accepting {_names(dfa, dfa.is_accepting)}, doomed {_names(dfa, dfa.is_doomed)}, "
        f"safe {_names(dfa, dfa.is_safe)}",
    ]
    return "\n".join([*head, "", to_table(dfa)])


def _names(dfa: DFA, holds: Callable[[int], bool]) -> str:
    return "{" + ", ".join(str(q) for q in range(dfa.num_states) if holds(q)) + "}"
