"""Violations of one episode in words, and frame by frame where the environment recorded frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from safe_rl.evaluation.timeline import EpisodeTimeline
from safe_rl.grounding import explain
from safe_rl.monitors import build_machine
from safe_rl.monitors.deciding import Decision, deciding_atoms, decision_words
from safe_rl.monitors.events import VIOLATED
from safe_rl.specs.specification import Instance

BEFORE, AFTER = 8, 4
"""Steps shown before and after the step of a violation."""


def explain_violations(
    timeline: EpisodeTimeline, frames: Sequence[Any] = (), title: str = ""
) -> str:
    """Return a text that shows each violation: the rule, what led to it, and its frames.

    Args:
        timeline: the episode.
        frames: one ``FrameRecord`` per letter (contacts, heights), or nothing: then the letters
            themselves are shown.
        title: first line.
    """
    instances = {instance.id: instance for instance in timeline.specs.instances}
    blocks = [title] if title else []
    if not timeline.violations:
        blocks.append("no violation")
    for number, (step, name) in enumerate(timeline.violations, start=1):
        instance = instances[name]
        position = list(instances).index(name)
        own = list(dict.fromkeys(instance.atoms.values()))
        lines = [f"violation {number}: {name} at step {step}"]
        if instance.says:
            lines.append(f"  rule:      {instance.says}")
        lines.append(f"  formula:   {instance.formula}")
        triggered = np.flatnonzero(timeline.events["triggered"][: step + 1, position])
        if triggered.size:
            lines.append(f"  triggered: at step {int(triggered[-1])}, the last before it")
        true = [n for n in timeline.true_at(step) if n in own]
        lines.append(f"  true then: {', '.join(true) or 'none of its propositions'}")
        lines.append(f"  decided:   {_decided(timeline, instance, step, position)}")
        lines.append(f"  lasted:    {_duration(timeline, step, position)}")
        first = max(0, step - BEFORE)
        if triggered.size:  # the trigger belongs to the story, unless it is long ago
            first = min(first, max(int(triggered[-1]) - 2, step - 40))
        shown = [n for n in own if n in timeline.propositions]
        if frames:
            table = explain(frames, shown, around=step, before=step - first, after=AFTER)
        else:
            table = _letters(timeline, shown, first, min(len(timeline.letters) - 1, step + AFTER))
        lines.append("")
        lines += [f"  {_mark(row, step)} {row}" for row in table.splitlines()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _decided(timeline: EpisodeTimeline, instance: Instance, step: int, position: int) -> str:
    machine = build_machine(instance.specification)
    names = [instance.atoms[atom] for atom in machine.atoms]
    columns = [timeline.propositions.index(name) for name in names]
    letter = tuple(bool(timeline.letters[step, column]) for column in columns)
    state = int(timeline.states[step - 1, position]) if step else machine.initial
    by_end = not machine.transition(state, letter)[1] & VIOLATED
    decision = Decision((), together=False)
    if not by_end:
        decision = deciding_atoms(machine, state, letter)
    return decision_words(names, letter, decision, by_end=by_end)


def _duration(timeline: EpisodeTimeline, step: int, position: int) -> str:
    exposed = timeline.events["exposed"][step:, position]
    steps = int(np.argmin(exposed)) if not exposed.all() else len(exposed)
    ending = "to the end of the episode" if steps == len(exposed) else "then it recovered"
    return f"{steps} step{'s' * (steps != 1)}, {ending}"


def _mark(row: str, step: int) -> str:
    return ">" if row.split(maxsplit=1)[:1] == [str(step)] else " "


def _letters(timeline: EpisodeTimeline, names: Sequence[str], first: int, last: int) -> str:
    columns = [timeline.propositions.index(name) for name in names]
    width = max(4, len(str(last)))
    rows = ["step".ljust(width) + "  " + "  ".join(names)]
    for step in range(first, last + 1):
        marks = [
            ("1" if timeline.letters[step, column] else ".").ljust(len(name))
            for name, column in zip(names, columns, strict=True)
        ]
        rows.append((str(step).ljust(width) + "  " + "  ".join(marks)).rstrip())
    return "\n".join(rows)
