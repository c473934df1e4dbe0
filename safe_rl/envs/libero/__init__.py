"""LIBERO's five suites as Gymnasium environments that bring their own propositions."""

from safe_rl.envs.libero.env import CAMERAS, LiberoEnv
from safe_rl.envs.libero.tasks import SUITES, LiberoTask, find_task, task_names

__all__ = ["CAMERAS", "SUITES", "LiberoEnv", "LiberoTask", "find_task", "task_names"]
