"""Learning from the monitors with TRL: rows for SFT, DPO and KTO, rewards, and environments.

None of this needs TRL to be imported; its trainers take what is made here.
"""

from safe_rl.feedback.trl.environments import PlanEnvironment, environment_factory
from safe_rl.feedback.trl.rewards import (
    PlanValue,
    RewardFunction,
    answer_text,
    plan_reward_func,
    reward_func,
)
from safe_rl.feedback.trl.rows import (
    Sample,
    dpo_rows,
    kto_rows,
    logged,
    mending_rows,
    rows_of,
    sampled,
    sft_rows,
    write_rows,
)

__all__ = [
    "PlanEnvironment",
    "PlanValue",
    "RewardFunction",
    "Sample",
    "answer_text",
    "dpo_rows",
    "environment_factory",
    "kto_rows",
    "logged",
    "mending_rows",
    "plan_reward_func",
    "reward_func",
    "rows_of",
    "sampled",
    "sft_rows",
    "write_rows",
]
