"""From simulator state to propositions: scene facts, smoothing devices, predicates.

There is one grounding of SafeManip's specifications, in :mod:`safe_rl.grounding.arrays`. A
simulator fills in ``SceneArrays`` (:mod:`safe_rl.grounding.mujoco` does so for any MuJoCo model),
and ``FrameGrounding`` turns them into letters, frame by frame.
"""

from safe_rl.grounding.arrays.scene import (
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneArrays,
    SceneRoles,
)
from safe_rl.grounding.contact_rules import AllowedContacts
from safe_rl.grounding.devices import (
    AgeCounter,
    Device,
    Edge,
    Latch,
    StickyTrueDebounce,
    SymmetricDebounce,
    TimeoutCounter,
)
from safe_rl.grounding.explanation import FrameRecord, explain
from safe_rl.grounding.frame_grounding import FrameGrounding, FrameGroundingState
from safe_rl.grounding.settings import GroundingSettings

__all__ = [
    "AgeCounter",
    "AllowedContacts",
    "ComponentRole",
    "Device",
    "Edge",
    "FixtureRole",
    "FrameGrounding",
    "FrameGroundingState",
    "FrameRecord",
    "GroundingSettings",
    "Latch",
    "ObjectRole",
    "SceneArrays",
    "SceneRoles",
    "StickyTrueDebounce",
    "SymmetricDebounce",
    "TimeoutCounter",
    "explain",
]
