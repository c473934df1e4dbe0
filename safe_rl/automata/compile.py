"""LTLf to a minimal DFA, by formula progression on decision diagrams.

Write φ as a Boolean function of the letter at hand, of *memory* (what each past operator knew one
step ago) and of *obligations* about the rest of the trace. An obligation appears only as
``E and v``, where E says "there is a next step" and v stands for "ψ holds there"; strong next is
``E and v``, weak next is ``not E or v``. Then

* a state is such a function with the letter and the memory filled in, a node over E and v. Equal
  functions are equal nodes, so states are canonical up to propositional equivalence of their
  temporal subformulas;
* the state accepts iff it is true at E = false, where no v can occur;
* the next state is found by putting E = true, replacing each v by the function of its ψ, and
  following the letter: its diagram over the atoms has the next states as leaves.

``W``, ``R``, ``M``, ``F`` and ``G`` are expressed through ``U`` and negation, and an until is named
by the diagrams of its operands, so that syntactic variants share their obligations. A bounded
until implies the same one with a later bound; states are taken modulo these implications, so that
``G(a -> F[0,50] b)`` remembers one deadline and not a set of them. Past
operators carry one bit each (Havelund and Roşu, "Synthesizing Monitors for Safety Properties",
TACAS 2002), which makes a state a pair (function, bits).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal

from safe_rl.automata.dfa import DFA
from safe_rl.automata.diagrams import ONE, ZERO, Diagrams
from safe_rl.automata.minimise import minimise
from safe_rl.errors import CompilationLimitError, SpecificationError, UnknownPropositionError, near
from safe_rl.logic import PAST_OPS, TRUE, Formula, Op, holds, parse, weaken_untils

Semantics = Literal["finite", "bad_prefix"]


def compile_ltlf(
    formula: str | Formula,
    *,
    atoms: Sequence[str] | None = None,
    max_states: int = 5000,
    time_limit: float = 60.0,
    semantics: Semantics = "finite",
) -> DFA:
    """Return the minimal complete DFA whose language is the formula's.

    Args:
        formula: An LTLf formula, or its text.
        atoms: The propositions of the DFA, in order; default the formula's own. May name more.
        max_states: How many states may arise before minimisation.
        time_limit: How many seconds the compilation may take.
        semantics: ``"finite"`` for LTLf. ``"bad_prefix"`` reads ``U`` as ``W`` and accepts every
            trace that some extension satisfies, as ManiGuard does: only a finite bad prefix is
            rejected, never the end of a trace.

    Raises:
        FormulaSyntaxError: the text cannot be parsed.
        CompilationLimitError: a limit is reached; the message names it and the usual remedy.
        UnknownPropositionError: ``atoms`` lacks one of the formula's propositions.

    >>> dfa = compile_ltlf("G(a -> X b)")
    >>> dfa.num_states, dfa.accepts([{"a"}, {"b"}]), dfa.accepts([{"a"}])
    (3, True, False)
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    if semantics not in ("finite", "bad_prefix"):
        raise SpecificationError(
            f"semantics must be 'finite' or 'bad_prefix', but is {semantics!r}"
        )
    names = parsed.atoms if atoms is None else tuple(atoms)
    for name in parsed.atoms:
        if name not in names:
            raise UnknownPropositionError(
                f"formula {parsed} uses {name!r}, which is not among the given atoms"
                f"{near(name, names)}"
            )
    read = weaken_untils(parsed) if semantics == "bad_prefix" else parsed
    try:
        dfa = minimise(_Compiler(read, parsed, names, max_states, time_limit).run())
    except RecursionError:
        raise CompilationLimitError(
            f"formula {_short(parsed)} is nested too deeply to compile; "
            "use bounded operators such as X[k] in place of repeated ones, or split it"
        ) from None
    if semantics == "bad_prefix":
        open_states = tuple(not doomed for doomed in dfa.doomed.tolist())
        dfa = minimise(dfa.with_accepting(open_states))
    return dfa


