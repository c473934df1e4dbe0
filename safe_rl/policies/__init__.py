"""Policies that answer an observation and an instruction with a chunk of actions.

What is here needs numpy and Gymnasium. :mod:`safe_rl.policies.vla` is a small transformer in torch,
:mod:`safe_rl.policies.openpi` the websocket protocol of openpi; both need the extra ``vla``.

>>> from safe_rl.policies import scenario_seed
>>> scenario_seed(0, "robosuite/stack/3")
3381591897
"""

from safe_rl.policies.chunk_policy import POLICY_FILE, ChunkPolicy, checked_chunks, scenario_seed
from safe_rl.policies.observations import image_names, named_observation
from safe_rl.policies.prompts import PROMPT_FORMS, PromptForm, prompt
from safe_rl.policies.runner import ChunkRunner, instructions_of

__all__ = [
    "POLICY_FILE",
    "PROMPT_FORMS",
    "ChunkPolicy",
    "ChunkRunner",
    "PromptForm",
    "checked_chunks",
    "image_names",
    "instructions_of",
    "named_observation",
    "prompt",
    "scenario_seed",
]
