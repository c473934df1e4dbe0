"""The one place where the small planner's libraries are imported."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import datasets
    import tokenizers
    import torch
    import transformers
    import trl
except ImportError as error:
    raise MissingDependencyError(str(error.name), "trl", "the trained planner") from error

__all__ = ["datasets", "tokenizers", "torch", "transformers", "trl"]