class _Compiler:
    """One compilation: the variables in use and the states found so far."""

    def __init__(
        self,
        formula: Formula,
        source: Formula,
        atoms: tuple[str, ...],
        max_states: int,
        time_limit: float,
    ) -> None:
        self._source = source
        self._formula = formula
        self._atoms = atoms
        self._max_states = max_states
        self._time_limit = time_limit
        self._deadline = time.monotonic() + time_limit
        self._diagrams = Diagrams(self._check_time)
        # Variable order: memory, then atoms, then E, then obligations.
        self._past = [node for node in _subformulas(formula) if node.op in PAST_OPS]
        self._num_memory = len(self._past)
        self._atom_var = {name: self._num_memory + i for i, name in enumerate(atoms)}
        self._end = self._num_memory + len(atoms)
        self._exists = self._diagrams.variable(self._end)
        self._memory_update: list[int] = []
        self._memory: dict[tuple[object, ...], int] = {}
        self._obligations: dict[object, int] = {}
        self._expansion: dict[int, int | Formula] = {}
        self._functions: dict[Formula, int] = {}
        self._substituted: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        # Obligation to its chain (the operands of the until) and its place there (the bound).
        self._deadline_of: dict[int, tuple[tuple[int, int], float]] = {}
        self._chains: set[tuple[int, int]] = set()
        self._chains_matter = False
        self._normal: dict[int, int] = {ZERO: ZERO, ONE: ONE}

    def run(self) -> DFA:
        """Explore the states reachable from the initial one and return the DFA, not minimised."""
        d = self._diagrams
        start = self._obligation(self._formula)
        accepts_empty = ONE if holds(self._formula, ()) else ZERO
        initial = (d.node(self._end, accepts_empty, start), 0)
        # Memory is kept from the first step on, wherever its operator is first asked for.
        for past in self._past:
            self._function(past)
        self._states = {initial: 0}
        self._queue = [initial]
        self._edge_var: list[int] = []
        self._edge_low: list[int] = []
        self._edge_high: list[int] = []
        self._edges: dict[tuple[int, ...], int] = {}
        self._plain_edges: dict[int, int] = {}
        roots: list[int] = []
        for function, bits in self._queue:  # grows while it is read
            if not len(roots) & 63:
                self._check_time()
            roots.append(self._successors(function, bits))
        return DFA(
            atoms=self._atoms,
            roots=tuple(roots),
            var=tuple(self._edge_var),
            low=tuple(self._edge_low),
            high=tuple(self._edge_high),
            accepting=tuple(self._at_end(function) == ONE for function, _ in self._queue),
            initial=0,
            formula=self._source,
        )

    def _at_end(self, function: int) -> int:
        return self._diagrams.low[function] if function > ONE else function

    def _successors(self, function: int, bits: int) -> int:
        """The edges that leave a state: a decision over the atoms with next states as leaves."""
        obliged = self._diagrams.high[function] if function > ONE else function
        if not self._num_memory:
            return self._plain_edge(self._substitute(obliged))
        parts = [self._substitute(obliged), *self._memory_update]
        return self._edge(tuple(self._recall(part, bits) for part in parts))

    def _plain_edge(self, node: int) -> int:
        """What :meth:`_edge` does where there is no memory."""
        found = self._plain_edges.get(node)
        if found is not None:
            return found
        d = self._diagrams
        var = d.var[node]
        if var >= self._end:
            edge = ~self._state((self._normalise(node), 0))
        else:
            below, above = self._plain_edge(d.low[node]), self._plain_edge(d.high[node])
            edge = self._decision(var, below, above)
        self._plain_edges[node] = edge
        return edge

    def _recall(self, node: int, bits: int) -> int:
        """Fill the memory bits in."""
        d = self._diagrams
        while d.var[node] < self._num_memory:
            node = d.high[node] if bits >> d.var[node] & 1 else d.low[node]
        return node

    def _edge(self, parts: tuple[int, ...]) -> int:
        """Split a next function and its memory updates on the atoms, down to a next state."""
        found = self._edges.get(parts)
        if found is not None:
            return found
        var, low, high = self._diagrams.var, self._diagrams.low, self._diagrams.high
        top = min(var[part] for part in parts)
        if top >= self._end:
            bits = sum(1 << i for i, part in enumerate(parts[1:]) if part == ONE)
            edge = ~self._state((self._normalise(parts[0]), bits))
        else:
            below = self._edge(tuple(low[p] if var[p] == top else p for p in parts))
            above = self._edge(tuple(high[p] if var[p] == top else p for p in parts))
            edge = self._decision(top - self._num_memory, below, above)
        self._edges[parts] = edge
        return edge

    def _decision(self, atom: int, below: int, above: int) -> int:
        """The reference that decides on ``atom``; a decision that makes no difference is none."""
        if below == above:
            return below
        self._edge_var.append(atom)
        self._edge_low.append(below)
        self._edge_high.append(above)
        return len(self._edge_var) - 1

    def _state(self, state: tuple[int, int]) -> int:
        found = self._states.get(state)
        if found is None:
            found = self._states[state] = len(self._states)
            self._queue.append(state)
            if found >= self._max_states:
                raise CompilationLimitError(
                    f"formula {_short(self._source)} needs more than {self._max_states} states; "
                    "write one specification per rule instead of a conjunction, "
                    "shorten its bounds, or raise max_states"
                )
        return found

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise CompilationLimitError(
                f"formula {_short(self._source)} takes longer than {self._time_limit:g} s; "
                "write one specification per rule instead of a conjunction, "
                "or raise time_limit"
            )

    def _substitute(self, node: int) -> int:
        """Replace every obligation in ``node`` by the function of its formula."""
        found = self._substituted.get(node)
        if found is None:
            d = self._diagrams
            low, high = self._substitute(d.low[node]), self._substitute(d.high[node])
            expansion = self._expansion[d.var[node]]
            if not isinstance(expansion, int):
                expansion = self._expansion[d.var[node]] = self._function(expansion)
            found = self._substituted[node] = d.ite(expansion, high, low)
        return found

    def _normalise(self, node: int) -> int:
        """Simplify ``node`` by "meeting an earlier deadline is meeting a later one".

        A test is dropped where the implications make it redundant, so that functions that differ
        only on assignments against them become one state.
        """
        if not self._chains_matter:
            return node
        found = self._normal.get(node)
        if found is None:
            d = self._diagrams
            var, low, high = d.var[node], d.low[node], d.high[node]
            if var in self._deadline_of:
                chain, bound = self._deadline_of[var]
                low = self._normalise(self._assume(low, chain, -1, bound, {}))
                high = self._normalise(self._assume(high, chain, bound, -1, {}))
                if self._assume(low, chain, bound, -1, {}) == high:
                    found = low
                elif self._assume(high, chain, -1, bound, {}) == low:
                    found = high
                else:
                    found = d.node(var, low, high)
            else:
                found = d.node(var, self._normalise(low), self._normalise(high))
            self._normal[node] = found
        return found

    def _assume(
        self, node: int, chain: tuple[int, int], met: float, missed: float, seen: dict[int, int]
    ) -> int:
        """Cofactor: deadlines of ``chain`` from ``met`` on hold (-1: none), to ``missed`` fail."""
        d = self._diagrams
        if node <= ONE:
            return node
        if node not in seen:
            var = d.var[node]
            other, bound = self._deadline_of.get(var, (None, 0.0))
            low = self._assume(d.low[node], chain, met, missed, seen)
            high = self._assume(d.high[node], chain, met, missed, seen)
            if other == chain and 0 <= met <= bound:
                seen[node] = high
            elif other == chain and bound <= missed:
                seen[node] = low
            else:
                seen[node] = d.node(var, low, high)
        return seen[node]

    def _obligation(self, formula: Formula) -> int:
        """The variable v that stands for "``formula`` holds at the next step"."""
        node = self._variable(formula, formula)
        if formula.bounds is not None and formula.bounds[0] == 0:
            through, now = (TRUE, *formula.args)[-2:]
            chain = (self._function(through), self._function(now))
            bound = formula.bounds[1]
            place = math.inf if bound is None else bound
            self._set_deadline(self._diagrams.var[node], chain, place)
        return node

    def _set_deadline(self, var: int, chain: tuple[int, int], bound: float) -> None:
        """Enter an obligation in its chain; nothing is implied before one has two of them."""
        if var not in self._deadline_of:
            self._chains_matter |= chain in self._chains
            self._chains.add(chain)
        self._deadline_of[var] = (chain, bound)

    def _variable(self, key: object, expansion: int | Formula) -> int:
        var = self._obligations.get(key)
        if var is None:
            var = self._obligations[key] = self._end + 1 + len(self._obligations)
            self._expansion[var] = expansion
        return self._diagrams.variable(var)

    def _next(self, formula: Formula) -> int:
        """Strong next. It commutes with Boolean operators, which keeps obligations few."""
        d = self._diagrams
        match formula.op, formula.args:
            case Op.TRUE, _:
                return self._exists
            case Op.FALSE, _:
                return ZERO
            case Op.NOT, (p,):
                return d.conjoin(self._exists, d.negate(self._next(p)))
            case Op.AND, (p, q):
                return d.conjoin(self._next(p), self._next(q))
            case Op.OR, (p, q):
                return d.disjoin(self._next(p), self._next(q))
        return d.node(self._end, ZERO, self._obligation(formula))

    def _until(self, p: int, q: int) -> int:
        """``p U q = q or (p and next(p U q))``, named by the functions of its operands."""
        if q <= ONE:
            return q
        d = self._diagrams
        key = (p, q)
        var = self._obligations.get(key)
        if var is not None:
            return self._expansion[var]  # type: ignore[return-value]
        again = d.node(self._end, ZERO, self._variable(key, ZERO))
        result = d.disjoin(q, d.conjoin(p, again))
        self._expansion[self._obligations[key]] = result
        self._set_deadline(self._obligations[key], key, math.inf)
        return result

    def _function(self, formula: Formula) -> int:
        """The function of ``formula``: a diagram over memory, atoms, E and obligations."""
        found = self._functions.get(formula)
        if found is None:
            found = self._functions[formula] = self._expand(formula)
        return found

    def _expand(self, f: Formula) -> int:
        d, of = self._diagrams, self._function
        if f.bounds is not None:
            return self._bounded(f, *f.bounds)
        match f.op, f.args:
            case Op.TRUE, _:
                return ONE
            case Op.FALSE, _:
                return ZERO
            case Op.LAST, _:
                return d.negate(self._exists)
            case Op.ATOM, _:
                return d.variable(self._atom_var[f.name])
            case Op.NOT, (p,):
                return d.negate(of(p))
            case Op.AND, (p, q):
                return d.conjoin(of(p), of(q))
            case Op.OR, (p, q):
                return d.disjoin(of(p), of(q))
            case Op.XOR, (p, q):
                return d.ite(of(p), d.negate(of(q)), of(q))
            case Op.IMPLIES, (p, q):
                return d.ite(of(p), of(q), ONE)
            case Op.IFF, (p, q):
                return d.ite(of(p), of(q), d.negate(of(q)))
            case Op.NEXT, (p,):
                return self._next(p)
            case Op.WEAK_NEXT, (p,):
                return d.negate(self._next(~p))
            case Op.EVENTUALLY, (p,):
                return self._until(ONE, of(p))
            case Op.ALWAYS, (p,):
                return d.negate(self._until(ONE, d.negate(of(p))))
            case Op.UNTIL, (p, q):
                return self._until(of(p), of(q))
            case Op.WEAK_UNTIL, (p, q):
                return self._release(of(q), d.disjoin(of(p), of(q)))
            case Op.RELEASE, (p, q):
                return self._release(of(p), of(q))
            case Op.STRONG_RELEASE, (p, q):
                return self._until(of(q), d.conjoin(of(p), of(q)))
            case Op.YESTERDAY, (p,):
                return self._remember(("Y", of(p)), lambda _: of(p))[0]
            case Op.ONCE, (p,):
                return self._since(ONE, of(p))
            case Op.HISTORICALLY, (p,):
                return d.negate(self._since(ONE, d.negate(of(p))))
            case Op.SINCE, (p, q):
                return self._since(of(p), of(q))
        raise AssertionError(f"unknown operator {f.op!r}")

    def _release(self, p: int, q: int) -> int:
        d = self._diagrams
        return d.negate(self._until(d.negate(p), d.negate(q)))

    def _bounded(self, f: Formula, low: int, high: int | None) -> int:
        """Bounded operators, unrolled one step: exact, and one obligation per remaining bound."""
        d = self._diagrams

        def later(k: int = 1) -> Formula:
            """The same formula with its interval moved ``k`` steps nearer."""
            first = max(low - k, 0)
            last = None if high is None else high - k
            bounds = None if (first, last) == (0, None) else (first, last)
            return Formula(f.op, f.args, "", bounds)

        match f.op, f.args:
            case ((Op.NEXT | Op.WEAK_NEXT), (p,)):
                rest = p if low == 1 else Formula(Op.NEXT, (p,), "", _steps(low - 1))
                if f.op is Op.NEXT:
                    return self._next(rest)
                inner = ~p if low == 1 else Formula(Op.NEXT, (~p,), "", _steps(low - 1))
                return d.negate(self._next(inner))
            case Op.ALWAYS, (p,):
                return d.negate(self._function(Formula(Op.EVENTUALLY, (~p,), "", f.bounds)))
            case Op.EVENTUALLY, (p,):
                now, through = self._function(p), ONE
            case _, (p, q):
                now, through = self._function(q), self._function(p)
        if (low, high) == (0, None):
            return self._until(through, now)
        if low > 0:
            return d.conjoin(through, self._next(later()))
        if high == 0:
            return now
        return d.disjoin(now, d.conjoin(through, self._next(later())))

    def _since(self, p: int, q: int) -> int:
        """``p S q = q or (p and yesterday(p S q))``."""
        d = self._diagrams
        return self._remember(("S", p, q), lambda y: d.disjoin(q, d.conjoin(p, y)))[1]

    def _remember(self, key: tuple[object, ...], now: Callable[[int], int]) -> tuple[int, int]:
        """A bit that holds ``now(bit)`` of the step before: the bit, and its function now."""
        bit = self._memory.get(key)
        if bit is None:
            bit = self._memory[key] = len(self._memory_update)
            self._memory_update.append(ZERO)
            variable = self._diagrams.variable(bit)
            self._memory_update[bit] = now(variable)
        return self._diagrams.variable(bit), self._memory_update[bit]


def _steps(k: int) -> tuple[int, int] | None:
    return None if k == 1 else (k, k)


def _subformulas(formula: Formula) -> list[Formula]:
    seen: dict[Formula, None] = {}
    stack = [formula]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack.extend(node.args)
    return list(seen)


def _short(formula: Formula) -> str:
    text = str(formula)
    return repr(text if len(text) <= 120 else text[:100] + " … " + text[-15:])
