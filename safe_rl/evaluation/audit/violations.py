"""The violations on a tape, one by one, each with the propositions and objects that decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.data.event_tape import EventTape
from safe_rl.monitors import MonitorTables
from safe_rl.monitors.deciding import Decision, deciding_atoms, decision_words
from safe_rl.monitors.events import VIOLATED


@dataclass(frozen=True)
class Violation:
    """One violation.

    Attributes:
        episode: its place in the file.
        specification: id.
        instance: id with its objects.
        category: of the specification.
        objects: variable to object.
        step: at which it happened; 0 is the reset.
        triggered: step of the last triggered event until then, or -1.
        lasted: steps in violation.
        recovered: whether it ended before the episode did.
        by_end: the end of the episode decided it.
        decided: the propositions that decided, in words; see ``safe_rl.monitors.deciding``.
        true: the specification's propositions that were true.
    """

    episode: int
    specification: str
    instance: str
    category: str
    objects: dict[str, str]
    step: int
    triggered: int
    lasted: int
    recovered: bool
    by_end: bool
    decided: str
    true: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Violation:
        """Read what :meth:`to_json` gave."""
        return cls(**{**data, "true": tuple(data["true"])})


def find_violations(
    tables: MonitorTables,
    columns: NDArray[np.intp],
    tape: EventTape,
    episodes: Sequence[Episode],
    first: int = 0,
) -> list[Violation]:
    """Explain every violation on a tape.

    Args:
        tables: the monitors that wrote it.
        columns: where each of ``tables.propositions`` stands in the episodes' letters.
        tape: see ``run_monitors``.
        episodes: those on the tape.
        first: number of the first of them.
    """
    events = tape.events
    violated, exposed = np.asarray(events.violated), np.asarray(events.exposed)
    triggered = np.asarray(events.triggered)
    place = {name: int(column) for name, column in zip(tables.propositions, columns, strict=True)}
    names_of = [
        [instance.atoms[atom] for atom in machine.atoms]
        for instance, machine in zip(tables.instances, tables.machines, strict=True)
    ]
    columns_of = [[place[name] for name in names] for names in names_of]
    found = []
    for row, index, step in np.argwhere(np.transpose(violated, (1, 2, 0))).tolist():
        instance, machine, names = tables.instances[index], tables.machines[index], names_of[index]
        letter = tuple(episodes[row].letters[step, columns_of[index]].tolist())
        at_end = step == int(tape.frames[row]) - 1
        by_end = at_end and bool(tape.by_end[row, index] & VIOLATED)
        decision = Decision((), together=False)
        if not by_end:
            decision = deciding_atoms(machine, int(tape.states[step, row, index]), letter)
        # A violation that follows upon a recovery ends this one.
        after = exposed[step + 1 : tape.frames[row], row, index]
        after = after & ~violated[step + 1 : tape.frames[row], row, index]
        lasted = 1 + (len(after) if after.all() else int(np.argmin(after)))
        before = np.flatnonzero(triggered[: step + 1, row, index])
        found.append(
            Violation(
                episode=first + row,
                specification=instance.specification.id,
                instance=instance.id,
                category=instance.specification.category,
                objects=dict(instance.binding),
                step=step,
                triggered=int(before[-1]) if before.size else -1,
                lasted=lasted,
                recovered=bool(step + lasted < tape.frames[row]),
                by_end=by_end,
                decided=decision_words(names, letter, decision, by_end=by_end),
                true=tuple(name for name, value in zip(names, letter, strict=True) if value),
            )
        )
    return sorted(found, key=lambda v: (v.episode, v.step))
