"""PPO with Lagrange multipliers whose whole iteration runs on the device, in JAX.

Everything in this package needs jax, flax, optax and orbax (``pip install "safe-rl-ltlf[jax]"``);
importing it without them is one clear error. It learns in a
:class:`~safe_rl.wrappers.functional.product.FunctionalProduct`; for any other environment there is
:class:`safe_rl.algos.PPOLagrangian` on PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from safe_rl.errors import MissingDependencyError

try:
    import flax  # noqa: F401
    import jax  # noqa: F401
    import optax  # noqa: F401
    import orbax.checkpoint  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        f"{error.name or 'jax'}", "jax", "safe_rl.algos.jax.PPOLagrangian"
    ) from error

if TYPE_CHECKING:
    from safe_rl.algos.jax.arguments import Arguments as Arguments
    from safe_rl.algos.jax.checkpoint import Checkpoints as Checkpoints
    from safe_rl.algos.jax.checkpoint import latest_checkpoint as latest_checkpoint
    from safe_rl.algos.jax.devices import use_cpu_cores as use_cpu_cores
    from safe_rl.algos.jax.policy import Policy as Policy
    from safe_rl.algos.jax.ppo_lagrangian import PPOLagrangian as PPOLagrangian
    from safe_rl.algos.jax.saved_run import load_policy as load_policy
    from safe_rl.algos.jax.selection import best_checkpoint as best_checkpoint
    from safe_rl.algos.selection import BestPolicies as BestPolicies

_LAZY = {
    "Arguments": "safe_rl.algos.jax.arguments",
    "BestPolicies": "safe_rl.algos.selection",
    "Checkpoints": "safe_rl.algos.jax.checkpoint",
    "PPOLagrangian": "safe_rl.algos.jax.ppo_lagrangian",
    "Policy": "safe_rl.algos.jax.policy",
    "best_checkpoint": "safe_rl.algos.jax.selection",
    "latest_checkpoint": "safe_rl.algos.jax.checkpoint",
    "load_policy": "safe_rl.algos.jax.saved_run",
    "use_cpu_cores": "safe_rl.algos.jax.devices",
}

__all__ = [
    "Arguments",
    "BestPolicies",
    "Checkpoints",
    "PPOLagrangian",
    "Policy",
    "best_checkpoint",
    "latest_checkpoint",
    "load_policy",
    "use_cpu_cores",
]


def __getattr__(name: str) -> Any:
    """Import a name on its first use (PEP 562)."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the lazy names beside the others."""
    return sorted({*globals(), *_LAZY})
