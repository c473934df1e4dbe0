"""The policies that can be evaluated: a checkpoint, a scripted one, uniform actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import unwrap_vec_normalize

from safe_rl.algos import PPOLagrangian, latest_checkpoint
from safe_rl.cli.settings import CHECKPOINT_FOLDER
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.wrappers import VectorProductMDP


def find_checkpoint(path: str | Path) -> Path:
    """Return a checkpoint file: the path itself, or the newest of a run's folder.

    Raises:
        CheckpointError: there is none.
    """
    path = Path(path)
    if path.is_file():
        return path
    for folder in (path / CHECKPOINT_FOLDER, path):
        if folder.is_dir() and (newest := latest_checkpoint(folder)) is not None:
            return newest
    raise CheckpointError(
        f"{path}: no checkpoint there; give a run's folder, or one of the files in its "
        f"{CHECKPOINT_FOLDER}/"
    )


class CheckpointPolicy:
    """A trained policy, with the normaliser statistics of its training, frozen."""

    def __init__(self, model: PPOLagrangian, envs: VectorProductMDP, deterministic: bool) -> None:
        """Take the statistics over, and check that the policy fits the environments.

        Raises:
            ConfigurationError: the spaces differ, for example because other specifications give
                other monitor features.
        """
        for what, own, given in (
            ("observation", model.observation_space, envs.single_observation_space),
            ("action", model.action_space, envs.single_action_space),
        ):
            if own.shape != given.shape or type(own) is not type(given):
                raise ConfigurationError(
                    f"the checkpoint was trained on the {what} space {own}, but the environment "
                    f"has {given}; evaluate it in the environment and under the specifications "
                    "of its run (leave env= and specs= out)"
                )
        self._model = model
        self.normaliser = unwrap_vec_normalize(model.evaluation_env(envs))
        self._deterministic = deterministic

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> Any:
        """Return one action per environment."""
        if self.normaliser is not None:
            observations = self.normaliser.normalize_obs(observations)
        actions, _ = self._model.predict(observations, deterministic=self._deterministic)
        return actions


def load_model(path: str | Path, *, averaged: str, device: str, seed: int) -> PPOLagrangian:
    """Read a checkpoint to act with, and seed its sampling.

    Args:
        path: a checkpoint, or a run's folder.
        averaged: ``"true"`` for the averaged actor, ``"false"`` for the last one, ``"auto"`` for
            the averaged one where training kept one.
        device: of the networks.
        seed: of the actions that are sampled.
    """
    model = PPOLagrangian.load(find_checkpoint(path), device=device)
    if averaged == "true" or (averaged == "auto" and model.policy_average > 0.0):
        model.use_averaged_policy()
    model.set_random_seed(seed)
    return model


class ScriptedPolicyAdapter:
    """The scripted policy that robosuite's tasks come with."""

    def __init__(self, envs: VectorProductMDP, manner: str) -> None:
        """Find the task of the environments.

        Raises:
            ConfigurationError: the environments bring no scripted policy, or not that manner.
        """
        from safe_rl.envs.robosuite import RobosuiteEnv
        from safe_rl.envs.robosuite.scripted import ScriptedPolicy

        own = getattr(envs.unwrapped, "envs", [])
        if not own or not isinstance(own[0].unwrapped, RobosuiteEnv):
            raise ConfigurationError(
                f"policy=scripted: {envs.unwrapped} brings no scripted policy; robosuite/lift and "
                "robosuite/stack do (with env.vectorization=sync)"
            )
        spec = own[0].spec
        assert spec is not None
        self._policy = ScriptedPolicy(spec.kwargs["task"], manner)

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> Any:
        """Return one action per environment."""
        actions, _ = self._policy.predict(observations, episode_start=starts)
        return actions
