"""The reference semantics of LTLf: slow, and as close to the definition as code can be.

Every compiled automaton is tested against :func:`holds`. The clauses are those of De Giacomo and
Vardi (IJCAI 2013, section 2), with weak operators and pure past added in the usual way.

The empty trace has no step: on it every atom, ``last``, strong next, ``F``, ``U`` and ``M`` fail,
weak next, ``G``, ``W`` and ``R`` hold, ``Y``, ``O`` and ``S`` fail, ``H`` holds, and Boolean
operators keep their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from safe_rl.logic.formula import Bounds, Formula, Op
from safe_rl.logic.letters import Letter, truth


def holds(formula: Formula | str, trace: Sequence[Letter], position: int = 0) -> bool:
    """Return whether ``trace`` satisfies ``formula`` at ``position``.

    Args:
        formula: The formula, or its text.
        trace: A finite sequence of letters, possibly empty.
        position: A step of the trace, counted from 0 (0 also for the empty trace).

    Raises:
        IndexError: ``position`` lies outside the trace.
        GroundingError: a letter given as a mapping lacks a proposition or is not Boolean.

    >>> holds("G(a -> WX b)", [{"a"}]), holds("G(a -> X b)", [{"a"}])
    (True, False)
    """
    if isinstance(formula, str):
        from safe_rl.logic.parser import parse

        formula = parse(formula)
    n = len(trace)
    if not 0 <= position < max(n, 1):
        raise IndexError(f"position {position} lies outside a trace of {n} steps")
    known: dict[tuple[Formula, int], bool] = {}

    def at(f: Formula, i: int) -> bool:
        key = (f, i)
        if key not in known:
            known[key] = evaluate(f, i)
        return known[key]

    def window(bounds: Bounds | None, i: int) -> range:
        """The steps of the trace that lie within ``bounds`` of step ``i``."""
        low, high = bounds or (0, None)
        return range(i + low, n if high is None else min(n, i + high + 1))

    def evaluate(f: Formula, i: int) -> bool:
        match f.op, f.args:
            case Op.TRUE, _:
                return True
            case Op.FALSE, _:
                return False
            case Op.LAST, _:
                return i == n - 1
            case Op.ATOM, _:
                return i < n and truth(trace[i], f.name)
            case Op.NOT, (p,):
                return not at(p, i)
            case Op.AND, (p, q):
                return at(p, i) and at(q, i)
            case Op.OR, (p, q):
                return at(p, i) or at(q, i)
            case Op.XOR, (p, q):
                return at(p, i) != at(q, i)
            case Op.IMPLIES, (p, q):
                return not at(p, i) or at(q, i)
            case Op.IFF, (p, q):
                return at(p, i) == at(q, i)
            case Op.NEXT, (p,):
                j = i + (f.bounds or (1, 1))[0]
                return j < n and at(p, j)
            case Op.WEAK_NEXT, (p,):
                j = i + (f.bounds or (1, 1))[0]
                return j >= n or at(p, j)
            case Op.EVENTUALLY, (p,):
                return any(at(p, j) for j in window(f.bounds, i))
            case Op.ALWAYS, (p,):
                return all(at(p, j) for j in window(f.bounds, i))
            case Op.UNTIL, (p, q):
                return any(
                    at(q, j) and all(at(p, k) for k in range(i, j)) for j in window(f.bounds, i)
                )
            case Op.WEAK_UNTIL, (p, q):
                return all(at(p, j) or any(at(q, k) for k in range(i, j + 1)) for j in range(i, n))
            case Op.RELEASE, (p, q):
                return all(at(q, j) or any(at(p, k) for k in range(i, j)) for j in range(i, n))
            case Op.STRONG_RELEASE, (p, q):
                return any(at(p, j) and all(at(q, k) for k in range(i, j + 1)) for j in range(i, n))
            case Op.YESTERDAY, (p,):
                return 0 < i <= n - 1 and at(p, i - 1)
            case Op.ONCE, (p,):
                return any(at(p, j) for j in range(min(i + 1, n)))
            case Op.HISTORICALLY, (p,):
                return all(at(p, j) for j in range(min(i + 1, n)))
            case Op.SINCE, (p, q):
                return any(
                    at(q, j) and all(at(p, k) for k in range(j + 1, i + 1))
                    for j in range(min(i + 1, n))
                )
        raise AssertionError(f"unknown operator {f.op!r}")

    return at(formula, position)
