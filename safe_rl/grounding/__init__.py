"""From simulator state to propositions: scene facts, smoothing devices, predicates."""

from safe_rl.grounding.contact_rules import AllowedContacts, ContactRules
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
from safe_rl.grounding.manipulation import ManipulationGrounding
from safe_rl.grounding.mujoco_entities import SceneRoles
from safe_rl.grounding.mujoco_scene import MujocoScene
from safe_rl.grounding.scene import BodyMotion, Contact, ObjectFacts, Scene, SceneFrame
from safe_rl.grounding.settings import GroundingSettings

__all__ = [
    "AgeCounter",
    "AllowedContacts",
    "BodyMotion",
    "Contact",
    "ContactRules",
    "Device",
    "Edge",
    "FrameRecord",
    "GroundingSettings",
    "Latch",
    "ManipulationGrounding",
    "MujocoScene",
    "ObjectFacts",
    "Scene",
    "SceneFrame",
    "SceneRoles",
    "StickyTrueDebounce",
    "SymmetricDebounce",
    "TimeoutCounter",
    "explain",
]
