"""Shortest continuations: what would doom, fulfil or re-arm a monitor instance soonest.

Each is a breadth-first search over the machine, so that no shorter word exists. Within a word each
letter is the nearest that keeps to the way: an atom that does not matter stays as it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from safe_rl.automata.distance import nearest_flips
from safe_rl.monitors.events import ARMED, RECOVERED, VIOLATED
from safe_rl.monitors.machine import EventMachine

Goal = Literal["doom", "fulfilment", "recovery"]
Truths = tuple[int, ...]
"""A letter: the truth (0 or 1) of each of ``machine.atoms``."""


@lru_cache(maxsize=8192)
def shortest_continuation(
    machine: EventMachine, state: int, goal: Goal, letter: Truths
) -> tuple[Truths, ...] | None:
    """Return a shortest word, of one letter at least, that leads from ``state`` to a goal.

    Args:
        machine: of the specification.
        state: of the machine.
        goal: ``"doom"``: the last letter violates. ``"fulfilment"``: the instance stays armed, and
            the episode may end after the last letter. ``"recovery"``: the instance, which is in
            violation, is armed again by the last letter.
        letter: what was true before the word.

    Returns:
        The letters, or ``None`` where no word leads there.

    >>> from safe_rl.monitors import build_machine
    >>> from safe_rl.specs import Specification
    >>> machine = build_machine(Specification("wash", "G(raw -> (!ready U washed))"))
    >>> state, _ = machine.transition(machine.initial, (1, 0, 0))
    >>> machine.atoms, shortest_continuation(machine, state, "doom", (1, 0, 0))
    (('raw', 'ready', 'washed'), ((1, 1, 0),))
    """
    code = machine.code
    if goal == "doom":
        return _search(machine, state, letter, lambda leaf: bool(code[leaf] & VIOLATED), _is_armed)
    if goal == "recovery":
        return _search(
            machine,
            state,
            letter,
            lambda leaf: code[leaf] & (RECOVERED | ARMED) == RECOVERED | ARMED,
            # A letter that recovers into the next violation ends this one, but is no way out.
            lambda code: not code & (RECOVERED | ARMED),
        )
    return _search(
        machine,
        state,
        letter,
        lambda leaf: bool(code[leaf] & ARMED) and may_end(machine, machine.next_state[leaf]),
        _is_armed,
    )


@lru_cache(maxsize=8192)
def shortest_insertion(
    machine: EventMachine, state: int, letter: Truths, before: Truths
) -> tuple[Truths, ...] | None:
    """Return the shortest word that, read in front of ``letter``, makes that letter harmless.

    Args:
        machine: of the specification.
        state: in which ``letter`` violates.
        letter: what violates.
        before: the letter in front of it.

    Returns:
        One letter or more, none of which violates, or ``None`` where no word helps.
    """

    def arrives(leaf: int) -> bool:
        if not machine.code[leaf] & ARMED:
            return False
        return bool(machine.transition(machine.next_state[leaf], letter)[1] & ARMED)

    return _search(machine, state, before, arrives, _is_armed)


def may_end(machine: EventMachine, state: int) -> bool:
    """Return whether an episode may terminate in ``state`` without a violation by its end."""
    main = machine.main_state[state]
    return main >= 0 and machine.main.accepting[main]


def _is_armed(code: int) -> bool:
    return bool(code & ARMED)


def _search(
    machine: EventMachine,
    state: int,
    letter: Truths,
    arrives: Callable[[int], bool],
    passes: Callable[[int], bool],
) -> tuple[Truths, ...] | None:
    """Breadth-first; ``arrives`` is asked of a transition, ``passes`` of its packed events."""
    queue: deque[tuple[int, Truths, tuple[Truths, ...]]] = deque([(state, letter, ())])
    seen = {state}
    while queue:
        state, letter, word = queue.popleft()
        ways = nearest_flips(machine, state, letter)
        for leaf, flips in sorted(
            ((leaf, found[0]) for leaf, found in ways.items()),
            key=lambda way: (len(way[1]), way[1], way[0]),
        ):
            read = tuple(value ^ (i in flips) for i, value in enumerate(letter))
            if arrives(leaf):
                return (*word, read)
            reached = machine.next_state[leaf]
            if reached not in seen and passes(machine.code[leaf]):
                seen.add(reached)
                queue.append((reached, read, (*word, read)))
    return None
