"""The two learners behind one command line: what each must offer, and how it is found.

A backend is a module: ``torch`` (Stable-Baselines3; any Gymnasium environment) or ``jax`` (flax;
environments that are pure functions). Which one a run uses is the setting ``algo.backend``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from safe_rl.cli.settings import BACKENDS, TrainSettings
from safe_rl.errors import ConfigurationError, near
from safe_rl.evaluation.rollouts import Policy
from safe_rl.specs import SpecSet
from safe_rl.wrappers import VectorProductMDP

__all__ = ["Backend", "TrainedPolicy", "backend_of", "backend_of_checkpoint"]


class TrainedPolicy(Policy, Protocol):
    """A policy read from a checkpoint."""

    def probabilities(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the distribution over discrete actions, float64 ``[N, A]``."""


class Backend(Protocol):
    """What the command line needs of a learner."""

    def use_threads(self, number: int) -> None:
        """Use so many cores; called before anything else."""

    def latest_checkpoint(self, folder: Path) -> Path | None:
        """Return the newest checkpoint of a folder that can be read, or ``None``."""

    def best_checkpoint(self, folder: Path) -> Path | None:
        """Return the best policy that a run has kept in a folder, or ``None``."""

    def learn(
        self,
        settings: TrainSettings,
        specs: SpecSet,
        folder: Path,
        start: Path | None,
        begin: Callable[[], None],
    ) -> tuple[Any, int]:
        """Train in ``folder`` from ``start``; return the model and the steps done before.

        ``begin`` is called once everything has been checked, before the first step.
        """

    def load_policy(
        self,
        checkpoint: Path,
        envs: VectorProductMDP,
        *,
        averaged: str,
        deterministic: bool,
        device: str,
        seed: int,
    ) -> TrainedPolicy:
        """Read a policy to act in ``envs``, and seed its sampling.

        ``averaged`` is ``"true"`` for the averaged actor, ``"false"`` for the last one, ``"auto"``
        for the averaged one where training kept one.

        Raises:
            ConfigurationError: the spaces differ, or no average was kept.
        """


def backend_of(name: str) -> Backend:
    """Return the backend that ``algo.backend`` names.

    Raises:
        ConfigurationError: there is no such backend.
        MissingDependencyError: its libraries are not installed; the message names the extra.
    """
    if name not in BACKENDS:
        raise ConfigurationError(
            f"algo.backend is {name!r}{near(name, BACKENDS)}; choose one of {', '.join(BACKENDS)}"
        )
    return cast(Backend, import_module(f"safe_rl.cli.backends.{name}_backend"))


def backend_of_checkpoint(path: Path) -> Backend:
    """Return the backend that wrote a checkpoint: torch writes files, jax writes folders."""
    return backend_of("torch" if path.is_file() else "jax")
