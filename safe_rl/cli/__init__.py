"""The ``safe-rl`` command, and the Hydra entry points that ``train.py`` and ``eval.py`` call."""

from safe_rl.cli.compiled import keep_compiled_programs
from safe_rl.cli.main import app, main

keep_compiled_programs()

__all__ = ["app", "main"]
