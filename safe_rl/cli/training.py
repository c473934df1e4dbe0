"""One training run: its folder, its model, and how it continues where it was stopped."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HumanOutputFormat, KVWriter, Logger
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from safe_rl.algos import CheckpointCallback, PPOLagrangian, VectorEnvAdapter, latest_checkpoint
from safe_rl.algos.torch.progress import ProgressLog
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.policies import find_checkpoint
from safe_rl.cli.settings import (
    CHECKPOINT_FOLDER,
    AlgoSettings,
    TrainSettings,
    differences,
    load_settings,
    save_settings,
    what_is_learned,
)
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.curves import METRICS_FILE
from safe_rl.wrappers import VectorProductMDP

SETTINGS_FILE = "settings.yaml"
TENSORBOARD_FOLDER = "tensorboard"

Say = Callable[[str], None]


@dataclass(frozen=True)
class FinishedRun:
    """What :func:`train` returns.

    Attributes:
        folder: of the run.
        checkpoint: the last one.
        model: the trained model, with its environment closed.
        resumed_at: environment steps at which it continued; 0 for a new run.
    """

    folder: Path
    checkpoint: Path
    model: PPOLagrangian
    resumed_at: int


def train(settings: TrainSettings, say: Say = print) -> FinishedRun:
    """Train, or go on with what a stopped run with the same settings has begun.

    A run that is stopped and continued writes the same numbers as one that is left alone.

    Args:
        settings: everything; see :class:`TrainSettings`.
        say: prints a line for the person who watches.

    Raises:
        ConfigurationError: settings that contradict each other, or the folder holds another run.
        CheckpointError: a checkpoint is missing or damaged.
    """
    torch.set_num_threads(settings.threads)
    folder = Path(settings.run_dir)
    start = _where_to_start(settings, folder, say)
    specs = build_specs(settings.specs)
    product = build_product(settings.env, settings.specs, specs)
    try:
        _check_limits(settings, product)
        envs = VectorEnvAdapter(product)
        if start is None:
            model = build_model(settings.algo, envs, settings.seed, settings.device)
        else:
            model = PPOLagrangian.load(start, envs, device=settings.device)
        save_settings(settings, folder / SETTINGS_FILE)
        steps = model.num_timesteps
        model.set_logger(_logger(settings, folder, steps))
        total = settings.algo.total_timesteps
        if steps < total:
            model.learn(
                total - steps,
                callback=[*_callbacks(settings, folder, model, start)],
                reset_num_timesteps=start is None,
                progress_bar=_shows_progress(settings.progress),
            )
        else:
            say(
                f"{folder}: finished already, after {steps:,} steps; evaluate it with "
                f"checkpoint={folder}, or train again with resume=never"
            )
        model.logger.close()
    finally:
        product.close()
    return FinishedRun(
        folder, find_checkpoint(folder), model, resumed_at=0 if start is None else steps
    )


def _where_to_start(settings: TrainSettings, folder: Path, say: Say) -> Path | None:
    """Return the checkpoint to continue from, after checking that it belongs to this run."""
    own = latest_checkpoint(folder / CHECKPOINT_FOLDER) if folder.is_dir() else None
    if settings.resume == "never":
        if own is not None or (folder / METRICS_FILE).exists():
            say(f"the earlier run is kept in {_set_aside(folder)}")
        return None
    if settings.resume == "auto":
        if own is None:
            return None
        saved = load_settings(folder / SETTINGS_FILE)
        changed = differences(what_is_learned(saved), what_is_learned(settings))
        changed = [text for text in changed if not text.startswith("algo.total_timesteps ")]
        if changed:
            raise ConfigurationError(
                f"{folder} holds a run with other settings: {'; '.join(changed)}. Choose another "
                "run_dir, or set the earlier run aside with resume=never"
            )
        say(f"continuing from {own}")
        return own
    start = find_checkpoint(settings.resume)
    if own is not None and start.resolve().parent != own.resolve().parent:
        raise ConfigurationError(
            f"resume={settings.resume} would overwrite the run in {folder}; choose another "
            "run_dir, or set that run aside with resume=never first"
        )
    say(f"continuing from {start}")
    return start


def _set_aside(folder: Path) -> Path:
    number = 1
    while (kept := folder / f"earlier_{number}").exists():
        number += 1
    kept.mkdir(parents=True)
    for name in (CHECKPOINT_FOLDER, METRICS_FILE, SETTINGS_FILE, TENSORBOARD_FOLDER, "evaluation"):
        if (folder / name).exists():
            shutil.move(folder / name, kept / name)
    return kept


def _check_limits(settings: TrainSettings, product: VectorProductMDP) -> None:
    if settings.algo.controller != "unconstrained" and not product.constraints:
        raise ConfigurationError(
            f"algo={settings.algo.name} has nothing to constrain: none of the specifications "
            f"{', '.join(product.specs.ids)} carries a limit; set one, as in "
            f"+specs.limits.{product.specs.ids[0]}='{{kind: episode, value: 0.1}}', "
            "or train with algo=ppo"
        )


def build_model(algo: AlgoSettings, envs: VecEnv, seed: int, device: str = "cpu") -> PPOLagrangian:
    """Make a new model.

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
    return PPOLagrangian(
        "MultiInputPolicy" if hasattr(envs.observation_space, "spaces") else "MlpPolicy",
        envs,
        learning_rate=algo.learning_rate,
        n_steps=algo.n_steps,
        batch_size=algo.batch_size,
        n_epochs=algo.n_epochs,
        gamma=algo.gamma,
        gae_lambda=algo.gae_lambda,
        controller=algo.controller,
        controller_kwargs=dict(algo.controller_kwargs or {}),
        multiplier_min_episodes=algo.multiplier_min_episodes,
        relative_violations=algo.relative_violations,
        limit_margin=algo.limit_margin,
        cost_gamma=algo.cost_gamma,
        cost_gae_lambda=algo.cost_gae_lambda,
        cost_vf_coef=algo.cost_vf_coef,
        clip_range=algo.clip_range,
        ent_coef=algo.ent_coef,
        vf_coef=algo.vf_coef,
        max_grad_norm=algo.max_grad_norm,
        target_kl=algo.target_kl,
        policy_average=algo.policy_average,
        stats_window_size=algo.stats_window_size,
        policy_kwargs={"net_arch": list(algo.net_arch)},
        seed=seed,
        device=device,
    )


def _logger(settings: TrainSettings, folder: Path, steps: int) -> Logger:
    writers: list[KVWriter] = [ProgressLog(folder / METRICS_FILE, resume_at=steps)]
    if settings.tensorboard:
        from stable_baselines3.common.logger import TensorBoardOutputFormat

        writers.append(TensorBoardOutputFormat(str(folder / TENSORBOARD_FOLDER)))
    if settings.verbose:
        writers.append(HumanOutputFormat(sys.stdout))
    return Logger(str(folder), writers)


def _callbacks(
    settings: TrainSettings, folder: Path, model: PPOLagrangian, start: Path | None
) -> list[BaseCallback]:
    steps_per_iteration = model.n_steps * model.n_envs
    every = max(1, round(settings.checkpoint_every / steps_per_iteration))
    return [
        CheckpointCallback(folder / CHECKPOINT_FOLDER, every=every, keep=settings.keep_checkpoints)
    ]


def _shows_progress(choice: Any) -> bool:
    choice = str(choice).lower()
    return sys.stderr.isatty() if choice == "auto" else choice == "true"
