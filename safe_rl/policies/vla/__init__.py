"""A small vision-language-action policy in torch, to be trained from scratch.

Needs the extra ``vla``. docs/policies.md shows how it is used.
"""

from safe_rl.policies.vla.checkpoint import load_vla, save_vla
from safe_rl.policies.vla.config import VLAConfig
from safe_rl.policies.vla.distribution import ChunkDistribution
from safe_rl.policies.vla.lora import add_lora, merge_lora
from safe_rl.policies.vla.model import VLA
from safe_rl.policies.vla.policy import VLAPolicy
from safe_rl.policies.vla.statistics import Statistics, statistics_of
from safe_rl.policies.vla.words import word_numbers

__all__ = [
    "VLA",
    "ChunkDistribution",
    "Statistics",
    "VLAConfig",
    "VLAPolicy",
    "add_lora",
    "load_vla",
    "merge_lora",
    "save_vla",
    "statistics_of",
    "word_numbers",
]
