"""PPO with Lagrange multipliers, in the style of Stable-Baselines3.

Everything in this package needs PyTorch and Stable-Baselines3 (``pip install
"safe-rl-ltlf[sb3]"``); importing it without them is one clear error.
"""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import stable_baselines3  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        f"{error.name or 'stable-baselines3'}", "sb3", "PPOLagrangian"
    ) from error
