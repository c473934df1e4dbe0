"""What a reader of an audit must know of the actions that a replay stepped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safe_rl.data import Drift

WHAT_FOLLOWS: Mapping[str, str] = {
    "steps": "in those steps only contacts of the recorded states were counted",
    "actions": "the verdicts are of the motion that the actions gave here, not of the recorded one",
}
"""Way of replaying to the consequence of drift."""


def drift_notes(
    drifts: Sequence[tuple[str, int, Drift | None]], settings: Mapping[str, Any]
) -> tuple[str, ...]:
    """Say how far stepped actions led from the recorded states.

    Args:
        drifts: of each episode: its file, its place in it, and its drift, if actions were stepped.
        settings: of the replay (``AuditPlan.settings``); without ``"replay"`` there was none.
    """
    how = settings.get("replay")
    notes = []
    stepped = [(name, number, drift) for name, number, drift in drifts if drift is not None]
    if how == "steps" and len(stepped) < len(drifts):
        notes.append(
            f"{len(drifts) - len(stepped)} of {len(drifts)} episodes have no actions; what touched "
            "only between two of their recorded states was not seen"
        )
    if stepped and how is not None:
        name, number, worst = max(stepped, key=lambda own: own[2].largest)
        compared = sum(drift.compared for _, _, drift in stepped)
        beyond = sum(drift.beyond for _, _, drift in stepped)
        words = (
            f"{compared} recorded actions were stepped: they ended at most {worst.largest:.1e} "
            f"(m or rad) from the recorded states (step {worst.step} of episode {number} of {name})"
        )
        if beyond:
            words += f", {beyond} of them beyond the tolerance; {WHAT_FOLLOWS[how]}"
        notes.append(words)
    return tuple(notes)
