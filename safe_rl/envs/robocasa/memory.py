"""What a kitchen remembers outside of the physics, saved and put back.

RoboCasa's fixtures and tasks keep plain values of their own: whether the microwave runs, how many
steps the burner has been on. A state that lacked them would not replay to the same rewards, and an
episode that inherited them would begin with a microwave that is on.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from safe_rl.envs.robocasa.kitchen import Kitchen

Memory = Mapping[str, Mapping[str, Any]]
"""Fixture to its values; the kitchen's own stand under the empty name."""

_PLAIN = (bool, int, float, str, np.ndarray, np.generic, type(None))


def read_memory(kitchen: Kitchen) -> Memory:
    """A copy of the plain values, and of lists, tuples, sets and dictionaries of them."""
    owners = {"": kitchen, **kitchen.fixtures}
    return {
        name: {key: deepcopy(value) for key, value in vars(owner).items() if _is_plain(value)}
        for name, owner in owners.items()
    }


def write_memory(kitchen: Kitchen, memory: Memory) -> None:
    """Put back what :func:`read_memory` returned."""
    for name, values in memory.items():
        owner = kitchen.fixtures[name] if name else kitchen
        for key, value in values.items():
            setattr(owner, key, deepcopy(value))


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple | set):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)
