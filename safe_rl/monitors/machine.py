"""From one specification to one Mealy machine: the five rules of the monitor as a table.

The state of a monitor instance is: armed with a state of the main DFA, or in violation with a state
of the recovery DFA; and, in both, what the trigger was one step ago. Its rules are

1. Armed: the main DFA consumes the letter. If it is doomed then, a violation starts at this step,
   and the recovery DFA starts by consuming this same letter.
2. In violation: the step is exposed, and the recovery DFA consumes the letter. If it accepts then,
   the instance has recovered: the main DFA restarts and consumes this letter, which may be a new
   violation at once; otherwise the step is not exposed. Without a recovery formula there is no way
   back. On the step on which a violation starts, the recovery DFA consumes the letter but its
   acceptance is looked at from the next step on: were it looked at on the same step, a recovery
   that already holds would restart the main DFA on the very letter that doomed it, for ever.
3. A triggered event is a rising edge of the trigger while armed; a trigger that is true at reset is
   one. It is open until the main DFA is in an accepting state (at the step of the edge already, if
   it accepts then), or violated. The trigger is followed during a violation too, so that one that
   stays true through a recovery is no new edge.
4. At the end of an episode see :func:`terminated_code` and :func:`truncated_code`.

The three DFAs are compiled over the same atoms in the same order, so that their decision diagrams
can be walked together: the machine is again a shared decision diagram, whose leaves are pairs of
the next state and the packed events of :mod:`safe_rl.monitors.events`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from safe_rl.automata import DFA, compile_ltlf
from safe_rl.errors import CompilationLimitError
from safe_rl.logic import LAST, Formula, Op
from safe_rl.monitors.events import (
    ARMED,
    CLOSED,
    EXPOSED,
    RECOVERED,
    TRIGGERED,
    VERDICT_SHIFT,
    VIOLATED,
    Verdict,
)
from safe_rl.specs import Specification
from safe_rl.specs.specification import Semantics

MAX_STATES: Final = 50_000
_IN_VIOLATION: Final = -1
_VIOLATION_BITS: Final = VIOLATED | EXPOSED | CLOSED | Verdict.VIOLATED << VERDICT_SHIFT


@dataclass(frozen=True, eq=False)
class EventMachine:
    """The Mealy machine of one specification, shared by all its instances.

    References into the decision diagram are as in :class:`safe_rl.automata.DFA`, except that a leaf
    ``r < 0`` is the transition ``~r``.

    Attributes:
        atoms: The specification's atoms; letters assign these.
        roots: Per state, the reference from which its letter is decided.
        var, low, high: Per node, the atom tested and the references where it is false or true.
        next_state: Per transition, the next state.
        code: Per transition, the packed events.
        main_state: Per state, the state of the main DFA, or -1 in violation.
        main: The DFA of the formula.
        initial: The state before the first letter.
    """

    atoms: tuple[str, ...]
    roots: tuple[int, ...]
    var: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    next_state: tuple[int, ...]
    code: tuple[int, ...]
    main_state: tuple[int, ...]
    main: DFA
    initial: int = 0

    @property
    def num_states(self) -> int:
        """The number of states, the initial one included."""
        return len(self.roots)

    def transition(self, state: int, letter: Sequence[bool | int]) -> tuple[int, int]:
        """Return the next state and the packed events; ``letter[i]`` is the truth of atoms[i]."""
        ref = self.roots[state]
        while ref >= 0:
            ref = self.high[ref] if letter[self.var[ref]] else self.low[ref]
        return self.next_state[~ref], self.code[~ref]

    def is_armed(self, state: int) -> bool:
        """Return whether the instance is not in violation in ``state``."""
        return self.main_state[state] != _IN_VIOLATION

    def verdict(self, state: int) -> Verdict:
        """Return the verdict on an episode that is in ``state``."""
        if not self.is_armed(state):
            return Verdict.VIOLATED
        return _verdict(self.main, self.main_state[state])


def terminated_code(machine: EventMachine, state: int) -> int:
    """Return the events that the end of a *terminated* episode brings in ``state``.

    Finite-trace semantics decides: an armed instance whose state does not accept is violated, with
    an exposure of this one step. A violation that is under way has been counted at its steps.
    """
    if not machine.is_armed(state):
        return CLOSED | Verdict.VIOLATED << VERDICT_SHIFT
    if machine.main.is_accepting(machine.main_state[state]):
        return CLOSED | ARMED | Verdict.SATISFIED << VERDICT_SHIFT
    return _VIOLATION_BITS


def truncated_code(machine: EventMachine, state: int) -> int:
    """Return the code at the end of a *truncated* episode: the verdict so far, and no event."""
    armed = ARMED if machine.is_armed(state) else 0
    return armed | machine.verdict(state) << VERDICT_SHIFT


def build_machine(spec: Specification) -> EventMachine:
    """Return the machine of a specification, over its own atoms (``forall`` variables unbound).

    Specifications with equal formula, trigger, recovery and semantics share one machine.

    Raises:
        CompilationLimitError: an automaton or their product passes its limit.

    >>> machine = build_machine(Specification("dry", "G !spilled", trigger="spilled"))
    >>> machine.num_states, machine.verdict(machine.initial).name
    (2, 'PRESUMABLY_SATISFIED')
    """
    return _build(spec.formula, spec.trigger, spec.recovery, spec.semantics, spec.atoms)


@lru_cache(maxsize=512)
def _build(
    formula: Formula,
    trigger: Formula,
    recovery: Formula | None,
    semantics: Semantics,
    atoms: tuple[str, ...],
) -> EventMachine:
    main = compile_ltlf(formula, atoms=atoms, semantics=semantics)
    # F(last & trigger) accepts exactly the traces whose last step satisfies the trigger, so its
    # acceptance is the trigger's value now, also where the trigger looks back.
    current = compile_ltlf(Formula(Op.EVENTUALLY, (LAST & trigger,)), atoms=atoms)
    recover = None if recovery is None else compile_ltlf(recovery, atoms=atoms)
    return _minimise(_Product(formula, atoms, main, current, recover).run())


# A state of the product: the main DFA's state or -1 in violation; the recovery DFA's state (0 while
# armed); the trigger DFA's state.
_State = tuple[int, int, int]


class _Product:
    """The walk over the product of main, recovery and trigger DFA."""

    def __init__(
        self,
        formula: Formula,
        atoms: tuple[str, ...],
        main: DFA,
        trigger: DFA,
        recovery: DFA | None,
    ) -> None:
        self._formula = formula
        self._atoms = atoms
        self._main = main
        self._trigger = trigger
        self._recovery = recovery
        self._doomed = main.doomed.tolist()
        self._states: dict[_State, int] = {}
        self._transitions: dict[tuple[int, int], int] = {}
        self._nodes: dict[tuple[int, int, int], int] = {}

    def run(self) -> EventMachine:
        """Explore the states reachable from the initial one."""
        queue = [(self._main.initial, 0, self._trigger.initial)]
        self._states = {queue[0]: 0}
        self._queue = queue
        roots = [self._root(state) for state in queue]  # the queue grows while it is read
        nodes, transitions = list(self._nodes), list(self._transitions)
        return EventMachine(
            atoms=self._atoms,
            roots=tuple(roots),
            var=tuple(n[0] for n in nodes),
            low=tuple(n[1] for n in nodes),
            high=tuple(n[2] for n in nodes),
            next_state=tuple(t[0] for t in transitions),
            code=tuple(t[1] for t in transitions),
            main_state=tuple(state[0] for state in queue),
            main=self._main,
        )

    def _root(self, state: _State) -> int:
        """The decision diagram of one state, by walking the DFAs' diagrams together."""
        main, recovery, trigger = self._main, self._recovery, self._trigger
        in_violation = state[0] == _IN_VIOLATION
        parts: list[tuple[DFA, int]] = [(trigger, trigger.roots[state[2]])]
        if not (in_violation and recovery is None):
            start = main.initial if in_violation else state[0]
            parts.append((main, main.roots[start]))
            if recovery is not None:
                parts.append((recovery, recovery.roots[recovery.initial]))
                if in_violation:
                    parts.append((recovery, recovery.roots[state[1]]))
        dfas = [dfa for dfa, _ in parts]
        was_on = trigger.accepting[state[2]]
        memo: dict[tuple[int, ...], int] = {}

        def walk(refs: tuple[int, ...]) -> int:
            found = memo.get(refs)
            if found is not None:
                return found
            tests = [dfa.var[r] for dfa, r in zip(dfas, refs, strict=True) if r >= 0]
            if not tests:
                result = ~self._leaf(in_violation, was_on, [~r for r in refs])
            else:
                top = min(tests)
                low, high = [], []
                for dfa, r in zip(dfas, refs, strict=True):
                    splits = r >= 0 and dfa.var[r] == top
                    low.append(dfa.low[r] if splits else r)
                    high.append(dfa.high[r] if splits else r)
                below, above = walk(tuple(low)), walk(tuple(high))
                result = below
                if below != above:
                    key = (top, below, above)
                    result = self._nodes.setdefault(key, len(self._nodes))
            memo[refs] = result
            return result

        return walk(tuple(ref for _, ref in parts))

    def _leaf(self, in_violation: bool, was_on: bool, reached: list[int]) -> int:
        """The transition into the DFA states ``reached``: rules 1 to 3."""
        recovery = self._recovery
        now = reached[0]
        if in_violation:
            if recovery is None:
                # No way back, so the trigger's memory does not matter any more.
                lost = (_IN_VIOLATION, 0, self._trigger.initial)
                return self._transition(lost, EXPOSED | Verdict.VIOLATED << VERDICT_SHIFT)
            if not recovery.accepting[reached[3]]:
                exposed = EXPOSED | Verdict.VIOLATED << VERDICT_SHIFT
                return self._transition((_IN_VIOLATION, reached[3], now), exposed)
        code = RECOVERED if in_violation else 0
        if self._trigger.accepting[now] and not was_on:
            code |= TRIGGERED
        state = reached[1]
        if self._doomed[state]:
            memory = (0, self._trigger.initial) if recovery is None else (reached[2], now)
            return self._transition((_IN_VIOLATION, *memory), code | _VIOLATION_BITS)
        code |= ARMED | _verdict(self._main, state) << VERDICT_SHIFT
        if self._main.accepting[state]:
            code |= CLOSED
        return self._transition((state, 0, now), code)

    def _transition(self, state: _State, code: int) -> int:
        number = self._states.get(state)
        if number is None:
            number = self._states[state] = len(self._queue)
            self._queue.append(state)
            if number >= MAX_STATES:
                raise CompilationLimitError(
                    f"the monitor of formula {str(self._formula)!r} with its trigger and recovery "
                    f"needs more than {MAX_STATES} states; shorten their bounds, or write one "
                    "specification per rule"
                )
        return self._transitions.setdefault((number, code), len(self._transitions))


