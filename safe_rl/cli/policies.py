"""The policies that can be evaluated: a trained one, and those that environments bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.cli.backends import TrainedPolicy, backend_of_checkpoint
from safe_rl.cli.runs import find_checkpoint
from safe_rl.errors import ConfigurationError
from safe_rl.wrappers import VectorProductMDP


def trained_policy(
    checkpoint: str | Path,
    envs: VectorProductMDP,
    seed: int,
    *,
    which: str = "best",
    averaged: str = "auto",
    deterministic: bool = False,
    device: str = "cpu",
) -> TrainedPolicy:
    """Read a policy to act in ``envs``, and seed its sampling.

    Args:
        checkpoint: a checkpoint, or a run's folder.
        envs: what it acts in.
        seed: of the actions that are sampled.
        which: of a run's folder: ``"best"`` where the run kept one, or ``"last"``.
        averaged: ``"true"`` for the averaged actor, ``"false"`` for the last one, ``"auto"`` for
            the averaged one where training kept one.
        deterministic: take the most likely action.
        device: of the networks.

    Raises:
        CheckpointError: there is none, or it is damaged.
        ConfigurationError: it does not fit the environments.
    """
    found = find_checkpoint(checkpoint, which)
    return backend_of_checkpoint(found).load_policy(
        found, envs, averaged=averaged, deterministic=deterministic, device=device, seed=seed
    )


class ScriptedPolicyAdapter:
    """The scripted policy that tasks of robosuite and LIBERO come with."""

    def __init__(self, envs: VectorProductMDP, manner: str) -> None:
        """Find the task of the environments.

        Raises:
            ConfigurationError: the environments bring no scripted policy, or not that manner.
        """
        own = getattr(envs.unwrapped, "envs", [])
        make = getattr(own[0].unwrapped, "scripted_policy", None) if own else None
        if make is None:
            raise ConfigurationError(
                f"policy=scripted: {envs.unwrapped} brings no scripted policy; robosuite/lift, "
                "robosuite/stack and the libero suites do (with env.vectorization=sync)"
            )
        self._policy = make(manner)

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> Any:
        """Return one action per environment."""
        actions, _ = self._policy.predict(observations, episode_start=starts)
        return actions
