"""Which propositions decided a violation: the nearest letters that would not have violated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from safe_rl.automata.distance import Flips, nearest_flips
from safe_rl.monitors.events import ARMED
from safe_rl.monitors.machine import EventMachine


class Decision(NamedTuple):
    """Why a letter violated.

    Attributes:
        atoms: the specification's atoms whose values decided, as indices into ``machine.atoms``.
        together: all of them would have had to be otherwise; if not, any one of them.
    """

    atoms: tuple[int, ...]
    together: bool


class Way(NamedTuple):
    """A letter that a monitor instance could have read without harm, seen from another letter.

    Attributes:
        flips: the atoms in which the two differ, as rising indices into ``machine.atoms``.
        state: of the machine after it.
    """

    flips: Flips
    state: int


@lru_cache(maxsize=8192)
def harmless_ways(machine: EventMachine, state: int, letter: tuple[int, ...]) -> tuple[Way, ...]:
    """Return the letters after which the instance is armed, the nearest to ``letter`` first.

    An instance that is armed after a letter is neither violated by it nor still in violation.

    Args:
        machine: of the specification.
        state: before the letter.
        letter: truth of ``machine.atoms``.

    Returns:
        For each transition of the machine, the letters with the fewest changes (see
        :func:`safe_rl.automata.distance.nearest_flips`); ordered by the number of changes, then by
        the atoms changed. Empty where every letter
        violates, as after the last step that ``WX false`` allows.
    """
    found = [
        Way(flips, machine.next_state[leaf])
        for leaf, ways in nearest_flips(machine, state, letter).items()
        if machine.code[leaf] & ARMED
        for flips in ways
    ]
    return tuple(sorted(found, key=lambda way: (len(way.flips), way.flips, way.state)))


@lru_cache(maxsize=8192)
def deciding_atoms(machine: EventMachine, state: int, letter: tuple[int, ...]) -> Decision:
    """Return the propositions whose other value would have averted the violation at this step.

    Args:
        machine: of the specification.
        state: before the letter.
        letter: truth of ``machine.atoms``; it violates.

    Returns:
        Every single proposition that would have sufficed, or the first smallest set that would
        have together; none where no letter averts it.

    >>> from safe_rl.monitors import build_machine
    >>> from safe_rl.specs import Specification
    >>> machine = build_machine(Specification("lid_first", "G(lifted -> lid_on)"))
    >>> machine.atoms, deciding_atoms(machine, machine.initial, (True, False))
    (('lifted', 'lid_on'), Decision(atoms=(0, 1), together=False))
    """
    ways = harmless_ways(machine, state, letter)
    if not ways:
        return Decision((), together=False)
    smallest = ways[0].flips
    if len(smallest) == 1:
        single = sorted({way.flips[0] for way in ways if len(way.flips) == 1})
        return Decision(tuple(single), together=False)
    return Decision(smallest, together=True)


def decision_words(
    names: Sequence[str], letter: Sequence[bool | int], decision: Decision, *, by_end: bool
) -> str:
    """Say a decision in words.

    Args:
        names: the bound name of each atom.
        letter: its truth.
        decision: see :func:`deciding_atoms`.
        by_end: the end of the episode decided, and no letter.

    >>> decision_words(["lifted", "lid_on"], [True, False], Decision((0, 1), False), by_end=False)
    'lifted, !lid_on (any one otherwise would have averted it)'
    """
    if by_end:
        return "the end of the episode: what was owed had not come"
    if not decision.atoms:
        return "an earlier step: by then no single step could avert it"
    values = ", ".join(("" if letter[i] else "!") + names[i] for i in decision.atoms)
    if len(decision.atoms) == 1:
        return values
    if decision.together:
        return f"{values} (together)"
    return f"{values} (any one otherwise would have averted it)"
