"""The one place where the imitation learner imports PyTorch."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import torch
except ImportError as error:  # pragma: no cover - depends on the installation
    raise MissingDependencyError("torch", "vla", "learning from demonstrations") from error

__all__ = ["torch"]
