"""How a file describes its propositions, kept for the grounding that will evaluate them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PropositionInfo:
    """What ManiGuard's JSON says of one proposition.

    Attributes:
        name: The proposition.
        check: ``"any"`` or ``"all"`` over the matched objects, or the name of an evaluator that
            decides on its own (such as ``"spill"``).
        state: The state that is looked at (``"dropped"``, ``"upright"``, ``"ontop"`` ...); empty
            where ``check`` names an evaluator.
        over: Globs of object names, such as ``wineglass.n.01_*``.
        relative_to: Globs of the second object's names, for states between two objects.
        negated: Whether the proposition is the negation of what the check gives.
        params: Parameters of the evaluator, such as ``("max_tilt_deg", 45.0)``, sorted by name.
    """

    name: str
    check: str = "any"
    state: str = ""
    over: tuple[str, ...] = ()
    relative_to: tuple[str, ...] = ()
    negated: bool = False
    params: tuple[tuple[str, float | int | str | bool | tuple[float | str, ...]], ...] = ()
