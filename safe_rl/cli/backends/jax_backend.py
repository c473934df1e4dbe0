"""Training and acting with :class:`safe_rl.algos.jax.PPOLagrangian`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.jax import (
    Checkpoints,
    Policy,
    PPOLagrangian,
    best_checkpoint,
    latest_checkpoint,
    use_cpu_cores,
)
from safe_rl.algos.jax import load_policy as load_actor
from safe_rl.algos.jax.record import ProgressWriter, RowWriter, TensorBoardWriter
from safe_rl.cli.building import build_functional_product, check_limits
from safe_rl.cli.runs import TENSORBOARD_FOLDER, best_policies, check_spaces, shows_progress
from safe_rl.cli.settings import CHECKPOINT_FOLDER, AlgoSettings, TrainSettings
from safe_rl.evaluation.curves import METRICS_FILE
from safe_rl.specs import SpecSet
from safe_rl.wrappers import VectorProductMDP
from safe_rl.wrappers.functional import FunctionalProduct

__all__ = [
    "JaxPolicy",
    "best_checkpoint",
    "build_model",
    "latest_checkpoint",
    "learn",
    "load_policy",
    "use_threads",
]


def use_threads(number: int) -> None:
    """Let jax see so many CPU devices; the environments are spread over them."""
    # jax reports each accelerator that the machine does not have.
    logging.getLogger("jax._src.xla_bridge").setLevel(logging.ERROR)
    use_cpu_cores(number)


def build_model(
    algo: AlgoSettings, product: FunctionalProduct, seed: int, num_envs: int
) -> PPOLagrangian:
    """Make a new model.

    Raises:
        ConfigurationError: an argument is out of its range.
    """
    return PPOLagrangian(product, seed=seed, num_envs=num_envs, **algo.learner_arguments())


def learn(
    settings: TrainSettings,
    specs: SpecSet,
    folder: Path,
    start: Path | None,
    begin: Callable[[], None],
) -> tuple[PPOLagrangian, int]:
    """Train in ``folder`` from ``start``; return the model and the steps done before."""
    product = build_functional_product(
        settings.env, settings.specs, specs, kwargs=settings.env.train_kwargs
    )
    check_limits(settings, product.constraints, product.specs)
    if start is None:
        num_envs = settings.algo.num_envs or settings.env.num_envs
        model = build_model(settings.algo, product, settings.seed, num_envs)
    else:
        model = PPOLagrangian.load(start, product)
    steps = model.num_timesteps
    begin()
    writers: list[RowWriter] = [ProgressWriter(folder / METRICS_FILE, resume_at=steps)]
    if settings.tensorboard:
        writers.append(TensorBoardWriter(folder / TENSORBOARD_FOLDER))
    size = model.arguments.rollout_size
    every = settings.iterations_between_checkpoints(size)
    best = best_policies(settings, folder, size)
    others: FunctionalProduct | None = None
    if best is not None and settings.env.train_kwargs:
        others = build_functional_product(settings.env, settings.specs, specs)
    model.learn(
        settings.algo.total_timesteps,
        writers=writers,
        checkpoints=Checkpoints(folder / CHECKPOINT_FOLDER, every, settings.keep_checkpoints),
        best=best,
        evaluation_product=others,
        progress_bar=shows_progress(settings.progress),
    )
    for writer in writers:
        writer.close()
    return model, steps


class JaxPolicy:
    """A trained policy, with the normaliser statistics of its training, frozen."""

    def __init__(self, policy: Policy, envs: VectorProductMDP, deterministic: bool) -> None:
        """Check that the policy fits the environments.

        Raises:
            ConfigurationError: the spaces differ.
        """
        check_spaces(policy.observation_space, policy.action_space, envs)
        self._policy = policy
        self._deterministic = deterministic

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> Any:
        """Return one action per environment."""
        return self._policy.act(observations, deterministic=self._deterministic)

    def probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """Return the distribution over discrete actions, float64 ``[N, A]``."""
        return self._policy.action_probabilities(observations)


def load_policy(
    checkpoint: Path,
    envs: VectorProductMDP,
    *,
    averaged: str,
    deterministic: bool,
    device: str,
    seed: int,
) -> JaxPolicy:
    """Read a policy to act in ``envs``; see :class:`~safe_rl.cli.backends.Backend`."""
    chosen = {"true": True, "false": False}.get(averaged)
    return JaxPolicy(load_actor(checkpoint, averaged=chosen, seed=seed), envs, deterministic)
