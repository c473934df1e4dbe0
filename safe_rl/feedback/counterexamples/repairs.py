"""Which change of a single step would have avoided a violation: an exact, smallest repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from safe_rl.automata.distance import Flips
from safe_rl.monitors import EventMachine
from safe_rl.monitors.continuations import Truths, may_end
from safe_rl.monitors.deciding import harmless_ways
from safe_rl.monitors.events import ARMED

MOST_REPAIRS: Final = 8


def smallest_repairs(
    machine: EventMachine, states: Sequence[int], letters: Sequence[Truths], *, by_end: bool
) -> list[tuple[int, Flips]]:
    """Return the smallest changes of one letter after which all letters are harmless.

    Args:
        machine: of the specification.
        states: of the machine before each letter.
        letters: a run in which only the last letter violates, or only the end after it.
        by_end: the end after the last letter violates, and must not after the repair.

    Returns:
        Which letter, and which of its atoms are to be turned over: all with the fewest atoms, the
        latest letters first, but eight at most.
    """
    count = len(letters)
    outcomes: list[dict[int, bool]] = [{} for _ in range(count + 1)]

    def harmless_from(state: int, position: int) -> bool:
        """Whether the rest of the letters is harmless when it is read from ``state``."""
        path: list[tuple[int, int]] = []
        while True:
            known = outcomes[position].get(state)
            if known is not None:
                break
            path.append((position, state))
            if position == count:
                known = not by_end or may_end(machine, state)
                break
            state, code = machine.transition(state, letters[position])
            if not code & ARMED:
                known = False
                break
            position += 1
        for place, passed in path:
            outcomes[place][passed] = known
        return known

    found: list[tuple[int, Flips]] = []
    smallest = len(machine.atoms) + 1
    for position in range(count - 1, -1, -1):
        if len(found) >= MOST_REPAIRS and smallest == 1:
            break
        for flips, reached in harmless_ways(machine, states[position], letters[position]):
            if len(flips) > smallest:
                break
            if flips and harmless_from(reached, position + 1):
                if len(flips) < smallest:
                    found.clear()
                    smallest = len(flips)
                found.append((position, flips))
    return found[:MOST_REPAIRS]
