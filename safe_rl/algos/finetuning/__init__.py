"""Constrained fine-tuning of chunk policies. Needs the extras ``sb3`` and ``vla``."""

from safe_rl.algos.finetuning.learner import ChunkPPOLagrangian
from safe_rl.algos.finetuning.policy import ChunkActorCritic
from safe_rl.algos.finetuning.rlinf import ChunkStepEnvs
from safe_rl.algos.finetuning.simplevla import SafetyRewardManager

__all__ = ["ChunkActorCritic", "ChunkPPOLagrangian", "ChunkStepEnvs", "SafetyRewardManager"]