def _verdict(main: DFA, state: int) -> Verdict:
    if main.is_doomed(state):
        return Verdict.VIOLATED
    if main.is_safe(state):
        return Verdict.SATISFIED
    if main.is_accepting(state):
        return Verdict.PRESUMABLY_SATISFIED
    return Verdict.PRESUMABLY_VIOLATED


def _minimise(machine: EventMachine) -> EventMachine:
    """Merge states that no letters tell apart; renumber states and nodes from the initial one.

    States of the main DFA stay apart, since it is minimal: what merges differs only in a memory of
    the trigger or of the recovery that no continuation asks for.
    """
    classes = _number(machine.main_state)
    while True:
        roots, nodes, leaves = _reduce(machine, classes)
        refined = _number(list(zip(classes, roots, strict=True)))
        if max(refined) == max(classes):
            break
        classes = refined
    first: dict[int, int] = {}
    for state, group in enumerate(classes):
        first.setdefault(group, state)
    # Breadth-first over states, post-order over nodes: children come before their parents.
    state_of = {classes[machine.initial]: 0}
    order = [classes[machine.initial]]
    node_of: dict[int, int] = {}
    leaf_of: dict[int, int] = {}

    def visit(ref: int) -> int:
        if ref < 0:
            if ~ref not in leaf_of:
                leaf_of[~ref] = len(leaf_of)
                group = leaves[~ref][0]
                if group not in state_of:
                    state_of[group] = len(order)
                    order.append(group)
            return ~leaf_of[~ref]
        if ref not in node_of:
            var, low, high = nodes[ref]
            below, above = visit(low), visit(high)
            node_of[ref] = len(new_nodes)
            new_nodes.append((var, below, above))
        return node_of[ref]

    new_nodes: list[tuple[int, int, int]] = []
    new_roots = [visit(roots[first[group]]) for group in order]  # order grows while it is read
    return EventMachine(
        atoms=machine.atoms,
        roots=tuple(new_roots),
        var=tuple(n[0] for n in new_nodes),
        low=tuple(n[1] for n in new_nodes),
        high=tuple(n[2] for n in new_nodes),
        next_state=tuple(state_of[leaves[leaf][0]] for leaf in leaf_of),
        code=tuple(leaves[leaf][1] for leaf in leaf_of),
        main_state=tuple(machine.main_state[first[group]] for group in order),
        main=machine.main,
    )


def _number(keys: Sequence[object]) -> list[int]:
    """Number keys by first appearance."""
    seen: dict[object, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def _reduce(
    machine: EventMachine, classes: Sequence[int]
) -> tuple[list[int], list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Merge next states into classes and reduce the diagram: roots, nodes, leaves (class, code)."""
    leaf_number: dict[tuple[int, int], int] = {}
    leaf_value = [
        ~leaf_number.setdefault((classes[state], code), len(leaf_number))
        for state, code in zip(machine.next_state, machine.code, strict=True)
    ]
    unique: dict[tuple[int, int, int], int] = {}
    value: list[int] = []

    def of(ref: int) -> int:
        return value[ref] if ref >= 0 else leaf_value[~ref]

    for var, low, high in zip(machine.var, machine.low, machine.high, strict=True):
        below, above = of(low), of(high)
        key = (var, below, above)
        value.append(below if below == above else unique.setdefault(key, len(unique)))
    return [of(root) for root in machine.roots], list(unique), list(leaf_number)
