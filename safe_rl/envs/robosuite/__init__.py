"""robosuite's Lift, Stack and Door as Gymnasium environments that bring their own propositions."""

from safe_rl.envs.robosuite.env import RobosuiteEnv, RobosuiteState
from safe_rl.envs.robosuite.observation import observation_layout
from safe_rl.envs.robosuite.tasks import TASKS, Task

__all__ = ["TASKS", "RobosuiteEnv", "RobosuiteState", "Task", "observation_layout"]
