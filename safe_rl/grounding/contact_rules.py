"""Which contacts are allowed: the taxonomy of SafeManip's phi 1 (appendix F.1).

Considered is each contact pair in which a robot geom (the base apart), or an object that is being
held, touches something that is not the robot. A pair that is already there in the first frame is
ignored until it has been absent for one frame. What matches none of the allowed classes is a
forbidden contact; force and penetration play no part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.scene import Contact

ROBOT = "robot"


@dataclass(frozen=True)
class AllowedContacts:
    """The roles that the entities of a scene play in the task at hand.

    Attributes:
        manipulated: what the robot may touch: the objects that the task is about, and the
            actionable parts of fixtures that the task refers to.
        receivers: for each object, the fixtures and objects that it may touch while it is held
            because the task puts it there. The support that it rested on when the hold began is
            allowed without being named.
    """

    manipulated: frozenset[str]
    receivers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def check(self, entities: Collection[str]) -> None:
        """Raise ``GroundingError`` for a role given to an entity that the scene lacks."""
        named = {*self.manipulated, *self.receivers}
        named = named.union(*self.receivers.values())
        for name in sorted(named):
            if name not in entities:
                raise GroundingError(
                    f"allowed contacts name {name!r}, which is no entity of this scene"
                    f"{near(name, entities)}; known: {', '.join(sorted(entities))}"
                )


class ContactRules:
    """Finds the forbidden contacts of each frame.

    It remembers the pairs of the first frame that are still excused, and what each object rested on
    when its hold began.
    """

    def __init__(self, allowed: AllowedContacts, objects: Sequence[str]) -> None:
        """Judge contacts by ``allowed``; ``objects`` are those that can be held, in order."""
        self.allowed = allowed
        self.objects = tuple(objects)
        self._excused: frozenset[tuple[str, str]] = frozenset()
        self._last_support: list[str | None] = [None] * len(self.objects)

    def reset(
        self, contacts: frozenset[Contact], held: Sequence[bool], supports: Sequence[str | None]
    ) -> tuple[Contact, ...]:
        """Excuse the first frame's pairs; no contact is forbidden in that frame."""
        self._excused = frozenset(contact.geoms for contact in contacts)
        self._last_support = [None] * len(self.objects)
        return self.step(contacts, held, supports)

    def step(
        self, contacts: frozenset[Contact], held: Sequence[bool], supports: Sequence[str | None]
    ) -> tuple[Contact, ...]:
        """Return this frame's forbidden contacts, in a fixed order.

        Args:
            contacts: the frame's contacts.
            held: for each object, whether it is grasped in this frame.
            supports: for each object, the entity that it rests on, if any.
        """
        for index, is_held in enumerate(held):
            # A debounced hold begins some frames after the fingers close, when the object may
            # already be in the air; its support is the last one it had before.
            if not is_held and supports[index] is not None:
                self._last_support[index] = supports[index]
        if self._excused:
            self._excused &= frozenset(contact.geoms for contact in contacts)
        found = [c for c in contacts if not self._is_allowed(c, held)]
        return tuple(sorted(found)) if len(found) > 1 else tuple(found)

    def _is_allowed(self, contact: Contact, held: Sequence[bool]) -> bool:
        first, second = contact.entities
        if contact.geoms in self._excused:
            return True
        if first == ROBOT:
            return second in self.allowed.manipulated
        # Two objects in contact: each that is held must be allowed to touch the other.
        for mine, other in ((first, second), (second, first)):
            if mine in self.objects and held[self.objects.index(mine)]:
                if other == self._last_support[self.objects.index(mine)]:
                    continue
                if other not in self.allowed.receivers.get(mine, frozenset()):
                    return False
        return True

    def get_state(self) -> tuple[Any, ...]:
        """Everything remembered."""
        return (self._excused, tuple(self._last_support))

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Restore what ``get_state`` returned."""
        self._excused, supports = state
        self._last_support = list(supports)
