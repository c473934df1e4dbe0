"""Grounding on arrays: the propositions of many scenes at once, in numpy or on the device in jax.

Nothing here imports jax: the functions take whichever arrays they are given.
"""

from safe_rl.grounding.arrays.features import memory_feature_names, memory_features
from safe_rl.grounding.arrays.grounding import Memory, ground, initial_memory
from safe_rl.grounding.arrays.lanes import lanes_last
from safe_rl.grounding.arrays.scene import (
    ENCLOSURES,
    KINDS,
    SKILLS,
    ComponentRole,
    FixtureRole,
    ObjectRole,
    SceneArrays,
    SceneRoles,
    empty_scene,
)
from safe_rl.grounding.arrays.vocabulary import proposition_names

__all__ = [
    "ENCLOSURES",
    "KINDS",
    "SKILLS",
    "ComponentRole",
    "FixtureRole",
    "Memory",
    "ObjectRole",
    "SceneArrays",
    "SceneRoles",
    "empty_scene",
    "ground",
    "initial_memory",
    "lanes_last",
    "memory_feature_names",
    "memory_features",
    "proposition_names",
]
