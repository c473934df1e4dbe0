"""Commands that are Hydra programs, such as ``safe-rl train``."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from safe_rl.cli.messages import clear_errors

PASS_THROUGH = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],  # Hydra's own --help shows the configuration
}
"""Typer's settings of a command whose arguments are Hydra's."""


def run_program(module: str, context: typer.Context) -> None:
    """Hand over to ``safe_rl.cli.<module>.main``, which takes its overrides from ``sys.argv``."""
    with clear_errors():
        main = import_module(f"safe_rl.cli.{module}").main
        sys.argv = [f"safe-rl {context.info_name}", *context.args]
        main()
