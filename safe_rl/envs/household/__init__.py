"""A household as a planning domain: tasks by seed, a fast simulator, and rules of safety.

>>> from safe_rl.envs.household import Action, make_task
>>> task = make_task("train", 12)
>>> print(task.instruction)
Bring the jar from the table to the counter, closed.
>>> print(*task.reference)
close(jar) pick(jar) place(jar, counter)
>>> print(task.run([Action("place", ("jar", "counter"))]).failure.words)
cannot place the jar: it is not in the hand
"""

from safe_rl.envs.household.describe import describe
from safe_rl.envs.household.generate import ACTIVITIES, SPLITS, make_task, rules, task_named
from safe_rl.envs.household.plan import Action, Failure, PlanningTask, Run, Trace
from safe_rl.envs.household.rollouts import Rollout, outcome_chain, outcome_tree, rollouts
from safe_rl.envs.household.search import shortest_plan
from safe_rl.envs.household.simulator import Outcome, Simulator
from safe_rl.envs.household.task import Split, Task
from safe_rl.envs.household.vocabulary import in_words

__all__ = [
    "ACTIVITIES",
    "SPLITS",
    "Action",
    "Failure",
    "Outcome",
    "PlanningTask",
    "Rollout",
    "Run",
    "Simulator",
    "Split",
    "Task",
    "Trace",
    "describe",
    "in_words",
    "make_task",
    "outcome_chain",
    "outcome_tree",
    "rollouts",
    "rules",
    "shortest_plan",
    "task_named",
]
