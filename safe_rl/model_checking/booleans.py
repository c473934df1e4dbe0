"""What does not look beyond one state: atoms, constants and Boolean operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from safe_rl.logic.ctl import CTL
from safe_rl.logic.formula import Op
from safe_rl.model_checking.labels import Bools
from safe_rl.model_checking.structure import Kripke


def states_of(structure: Kripke, f: CTL, operands: Sequence[Bools]) -> Bools:
    """Return the states in which an atom, a constant or a Boolean operator holds.

    Args:
        structure: Has the labels.
        f: Such a node of a formula.
        operands: Where its operands hold, ``bool[states]`` each.
    """
    match f.op, operands:
        case Op.TRUE, _:
            return np.ones(structure.num_states, dtype=bool)
        case Op.FALSE, _:
            return np.zeros(structure.num_states, dtype=bool)
        case Op.ATOM, _:
            return structure.truth(f.name)
        case Op.NOT, [p]:
            return ~p
        case Op.AND, [p, q]:
            return p & q
        case Op.OR, [p, q]:
            return p | q
        case Op.XOR, [p, q]:
            return p ^ q
        case Op.IMPLIES, [p, q]:
            return ~p | q
        case Op.IFF, [p, q]:
            return p == q
    raise AssertionError(f"{f.op!r} looks beyond one state")
