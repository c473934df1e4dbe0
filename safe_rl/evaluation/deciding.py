"""Which propositions decided a violation: the nearest letter that would not have violated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

from safe_rl.monitors import EventMachine
from safe_rl.monitors.events import VIOLATED

MOST_FLIPPED: Final = 3
"""Larger sets of propositions are not searched: nobody reads them as a reason."""


class Decision(NamedTuple):
    """Why a letter violated.

    Attributes:
        atoms: the specification's atoms whose values decided, as indices into ``machine.atoms``.
        together: all of them would have had to be otherwise; if not, any one of them.
    """

    atoms: tuple[int, ...]
    together: bool


@lru_cache(maxsize=4096)
def deciding_atoms(machine: EventMachine, state: int, letter: tuple[bool, ...]) -> Decision:
    """Return the propositions whose other value would have averted the violation at this step.

    Args:
        machine: of the specification.
        state: before the letter.
        letter: truth of ``machine.atoms``; it violates.

    Returns:
        Every single proposition that would have sufficed, or the first smallest set (of two or
        three) that would have together; none where no such letter averts it.

    >>> from safe_rl.monitors import build_machine
    >>> from safe_rl.specs import Specification
    >>> machine = build_machine(Specification("lid_first", "G(lifted -> lid_on)"))
    >>> machine.atoms, deciding_atoms(machine, machine.initial, (True, False))
    (('lifted', 'lid_on'), Decision(atoms=(0, 1), together=False))
    """

    def averts(flipped: Sequence[int]) -> bool:
        other = [value != (i in flipped) for i, value in enumerate(letter)]
        return machine.transition(state, other)[1] & VIOLATED == 0

    places = range(len(letter))
    single = tuple(place for place in places if averts((place,)))
    if single:
        return Decision(single, together=False)
    for size in range(2, MOST_FLIPPED + 1):
        for chosen in combinations(places, size):
            if averts(chosen):
                return Decision(chosen, together=True)
    return Decision((), together=False)


def decision_words(
    names: Sequence[str], letter: Sequence[bool], decision: Decision, *, by_end: bool
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
