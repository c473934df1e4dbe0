"""The ``safe-rl`` command, and the Hydra entry points that ``train.py`` and ``eval.py`` call."""

from safe_rl.cli.main import app, main

__all__ = ["app", "main"]
