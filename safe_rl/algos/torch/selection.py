"""Keeping the best policy of a run on PyTorch, as a callback of Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos.selection import BestPolicies, Evaluated, Selection, best_in, summarise
from safe_rl.algos.torch.constraints import EpisodeSums, read_costs

__all__ = ["BestPolicyCallback", "best_checkpoint"]

SUFFIX = ".zip"


class BestPolicyCallback(BaseCallback):
    """Evaluates the policy between rollouts and keeps the best in ``folder/best_<timesteps>.zip``.

    The averaged actor is evaluated where one is kept. Evaluations draw their own random numbers,
    the same in each, and leave those of the training alone, so that a run with this callback
    learns the same numbers as one without. ``evaluations.json`` beside the file says what was
    measured. List it before ``CheckpointCallback``, so that a checkpoint never lacks an evaluation.

    Args:
        envs: environments of their own, as those of the training; ``SAME_STEP`` or SB3's reset.
        folder: where the files go.
        every: iterations between two evaluations.
        after: iteration of the first one.
        episodes: of each evaluation; every environment runs an equal share.
        confidence: how many standard errors below its limit a cost must be.
        seed: of the evaluations.

    Attributes:
        plan: the arguments.
        selection: the evaluations and the best of them, once training has begun.
    """

    selection: Selection

    def __init__(
        self,
        envs: VecEnv,
        folder: str | Path,
        *,
        every: int = 10,
        after: int = 0,
        episodes: int = 1000,
        confidence: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(verbose=0)
        self.envs = envs
        self.plan = BestPolicies(folder, every, after, episodes, confidence, seed)

    def _on_training_start(self) -> None:
        self.selection = Selection(self.plan.folder, SUFFIX, self.num_timesteps)
        self._evaluated_at = self._iteration

    @property
    def _iteration(self) -> int:
        return int(self.model.iteration)  # type: ignore[attr-defined]

    def _on_rollout_start(self) -> None:
        self._consider()

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._consider()
        self.selection.prune()

    def _consider(self) -> None:
        iteration = self._iteration
        if iteration > self._evaluated_at and self.plan.due(iteration):
            self._evaluated_at = iteration
            self.selection.add(self.evaluate(), self.model.save)

    def evaluate(self) -> Evaluated:
        """Run complete episodes with the present policy."""
        model: Any = self.model
        with th.random.fork_rng(devices=[]), model.averaged.in_place(model.policy):
            th.manual_seed(self.plan.seed)
            sums = self._episodes(model)
        return summarise(self.num_timesteps, sums, model.constraints, self.plan.confidence)

    def _episodes(self, model: Any) -> NDArray[np.float64]:
        """Return return and cost sums of each episode, ``[episodes, 1 + K]``."""
        envs = model.evaluation_env(self.envs)
        share = self.plan.shares(envs.num_envs)
        sums = EpisodeSums(envs.num_envs, len(model.constraints) + 1)
        found: list[NDArray[np.float64]] = []
        envs.seed(self.plan.seed)
        observations = envs.reset()
        while (share > 0).any():
            actions, _ = model.predict(observations, deterministic=False)
            observations, rewards, dones, infos = envs.step(actions)
            costs = read_costs(infos, model.constraints)
            owed = dones & (share > 0)
            ended = sums.add(np.concatenate([rewards[:, None], costs], axis=1), dones)
            found.append(ended[owed[dones]])
            share -= owed
        return np.concatenate(found)


def best_checkpoint(folder: str | Path) -> Path | None:
    """Return the best policy that a run has kept in ``folder``, or ``None``."""
    return best_in(folder, SUFFIX)
