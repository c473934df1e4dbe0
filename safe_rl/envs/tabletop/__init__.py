"""The tabletop suite in jax: a gripper, five tasks of growing horizon, and their labels.

Needs the extra ``jax``; ``safe_rl.envs`` registers its ids without importing it.
"""

from safe_rl.errors import MissingDependencyError

try:
    import jax as _jax  # noqa: F401 - asked for here once, so that its absence is one clear error
except ImportError as error:
    raise MissingDependencyError("jax", "jax", "safe_rl.envs.tabletop") from error

from safe_rl.envs.tabletop.env import SETTINGS, TabletopEnv
from safe_rl.envs.tabletop.gymnasium_env import TabletopGymEnv, TabletopVectorEnv
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.scripted import CAREFUL, HASTY, Style, scripted_policy
from safe_rl.envs.tabletop.state import TabletopState
from safe_rl.envs.tabletop.tasks import SHIFTS, TASKS

__all__ = [
    "CAREFUL",
    "HASTY",
    "SETTINGS",
    "SHIFTS",
    "TASKS",
    "Style",
    "TabletopEnv",
    "TabletopGymEnv",
    "TabletopParameters",
    "TabletopState",
    "TabletopVectorEnv",
    "scripted_policy",
]
