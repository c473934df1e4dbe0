"""The product MDP as pure functions in jax: environments, monitors and costs in one jitted program.

Needs the extra ``jax``; nothing else in ``safe_rl.wrappers`` imports this package.
"""

from safe_rl.errors import MissingDependencyError

try:
    import jax as _jax  # noqa: F401 - asked for here once, so that its absence is one clear error
except ImportError as error:
    raise MissingDependencyError("jax", "jax", "safe_rl.wrappers.functional") from error

from safe_rl.wrappers.functional.environment import FunctionalEnv
from safe_rl.wrappers.functional.gym_env import FunctionalGymEnv
from safe_rl.wrappers.functional.product import FunctionalProduct, ProductState, Transition
from safe_rl.wrappers.functional.vector_env import FunctionalVectorEnv

__all__ = [
    "FunctionalEnv",
    "FunctionalGymEnv",
    "FunctionalProduct",
    "FunctionalVectorEnv",
    "ProductState",
    "Transition",
]
