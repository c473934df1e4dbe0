"""Constrained fine-tuning of chunk policies. Needs the extras ``sb3`` and ``vla``."""

from safe_rl.algos.finetuning.learner import ChunkPPOLagrangian
from safe_rl.algos.finetuning.policy import ChunkActorCritic

__all__ = ["ChunkActorCritic", "ChunkPPOLagrangian"]
