"""The one place where the policy's libraries are imported."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import safetensors
    import safetensors.torch
    import torch
except ImportError as error:
    raise MissingDependencyError(
        str(error.name), "vla", "the vision-language-action policy"
    ) from error

__all__ = ["safetensors", "torch"]
