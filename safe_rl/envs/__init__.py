"""Environments that bring their own propositions; importing this package registers their ids."""

from __future__ import annotations

from typing import Any

from gymnasium.envs.registration import register, registry

# Entry points are text, so that nothing heavy is imported before an environment is made.
_ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "safe_rl/KitchenGrid-v0": {
        "entry_point": "safe_rl.envs.kitchen_grid:KitchenGridEnv",
        "vector_entry_point": "safe_rl.envs.kitchen_grid:KitchenGridVector",
    },
    "safe_rl/RobosuiteLift-v0": {
        "entry_point": "safe_rl.envs.robosuite:RobosuiteEnv",
        "kwargs": {"task": "Lift"},
    },
    "safe_rl/RobosuiteStack-v0": {
        "entry_point": "safe_rl.envs.robosuite:RobosuiteEnv",
        "kwargs": {"task": "Stack"},
    },
    "safe_rl/RobosuitePickPlaceCan-v0": {
        "entry_point": "safe_rl.envs.robosuite:RobosuiteEnv",
        "kwargs": {"task": "PickPlaceCan"},
    },
    "safe_rl/RobosuiteDoor-v0": {
        "entry_point": "safe_rl.envs.robosuite:RobosuiteEnv",
        "kwargs": {"task": "Door"},
    },
    "safe_rl/Libero-v0": {"entry_point": "safe_rl.envs.libero:LiberoEnv"},
    "safe_rl/RoboCasa-v0": {"entry_point": "safe_rl.envs.robocasa:RoboCasaEnv"},
    **{
        f"safe_rl/Tabletop{task.capitalize()}-v0": {
            "entry_point": "safe_rl.envs.tabletop:TabletopGymEnv",
            "vector_entry_point": "safe_rl.envs.tabletop:TabletopVectorEnv",
            "kwargs": {"task": task},
        }
        for task in ("lift", "place", "stack", "drawer", "cook")
    },
}


def register_environments() -> None:
    """Register the ids with Gymnasium, once."""
    for name, entry in _ENVIRONMENTS.items():
        if name not in registry:
            register(name, **entry)


register_environments()
