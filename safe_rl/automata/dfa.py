"""Deterministic finite automata over sets of propositions, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from safe_rl.automata.distance import distances
from safe_rl.errors import CompilationLimitError, ConfigurationError
from safe_rl.logic import Formula, Letter, missing_propositions, truth

DENSE_ATOMS: Final = 12
"""Up to this many atoms a DFA can be spread out as a dense table."""

Target = Literal["accepting", "doomed", "safe"]


@dataclass(frozen=True)
class DFA:
    """A complete DFA whose edges are one shared decision diagram.

    A *reference* ``r >= 0`` is the decision node ``r``: it tests ``atoms[var[r]]`` and goes on to
    ``low[r]`` where that is false and ``high[r]`` where it is true. A reference ``r < 0`` is the
    leaf ``~r``, the next state. Along every path ``var`` increases; children come before parents.

    Attributes:
        atoms: The propositions that letters assign.
        roots: Per state, the reference from which its letter is decided.
        var: Per node, the index of the atom it tests.
        low: Per node, the reference where the atom is false.
        high: Per node, the reference where the atom is true.
        accepting: Per state, whether a trace may end there.
        initial: The state before the first letter.
        formula: The formula it was compiled from, if any; not part of equality.

    >>> from safe_rl.automata import compile_ltlf
    >>> dfa = compile_ltlf("a U b")
    >>> [bool(d) for d in dfa.doomed], dfa.step(dfa.initial, {"b"}), dfa.is_safe(2)
    ([False, True, False], 2, True)
    """

    atoms: tuple[str, ...]
    roots: tuple[int, ...]
    var: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    accepting: tuple[bool, ...]
    initial: int = 0
    formula: Formula | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DFA):
            return NotImplemented
        return self._shape() == other._shape()

    def __hash__(self) -> int:
        return hash(self._shape())

    def _shape(self) -> tuple[Any, ...]:
        return (
            self.atoms,
            self.roots,
            self.var,
            self.low,
            self.high,
            self.accepting,
            self.initial,
        )

    @property
    def num_states(self) -> int:
        """The number of states, the initial and the doomed ones included."""
        return len(self.roots)

    def step(self, state: int, letter: Letter) -> int:
        """Return the state after ``letter``.

        Raises:
            GroundingError: a mapping lacks one of the atoms, or gives it a value not Boolean.
        """
        if isinstance(letter, Mapping):
            lacking = [name for name in self.atoms if name not in letter]
            if lacking:
                raise missing_propositions(lacking, letter)
        ref = self.roots[state]
        while ref >= 0:
            ref = self.high[ref] if truth(letter, self.atoms[self.var[ref]]) else self.low[ref]
        return ~ref

    def run(self, trace: Iterable[Letter]) -> list[int]:
        """Return the states visited, the initial one first: one more than the letters read."""
        states = [self.initial]
        for letter in trace:
            states.append(self.step(states[-1], letter))
        return states

    def accepts(self, trace: Iterable[Letter]) -> bool:
        """Return whether the trace, possibly empty, is in the language."""
        return self.accepting[self.run(trace)[-1]]

    def is_accepting(self, state: int) -> bool:
        """Return whether a trace may end in ``state``."""
        return self.accepting[state]

    def is_doomed(self, state: int) -> bool:
        """Return whether no accepting state can be reached from ``state``, itself included."""
        return bool(self.doomed[state])

    def is_safe(self, state: int) -> bool:
        """Return whether only accepting states can be reached from ``state``."""
        return bool(self.safe[state])

    @cached_property
    def doomed(self) -> NDArray[np.bool_]:
        """Per state, whether it is doomed. Shape ``[num_states]``."""
        return self.distance("accepting") < 0

    @cached_property
    def safe(self) -> NDArray[np.bool_]:
        """Per state, whether it is safe. Shape ``[num_states]``."""
        rejecting = [not accepts for accepts in self.accepting]
        return np.array(distances(self, rejecting)) < 0

    def distance(self, target: Target) -> NDArray[np.int32]:
        """Return, per state, the fewest letters into a target state; -1 where there is no way.

        Args:
            target: ``"accepting"``, ``"doomed"`` or ``"safe"``.

        Returns:
            Shape ``[num_states]``; 0 on the targets themselves.
        """
        return self._distances[target]

    @cached_property
    def _distances(self) -> _Distances:
        return _Distances(self)

    def targets(self, target: Target) -> Sequence[bool]:
        """Return, per state, whether it is a ``target``."""
        if target == "accepting":
            return self.accepting
        if target == "doomed":
            return [bool(d) for d in self.doomed]
        if target == "safe":
            return [bool(s) for s in self.safe]
        raise ConfigurationError(
            f"a target must be 'accepting', 'doomed' or 'safe', but is {target!r}"
        )

    def shortest_word(self, state: int, target: Target) -> list[frozenset[str]] | None:
        """Return a shortest sequence of letters from ``state`` into a target, or ``None``.

        Letters are the sets of true propositions; propositions that do not matter are false.
        """
        left = self.distance(target)
        if left[state] < 0:
            return None
        word: list[frozenset[str]] = []
        while left[state] > 0:
            letter, state = self._nearer(self.roots[state], int(left[state]) - 1, left)
            word.append(letter)
        return word

    def _nearer(
        self, root: int, wanted: int, left: NDArray[np.int32]
    ) -> tuple[frozenset[str], int]:
        """A letter, with few true atoms, into a state whose distance is ``wanted``."""
        seen: set[int] = set()
        stack: list[tuple[int, frozenset[str]]] = [(root, frozenset())]
        while stack:
            ref, letter = stack.pop()
            if ref < 0:
                if left[~ref] == wanted:
                    return letter, ~ref
            elif ref not in seen:
                seen.add(ref)
                stack.append((self.high[ref], letter | {self.atoms[self.var[ref]]}))
                stack.append((self.low[ref], letter))
        raise AssertionError("distances do not match the edges")

    @cached_property
    def table(self) -> NDArray[np.int32]:
        """Next states, shape ``[num_states, 2**len(atoms)]``; bit i of the column is atoms[i].

        Raises:
            CompilationLimitError: there are more than 12 atoms; use the decision diagram.
        """
        count = len(self.atoms)
        if count > DENSE_ATOMS:
            raise CompilationLimitError(
                f"a dense table over {count} atoms would have 2**{count} columns; "
                f"the limit is {DENSE_ATOMS} atoms: use step() or the decision diagram"
            )
        return expand(self.roots, self.var, self.low, self.high, count)

    def with_accepting(self, accepting: Sequence[bool]) -> DFA:
        """Return the DFA with other accepting states."""
        return replace(self, accepting=tuple(accepting))


class _Distances(dict[Target, NDArray[np.int32]]):
    """Distances to each kind of target, found when they are first asked for."""

    def __init__(self, dfa: DFA) -> None:
        super().__init__()
        self._dfa = dfa

    def __missing__(self, target: Target) -> NDArray[np.int32]:
        found = np.array(distances(self._dfa, self._dfa.targets(target)), dtype=np.int32)
        self[target] = found
        return found


def expand(
    roots: Sequence[int],
    var: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    num_vars: int,
) -> NDArray[np.int32]:
    """Spread a decision diagram out over all assignments.

    Returns:
        The leaf ``~r`` reached from each root, shape ``[len(roots), 2**num_vars]``; bit i of the
        column index is variable i.
    """
    size = 1 << num_vars
    columns = np.arange(size)
    tests = [(columns >> i & 1).astype(bool) for i in range(num_vars)]
    rows: list[NDArray[np.int32]] = []

    def row(ref: int) -> NDArray[np.int32]:
        return rows[ref] if ref >= 0 else np.full(size, ~ref, dtype=np.int32)

    for node, variable in enumerate(var):  # children come before their parents
        rows.append(np.where(tests[variable], row(high[node]), row(low[node])))
    return np.stack([row(root) for root in roots])
