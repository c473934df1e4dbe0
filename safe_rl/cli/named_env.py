"""The environment that ``--env env=NAME`` names, with its settings, as in ``eval.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from safe_rl.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from safe_rl.cli.settings import EnvSettings, SpecsSettings


def named_env(overrides: Sequence[str]) -> tuple[EnvSettings, SpecsSettings | None]:
    """Return the environment's settings, and those of the specifications that its preset names.

    Args:
        overrides: such as ``["env=robosuite/lift", "env.kwargs.horizon=100"]``.

    Raises:
        ConfigurationError: an unknown preset or setting, or no environment.
        MissingDependencyError: hydra is not installed.
    """
    try:
        from hydra import compose, initialize_config_module
        from hydra.errors import HydraException
    except ImportError as error:
        raise MissingDependencyError("hydra-core", "sb3", "--env") from error
    from safe_rl.cli.settings import EvalSettings, checked, register_resolvers

    register_resolvers()
    try:
        with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
            settings = checked(compose("eval", list(overrides)), EvalSettings)
    except HydraException as error:
        words = " ".join(str(error).split())
        raise ConfigurationError(f"--env {' '.join(overrides)}: {words}") from None
    if settings.env is None:
        raise ConfigurationError(
            f"--env {' '.join(overrides)} names no environment; write --env env=robosuite/lift"
        )
    return settings.env, settings.specs
