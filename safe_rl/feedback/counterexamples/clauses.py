"""Which part of a formula was broken: its clauses, each with an automaton of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

from safe_rl.automata import DFA, compile_ltlf
from safe_rl.errors import CompilationLimitError
from safe_rl.logic import Formula, Op
from safe_rl.specs import Specification

MOST_CLAUSES: Final = 24
"""A formula that falls into more parts than this is left whole."""
_JOINT_ENTRIES: Final = 1 << 14
_STATES, _SECONDS = 1000, 5.0

_OVER_LEFT: Final = (Op.UNTIL, Op.WEAK_UNTIL)
_OVER_RIGHT: Final = (Op.RELEASE, Op.STRONG_RELEASE)
_OVER_ONE: Final = (Op.ALWAYS, Op.NEXT, Op.WEAK_NEXT)


def split_clauses(formula: Formula) -> tuple[Formula, ...]:
    """Return formulas whose conjunction is equivalent to ``formula`` on every trace.

    Conjunctions are looked for at the top and under ``G``, ``X``, the consequent of an implication,
    the left of an until and the right of a release, over which they distribute; a disjunction
    before an arrow gives one clause for each case.

    >>> from safe_rl.logic import parse
    >>> [str(c) for c in split_clauses(parse("G(a | b -> c & X d) & !e"))]
    ['G(a -> c)', 'G(a -> X d)', 'G(b -> c)', 'G(b -> X d)', '!e']
    """
    parts = tuple(dict.fromkeys(_split(formula)))
    return parts if len(parts) <= MOST_CLAUSES else (formula,)


def _split(f: Formula) -> tuple[Formula, ...]:
    parts = tuple(_parts(f))
    return parts if 1 < len(parts) <= MOST_CLAUSES else (f,)


def _parts(f: Formula) -> Iterable[Formula]:
    match f.op, f.args:
        case Op.AND, (p, q):
            return (*_split(p), *_split(q))
        case Op.IFF, (p, q):
            return (*_split(p >> q), *_split(q >> p))
        case Op.IMPLIES, (p, q):
            return (a >> c for a, c in product(_cases(p), _split(q)))
        case Op.OR, (p, q):
            return (a | b for a, b in product(_split(p), _split(q)))
        case Op.NOT, (p,):
            return _parts_of_negation(p)
        case op, (p,) if op in _OVER_ONE:
            return (Formula(op, (c,), "", f.bounds) for c in _split(p))
        case op, (p, q) if op in _OVER_LEFT:
            return (Formula(op, (c, q), "", f.bounds) for c in _split(p))
        case op, (p, q) if op in _OVER_RIGHT:
            return (Formula(op, (p, c), "", f.bounds) for c in _split(q))
    return (f,)


def _parts_of_negation(p: Formula) -> Iterable[Formula]:
    match p.op, p.args:
        case Op.NOT, (q,):
            return _split(q)
        case Op.OR, (q, r):
            return (*_split(~q), *_split(~r))
        case Op.IMPLIES, (q, r):
            return (*_split(q), *_split(~r))
        case Op.EVENTUALLY, (q,):
            return _split(Formula(Op.ALWAYS, (~q,), "", p.bounds))
    return (~p,)


def _cases(p: Formula) -> tuple[Formula, ...]:
    """The disjuncts of a condition."""
    return (*_cases(p.args[0]), *_cases(p.args[1])) if p.op is Op.OR else (p,)


class ClauseMonitor:
    """The clauses of a specification, each with an automaton, stepped side by side.

    Attributes:
        clauses: over the specification's own atoms.
    """

    def __init__(self, spec: Specification) -> None:
        """Split the formula; the automata are compiled when a violation is first looked at."""
        self.clauses = split_clauses(spec.formula)
        self._spec = spec
        self._dfas: tuple[DFA, ...] | None = None
        self._joint: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]] = {}

    def broken(self, letters: Sequence[tuple[int, ...]], *, by_end: bool) -> tuple[int, ...]:
        """Return which clauses a run of the formula's automaton broke, as indices.

        Args:
            letters: from its start to the violation; truths of the specification's atoms.
            by_end: the end of the episode violated; else the last letter did.

        Returns:
            Empty where it cannot be told: several clauses together can rule each other out while
            each could still be satisfied, and a clause can be too large to compile.
        """
        if len(self.clauses) == 1:
            return (0,)
        dfas = self._compiled()
        if not dfas:
            return ()
        joint = self._joint
        states = tuple(dfa.initial for dfa in dfas)
        for letter in letters:
            key = (states, letter)
            reached = joint.get(key)
            if reached is None:
                if len(joint) >= _JOINT_ENTRIES:
                    joint.clear()
                reached = joint[key] = tuple(map(_follow, dfas, states, [letter] * len(dfas)))
            states = reached
        if by_end:
            failed = [not dfa.accepting[s] for dfa, s in zip(dfas, states, strict=True)]
        else:
            failed = [dfa.is_doomed(s) for dfa, s in zip(dfas, states, strict=True)]
        return tuple(i for i, fails in enumerate(failed) if fails)

    def _compiled(self) -> tuple[DFA, ...]:
        """The automata, or nothing where one passes its limit."""
        if self._dfas is None:
            spec = self._spec
            try:
                self._dfas = tuple(
                    compile_ltlf(
                        clause,
                        atoms=spec.atoms,
                        semantics=spec.semantics,
                        max_states=_STATES,
                        time_limit=_SECONDS,
                    )
                    for clause in self.clauses
                )
            except CompilationLimitError:
                self._dfas = ()
        return self._dfas


@lru_cache(maxsize=512)
def clause_monitor(spec: Specification) -> ClauseMonitor:
    """Return the clauses of a specification, shared by its instances."""
    return ClauseMonitor(spec)


def _follow(dfa: DFA, state: int, letter: tuple[int, ...]) -> int:
    ref = dfa.roots[state]
    while ref >= 0:
        ref = dfa.high[ref] if letter[dfa.var[ref]] else dfa.low[ref]
    return ~ref
