"""The five tasks of the tabletop suite, by growing horizon."""

from safe_rl.envs.tabletop.tasks.cook import Cook
from safe_rl.envs.tabletop.tasks.drawer import Drawer
from safe_rl.envs.tabletop.tasks.lift import Lift
from safe_rl.envs.tabletop.tasks.place import Place
from safe_rl.envs.tabletop.tasks.stack import Stack
from safe_rl.envs.tabletop.tasks.task import SHIFTS, Task

TASKS: dict[str, type[Task]] = {task.name: task for task in (Lift, Place, Stack, Drawer, Cook)}
"""The tasks by name."""

__all__ = ["SHIFTS", "TASKS", "Cook", "Drawer", "Lift", "Place", "Stack", "Task"]
