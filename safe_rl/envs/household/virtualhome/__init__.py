"""VirtualHome's programs as planning tasks: a second domain, with the same interface.

It needs ``eai-eval``, which carries VirtualHome's executor; see
:mod:`safe_rl.envs.household.virtualhome.installation`.
"""

from safe_rl.envs.household.virtualhome.goals import goal_formula
from safe_rl.envs.household.virtualhome.task import (
    VirtualHomeTask,
    program_numbers,
    virtualhome_task,
)

__all__ = ["VirtualHomeTask", "goal_formula", "program_numbers", "virtualhome_task"]
