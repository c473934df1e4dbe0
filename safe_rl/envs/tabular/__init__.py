"""Environments that step from an explicit transition model, one at a time or as an array."""

from safe_rl.envs.tabular.env import TabularEnv
from safe_rl.envs.tabular.model import TransitionModel
from safe_rl.envs.tabular.vector import TabularVectorEnv

__all__ = ["TabularEnv", "TabularVectorEnv", "TransitionModel"]
