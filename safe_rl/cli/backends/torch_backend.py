"""Training and acting with :class:`safe_rl.algos.PPOLagrangian` on PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HumanOutputFormat, KVWriter, Logger
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from safe_rl.algos import (
    BestPolicyCallback,
    CheckpointCallback,
    PPOLagrangian,
    VectorEnvAdapter,
    best_checkpoint,
)
from safe_rl.algos.torch.callbacks import latest_checkpoint
from safe_rl.algos.torch.progress import ProgressLog
from safe_rl.cli.backends import fine_tuning
from safe_rl.cli.building import build_product, check_limits
from safe_rl.cli.runs import TENSORBOARD_FOLDER, best_policies, check_spaces, shows_progress
from safe_rl.cli.settings import CHECKPOINT_FOLDER, AlgoSettings, TrainSettings
from safe_rl.evaluation.curves import METRICS_FILE
from safe_rl.specs import SpecSet
from safe_rl.wrappers import VectorProductMDP

if TYPE_CHECKING:
    from safe_rl.policies.vla import VLA

__all__ = [
    "TorchPolicy",
    "best_checkpoint",
    "build_model",
    "latest_checkpoint",
    "learn",
    "load_policy",
    "use_threads",
]


def use_threads(number: int) -> None:
    """Let torch use so many threads."""
    torch.set_num_threads(number)


def learn(
    settings: TrainSettings,
    specs: SpecSet,
    folder: Path,
    start: Path | None,
    begin: Callable[[], None],
) -> tuple[PPOLagrangian, int]:
    """Train in ``folder`` from ``start``; return the model and the steps done before."""
    num_envs = settings.algo.num_envs or settings.env.num_envs
    product = build_product(
        settings.env, settings.specs, specs, num_envs=num_envs, kwargs=settings.env.train_kwargs
    )
    others: VectorProductMDP | None = None
    try:
        check_limits(settings, product.constraints, product.specs)
        tuned = fine_tuning.begun_with(settings.algo)
        envs = VectorEnvAdapter(fine_tuning.chunked(product, tuned))
        if start is None:
            model = build_model(settings.algo, envs, settings.seed, settings.device, tuned)
        else:
            kind = PPOLagrangian if tuned is None else fine_tuning.learner()
            model = kind.load(start, envs, device=settings.device)
        steps = model.num_timesteps
        begin()
        model.set_logger(_logger(settings, folder, steps))
        total = settings.algo.total_timesteps
        if steps < total:
            callbacks: list[BaseCallback] = []
            size = model.n_steps * model.n_envs
            plan = best_policies(settings, folder, size)
            if plan is not None:
                others = build_product(settings.env, settings.specs, specs, num_envs=num_envs)
                apart = VectorEnvAdapter(fine_tuning.chunked(others, tuned))
                callbacks.append(BestPolicyCallback(apart, **vars(plan)))
            callbacks.append(
                CheckpointCallback(
                    folder / CHECKPOINT_FOLDER,
                    every=settings.iterations_between_checkpoints(size),
                    keep=settings.keep_checkpoints,
                )
            )
            model.learn(
                total - steps,
                callback=callbacks,
                reset_num_timesteps=start is None,
                progress_bar=shows_progress(settings.progress),
            )
        model.logger.close()
        if tuned is not None:
            fine_tuning.export(model, folder)
    finally:
        product.close()
        if others is not None:
            others.close()
    return model, steps


def build_model(
    algo: AlgoSettings, envs: VecEnv, seed: int, device: str = "cpu", tuned: VLA | None = None
) -> PPOLagrangian:
    """Make a new model, which begins with the policy ``tuned`` where one is fine-tuned.

    Raises:
        ConfigurationError: an argument is out of its range.
    """
    if algo.normalize_observations or algo.normalize_rewards:
        envs = VecNormalize(
            envs,
            norm_obs=algo.normalize_observations,
            norm_reward=algo.normalize_rewards,
            gamma=algo.gamma,
        )
    envs.seed(seed)
    arguments = algo.learner_arguments()
    arguments.pop("normalize_observations")
    arguments.pop("normalize_rewards")
    if tuned is not None:
        return fine_tuning.build(tuned, envs, seed=seed, device=device, **arguments)
    return PPOLagrangian(
        "MultiInputPolicy" if hasattr(envs.observation_space, "spaces") else "MlpPolicy",
        envs,
        policy_kwargs={name: arguments.pop(name) for name in ("net_arch", "log_std_init")},
        seed=seed,
        device=device,
        **arguments,
    )


def _logger(settings: TrainSettings, folder: Path, steps: int) -> Logger:
    writers: list[KVWriter] = [ProgressLog(folder / METRICS_FILE, resume_at=steps)]
    if settings.tensorboard:
        from stable_baselines3.common.logger import TensorBoardOutputFormat

        writers.append(TensorBoardOutputFormat(str(folder / TENSORBOARD_FOLDER)))
    if settings.verbose:
        writers.append(HumanOutputFormat(sys.stdout))
    return Logger(str(folder), writers)


class TorchPolicy:
    """A trained policy, with the normaliser statistics of its training, frozen."""

    def __init__(self, model: PPOLagrangian, envs: VectorProductMDP, deterministic: bool) -> None:
        """Take the statistics over, and check that the policy fits the environments.

        Raises:
            ConfigurationError: the spaces differ, for example because other specifications give
                other monitor features.
        """
        check_spaces(model.observation_space, model.action_space, envs)
        self.model = model
        self.normaliser = unwrap_vec_normalize(model.evaluation_env(envs))
        self._deterministic = deterministic

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> Any:
        """Return one action per environment."""
        actions, _ = self.model.predict(
            self._shown(observations), deterministic=self._deterministic
        )
        return actions

    def probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """Return the distribution over discrete actions, float64 ``[N, A]``."""
        self.model.policy.set_training_mode(False)
        with torch.no_grad():
            tensor, _ = self.model.policy.obs_to_tensor(self._shown(observations))
            distribution: Any = self.model.policy.get_distribution(tensor).distribution
        probabilities = distribution.probs.cpu().numpy().astype(np.float64)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _shown(self, observations: Any) -> Any:
        if self.normaliser is None:
            return observations
        return self.normaliser.normalize_obs(observations)


def load_policy(
    checkpoint: Path,
    envs: VectorProductMDP,
    *,
    averaged: str,
    deterministic: bool,
    device: str,
    seed: int,
) -> TorchPolicy:
    """Read a policy to act in ``envs``; see :class:`~safe_rl.cli.backends.Backend`."""
    model = PPOLagrangian.load(checkpoint, device=device)
    if averaged == "true" or (averaged == "auto" and model.policy_average > 0.0):
        model.use_averaged_policy()
    model.set_random_seed(seed)
    return TorchPolicy(model, envs, deterministic)
