"""A policy on disk: ``policy.json`` and its weights beside it, without pickle.

``policy.json`` names the file of weights, and is written last: whoever reads the folder finds the
last policy that was saved completely.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.files import replacing, write_whole
from safe_rl.policies.chunk_policy import POLICY_FILE
from safe_rl.policies.vla.backend import safetensors, torch
from safe_rl.policies.vla.config import VLAConfig
from safe_rl.policies.vla.lora import merge_lora
from safe_rl.policies.vla.model import VLA

FORMAT = 1


class Saved(NamedTuple):
    """What :func:`load_vla` returns.

    Attributes:
        model: the policy.
        info: what was saved beside it: plain data.
    """

    model: VLA
    info: Mapping[str, Any]


def save_vla(model: VLA, folder: str | Path, info: Mapping[str, Any] | None = None) -> Path:
    """Write a policy; returns the folder.

    LoRA adapters are merged into the weights of what is written. A reader never sees half a policy:
    one that was there before stays until the new one is complete.

    Args:
        model: the policy.
        folder: created if need be.
        info: plain data to keep beside it, such as the prompt form and the task.

    Raises:
        CheckpointError: ``info`` is not JSON.
    """
    folder = Path(folder)
    if any(".lora_" in name for name, _ in model.named_parameters()):
        model = merge_lora(deepcopy(model))
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    data = safetensors.torch.save(weights)
    name = f"weights-{zlib.crc32(data):08x}.safetensors"
    described = {
        "format": FORMAT,
        "weights": name,
        "config": model.config.to_json(),
        "info": dict(info or {}),
    }
    try:
        text = json.dumps(described, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"the info of a policy must be plain data for JSON: {error}"
        ) from None
    with replacing(folder / name) as file:
        file.write(data)
    write_whole(folder / POLICY_FILE, text + "\n")
    for old in folder.glob("weights-*.safetensors"):
        if old.name != name:
            old.unlink(missing_ok=True)
    return folder


def is_vla(folder: str | Path) -> bool:
    """Whether a folder holds a policy of :func:`save_vla`."""
    return (Path(folder) / POLICY_FILE).is_file()


def load_vla(folder: str | Path, device: str = "cpu") -> Saved:
    """Read a policy; nothing in its files is executed.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    path = Path(folder) / POLICY_FILE
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        number, name, sizes = (described[key] for key in ("format", "weights", "config"))
        if number != FORMAT or Path(name).name != name:
            raise ValueError(f"format {number!r}, weights {name!r}")
        config, info = VLAConfig.from_json(sizes), dict(described.get("info", {}))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path}: no such file; give the folder of a policy that save_vla wrote"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, ConfigurationError) as error:
        raise CheckpointError(f"{path}: not a policy of format {FORMAT} ({error})") from None
    model = VLA(config)
    try:
        data = (path.parent / name).read_bytes()
        if name != f"weights-{zlib.crc32(data):08x}.safetensors":
            raise ValueError("its content is not what was written")
        model.load_state_dict(safetensors.torch.load(data))
    except (OSError, ValueError, RuntimeError, safetensors.SafetensorError) as error:
        raise CheckpointError(f"{path.parent / name}: damaged ({error})") from None
    return Saved(model.to(torch.device(device)), info)
