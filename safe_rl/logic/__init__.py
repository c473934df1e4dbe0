"""LTLf formulas: parsing, printing and the reference semantics."""

from safe_rl.logic.formula import (
    FALSE,
    FUTURE_OPS,
    LAST,
    PAST_OPS,
    TRUE,
    Formula,
    Op,
    atom,
    weaken_untils,
)
from safe_rl.logic.letters import Letter, as_bool, missing_propositions, truth
from safe_rl.logic.lexer import FormulaWarning
from safe_rl.logic.parser import parse
from safe_rl.logic.printer import atom_text, to_text
from safe_rl.logic.semantics import holds

__all__ = [
    "FALSE",
    "FUTURE_OPS",
    "LAST",
    "PAST_OPS",
    "TRUE",
    "Formula",
    "FormulaWarning",
    "Letter",
    "Op",
    "as_bool",
    "atom",
    "atom_text",
    "holds",
    "missing_propositions",
    "parse",
    "to_text",
    "truth",
    "weaken_untils",
]
