"""Learning under constraints: controllers, exact solvers, and PPO with Lagrange multipliers.

The controllers need numpy only. ``PPOLagrangian`` and what goes with it need PyTorch and
Stable-Baselines3, and are imported when they are first asked for; without them the first use is a
:class:`~safe_rl.errors.MissingDependencyError` that names the extra to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from safe_rl.algos.controllers import (
    PID,
    Controller,
    ExactPenalty,
    LogBarrier,
    ProjectedGradient,
    Unconstrained,
    make_controller,
)

if TYPE_CHECKING:
    from safe_rl.algos.torch.callbacks import CheckpointCallback as CheckpointCallback
    from safe_rl.algos.torch.callbacks import latest_checkpoint as latest_checkpoint
    from safe_rl.algos.torch.ppo_lagrangian import PPOLagrangian as PPOLagrangian
    from safe_rl.algos.torch.selection import BestPolicyCallback as BestPolicyCallback
    from safe_rl.algos.torch.selection import best_checkpoint as best_checkpoint
    from safe_rl.algos.torch.vec_env import VectorEnvAdapter as VectorEnvAdapter

_LAZY = {
    "PPOLagrangian": "safe_rl.algos.torch.ppo_lagrangian",
    "CheckpointCallback": "safe_rl.algos.torch.callbacks",
    "BestPolicyCallback": "safe_rl.algos.torch.selection",
    "best_checkpoint": "safe_rl.algos.torch.selection",
    "latest_checkpoint": "safe_rl.algos.torch.callbacks",
    "VectorEnvAdapter": "safe_rl.algos.torch.vec_env",
}

__all__ = [
    "PID",
    "BestPolicyCallback",
    "CheckpointCallback",
    "Controller",
    "ExactPenalty",
    "LogBarrier",
    "PPOLagrangian",
    "ProjectedGradient",
    "Unconstrained",
    "VectorEnvAdapter",
    "best_checkpoint",
    "latest_checkpoint",
    "make_controller",
]


def __getattr__(name: str) -> Any:
    """Import the names that need PyTorch on their first use (PEP 562)."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the lazy names beside the others."""
    return sorted({*globals(), *_LAZY})
