"""Automata: LTLf formulas as minimal DFAs, and what can be read off them."""

from safe_rl.automata.compare import difference
from safe_rl.automata.compile import compile_ltlf
from safe_rl.automata.dfa import DENSE_ATOMS, DFA, expand
from safe_rl.automata.export import from_json, to_dot, to_hoa, to_json, to_table
from safe_rl.automata.minimise import minimise

__all__ = [
    "DENSE_ATOMS",
    "DFA",
    "compile_ltlf",
    "difference",
    "expand",
    "from_json",
    "minimise",
    "to_dot",
    "to_hoa",
    "to_json",
    "to_table",
]
