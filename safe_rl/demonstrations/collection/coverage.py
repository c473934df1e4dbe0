"""Which specifications, triggers and prerequisite boundaries a dataset covers, and which hardly.

A *boundary* belongs to one atom of a specification. At a frame where the monitor is armed, the atom
stands on its boundary from the safe side where the letter violates nothing, but would if this atom
alone were the other way; and from the unsafe side where the letter violates, but would not if it
were. Of ``G(pick_onset -> clear)`` the atom ``clear`` is the prerequisite: its boundary is seen
from the safe side by every pick with a clear way, from the unsafe side by every other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.automata import DFA
from safe_rl.data import Episode, annotate
from safe_rl.monitors import build_machine
from safe_rl.specs import SpecSet

FEW = 5
"""Episodes below which something counts as under-covered."""


@dataclass(frozen=True)
class Boundary:
    """One atom's boundary in a specification.

    Attributes:
        specification: its id.
        atom: as the formula writes it, such as ``grasped(o)``.
        safe: episodes that stood on it from the safe side.
        unsafe: episodes that stood on it from the unsafe side.
    """

    specification: str
    atom: str
    safe: int
    unsafe: int


@dataclass(frozen=True)
class Coverage:
    """What the episodes of a dataset show of one specification.

    Attributes:
        specification: its id.
        episodes: all episodes.
        triggered: episodes with a triggered event.
        N: triggered events.
        V: violations.
        near_misses: episodes that came nearer to doom than a fresh monitor is, without a violation.
        least_distance: the fewest letters to a violation in any episode without one; -1 where no
            letters would lead to one, or there is no such episode.
        boundaries: of its atoms.
    """

    specification: str
    episodes: int
    triggered: int
    N: int
    V: int
    near_misses: int
    least_distance: int
    boundaries: tuple[Boundary, ...]

    def lacking(self, few: int = FEW) -> tuple[str, ...]:
        """What is under-covered: the trigger, and sides of boundaries, in words."""
        if self.triggered == 0:
            return ("never triggered",)
        found = [f"triggered in {self.triggered} episodes only"] if self.triggered < few else []
        for boundary in self.boundaries:
            for side, count in (("safe", boundary.safe), ("unsafe", boundary.unsafe)):
                if count < few and boundary.safe + boundary.unsafe:
                    found.append(f"{boundary.atom}: {count} from the {side} side")
        return tuple(found)


Marks = dict[str, NDArray[np.bool_]]
"""What an episode touches: ``"trigger"``, and ``"<atom> safe"`` and ``"<atom> unsafe"``."""


def coverage_of(episodes: Sequence[Episode], specs: SpecSet) -> tuple[Coverage, ...]:
    """The coverage of each specification.

    Raises:
        GroundingError: an episode was recorded without one of their propositions.
    """
    touched = marks_of(episodes, specs)
    annotated = [annotate(episode, specs) for episode in episodes]
    found = []
    for index, spec in enumerate(specs):
        near, least = 0, -1
        for own in annotated:
            column = own.specs.instance_index == index
            distance, violated = own.distance[:, column], bool(own.V[index])
            known = distance[distance >= 0]
            if violated or not known.size:
                continue
            fresh = build_machine(spec).main.distance("doomed")[build_machine(spec).main.initial]
            near += bool((known < fresh).any())
            least = int(known.min()) if least < 0 else min(least, int(known.min()))
        marks = touched[spec.id]
        found.append(
            Coverage(
                specification=spec.id,
                episodes=len(episodes),
                triggered=int(marks["trigger"].sum()),
                N=int(sum(own.N[index] for own in annotated)),
                V=int(sum(own.V[index] for own in annotated)),
                near_misses=near,
                least_distance=least,
                boundaries=tuple(
                    Boundary(
                        spec.id,
                        atom,
                        int(marks[f"{atom} safe"].sum()),
                        int(marks[f"{atom} unsafe"].sum()),
                    )
                    for atom in spec.formula.atoms
                ),
            )
        )
    return tuple(found)


def marks_of(episodes: Sequence[Episode], specs: SpecSet) -> dict[str, Marks]:
    """Per specification and mark, whether each episode touches it: bool ``[E]``."""
    found: dict[str, Marks] = {}
    for spec in specs:
        sides = ("safe", "unsafe")
        names = ["trigger", *(f"{atom} {side}" for atom in spec.formula.atoms for side in sides)]
        found[spec.id] = {name: np.zeros(len(episodes), np.bool_) for name in names}
    for number, episode in enumerate(episodes):
        own = annotate(episode, specs)
        places = {name: column for column, name in enumerate(episode.propositions)}
        for column, instance in enumerate(own.specs.instances):
            spec = instance.specification
            marks, dfa = found[spec.id], build_machine(spec).main
            marks["trigger"][number] |= bool(own.triggered[:, column].any())
            wanted = [places[instance.atoms[atom]] for atom in dfa.atoms]
            armed = ~own.exposed[:, column]
            for name in _boundaries(
                dfa, episode.letters[:, wanted], own.violated[:, column], armed
            ):
                marks[name][number] = True
    return found


def _boundaries(
    dfa: DFA, letters: NDArray[np.bool_], violated: NDArray[np.bool_], armed: NDArray[np.bool_]
) -> Iterator[str]:
    """Marks of one monitor's frames; its automaton is restarted where it is armed again."""
    state = dfa.initial
    seen: set[tuple[int, tuple[bool, ...]]] = set()
    for letter, wrong, watching in zip(letters, violated, armed, strict=True):
        row = tuple(bool(value) for value in letter)
        if not (watching or wrong):
            state = dfa.initial
            continue
        if (state, row) not in seen:
            seen.add((state, row))
            yield from _decisive(dfa, state, row)
        after = _step(dfa, state, row)
        state = dfa.initial if wrong or dfa.is_doomed(after) else after


def _decisive(dfa: DFA, state: int, letter: tuple[bool, ...]) -> Iterable[str]:
    """The atoms that alone decide; those of the recovery formula never do."""
    doomed = dfa.is_doomed(_step(dfa, state, letter))
    for index, atom in enumerate(dfa.atoms):
        other = (*letter[:index], not letter[index], *letter[index + 1 :])
        if dfa.is_doomed(_step(dfa, state, other)) != doomed:
            yield f"{atom} {'unsafe' if doomed else 'safe'}"


def _step(dfa: DFA, state: int, letter: tuple[bool, ...]) -> int:
    return dfa.step(state, {a for a, true in zip(dfa.atoms, letter, strict=True) if true})
