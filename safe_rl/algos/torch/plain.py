"""Model arguments and spaces as plain values, without pickling code.

A class or a function in a checkpoint is stored by name only, and only names of a short list of
modules are turned back into objects; anything else has to be given again when loading.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.utils import ConstantSchedule, FloatSchedule, LinearSchedule

from safe_rl.algos import schedules
from safe_rl.errors import CheckpointError, ConfigurationError

__all__ = ["decode_argument", "decode_space", "encode_argument", "encode_space"]

# Modules whose classes may be named in a file; none of them does anything when it is built.
_MODULES = (
    "torch.nn",
    "torch.optim",
    "stable_baselines3.common.torch_layers",
    "safe_rl.algos.torch.policies",
    "safe_rl.algos.finetuning.policy",
)


def encode_argument(name: str, value: Any) -> Any:
    """Return an argument of a model as a plain value.

    A function or a foreign class becomes a mark that says so; :func:`decode_argument` then asks for
    it by name.
    """
    from safe_rl.algos.controllers import Controller

    if isinstance(value, Controller):
        return None  # saved apart, with its state
    if isinstance(value, FloatSchedule):
        return encode_argument(name, value.value_schedule)
    if isinstance(value, ConstantSchedule):
        return value.val
    if isinstance(value, LinearSchedule):
        return {"schedule": [value.start, value.end, value.end_fraction]}
    if isinstance(value, schedules.LinearSchedule):
        return (value.start, value.end)
    if isinstance(value, schedules.GeometricSchedule):
        return (value.start, value.end, "geometric")
    if isinstance(value, type):
        found: type[Any] = value
        for module in _MODULES:
            # What the class is of has been imported; the others may need what is not installed.
            if getattr(sys.modules.get(module), found.__name__, None) is found:
                return {"class": [module, found.__name__]}
        return {"missing": f"the class {found.__module__}.{found.__qualname__}"}
    if isinstance(value, Mapping):
        return {"mapping": [[key, encode_argument(name, item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        encoded = [encode_argument(name, item) for item in value]
        return encoded if isinstance(value, list) else tuple(encoded)
    if value is None or isinstance(value, bool | int | float | str | np.generic | np.ndarray):
        return value
    return {"missing": f"{type(value).__name__} {value!r}"}


def decode_argument(name: str, value: Any, path: Path) -> Any:
    """Return the argument that :func:`encode_argument` wrote.

    Raises:
        CheckpointError: it could not be saved, so it has to be given again.
    """
    if isinstance(value, list | tuple):
        return type(value)(decode_argument(name, item, path) for item in value)
    if not isinstance(value, dict):
        return value
    if "schedule" in value:
        return LinearSchedule(*value["schedule"])
    if "class" in value:
        module, qualified = value["class"]
        found = getattr(import_module(module), qualified, None) if module in _MODULES else None
        if not isinstance(found, type):
            raise CheckpointError(
                f"{path} names {module}.{qualified} for the argument {name}, which this version "
                f"does not accept; pass {name}= to load()"
            )
        return found
    if "mapping" in value:
        return {key: decode_argument(name, item, path) for key, item in value["mapping"]}
    raise CheckpointError(
        f"{path} was written by a model whose argument {name} was {value.get('missing')}, which a "
        f"file cannot hold; pass {name}= to load()"
    )


def encode_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return a space as a plain value.

    Raises:
        ConfigurationError: a kind of space that SB3 does not learn in.
    """
    if isinstance(space, spaces.Box):
        return {"kind": "Box", "low": space.low, "high": space.high, "dtype": str(space.dtype)}
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "MultiDiscrete", "nvec": space.nvec, "start": space.start}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "shape": list(space.shape)}
    if isinstance(space, spaces.Dict):
        return {
            "kind": "Dict",
            "spaces": [[key, encode_space(part)] for key, part in space.spaces.items()],
        }
    raise ConfigurationError(f"a checkpoint cannot hold the space {space}")


def decode_space(value: dict[str, Any]) -> spaces.Space[Any]:
    """Return the space that :func:`encode_space` wrote."""
    kind = value["kind"]
    if kind == "Box":
        return spaces.Box(value["low"], value["high"], dtype=np.dtype(value["dtype"]).type)
    if kind == "Discrete":
        return spaces.Discrete(value["n"], start=value["start"])
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(value["nvec"], start=value["start"])
    if kind == "MultiBinary":
        shape = value["shape"]
        return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if kind == "Dict":
        return spaces.Dict({key: decode_space(part) for key, part in value["spaces"]})
    raise KeyError(f"unknown space {kind!r}")
