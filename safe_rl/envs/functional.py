"""The environments that exist as pure functions, by their Gymnasium id."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from safe_rl.errors import ConfigurationError, MissingDependencyError, near

if TYPE_CHECKING:
    from safe_rl.wrappers.functional import FunctionalEnv

__all__ = ["FUNCTIONAL_IDS", "make_functional"]

_TASKS = ("Lift", "Place", "Stack", "Drawer", "Cook")
_CLASSES: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "safe_rl/KitchenGrid-v0": (
        "safe_rl.envs.kitchen_grid.functional",
        "KitchenGridFunctional",
        {},
    ),
    **{
        f"safe_rl/Tabletop{name}-v0": (
            "safe_rl.envs.tabletop",
            "TabletopEnv",
            {"task": name.lower()},
        )
        for name in _TASKS
    },
}

FUNCTIONAL_IDS: Final = tuple(_CLASSES)
"""Ids that :func:`make_functional` knows."""


def make_functional(env_id: str, **arguments: Any) -> FunctionalEnv:
    """Make the functional form of a registered environment.

    Args:
        env_id: a Gymnasium id, one of ``FUNCTIONAL_IDS``.
        **arguments: of the environment.

    Raises:
        ConfigurationError: the environment has no such form, or does not take the arguments.
        MissingDependencyError: jax is not installed.

    >>> make_functional("safe_rl/KitchenGrid-v0").action_space
    Discrete(6)
    """
    if env_id not in _CLASSES:
        raise ConfigurationError(
            f"{env_id} has no form in pure functions{near(env_id, _CLASSES)}, so it cannot run on "
            f"the device; those that have one are {', '.join(_CLASSES)}. Train it with "
            "algo=ppo_lagrangian (PyTorch), which takes any Gymnasium environment"
        )
    module, name, fixed = _CLASSES[env_id]
    try:
        made = getattr(import_module(module), name)(**{**fixed, **arguments})
    except ImportError as error:
        raise MissingDependencyError(error.name or "jax", "jax", env_id) from error
    except TypeError as error:
        raise ConfigurationError(f"{env_id} cannot be made with {arguments}: {error}") from error
    found: FunctionalEnv = made
    return found
