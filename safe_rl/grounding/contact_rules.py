"""Which contacts a task allows: the roles of SafeManip's phi 1 (appendix F.1).

Considered is each contact in which a robot geom (the base apart), or an object that is being held,
touches something that is not the robot. A pair that is already there in the first frame is ignored
until it has been absent for one frame. What matches none of the allowed classes is a forbidden
contact; force and penetration play no part. The rules themselves are in
:mod:`safe_rl.grounding.arrays.contacts`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from safe_rl.errors import GroundingError, near

ROBOT = "robot"
"""The robot's name among the entities of a scene."""


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
