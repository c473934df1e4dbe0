"""Keeping the best policy of a run: the highest return among those that kept every limit.

The last iterate of a primal-dual method swings around its limits. Evaluating it now and then and
keeping the best is SB3's ``EvalCallback``; here a policy must first of all meet the limits.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos.torch.constraints import EpisodeSums, read_costs
from safe_rl.errors import CheckpointError, ConfigurationError

__all__ = ["BestPolicyCallback", "Evaluated", "best_checkpoint"]

PREFIX = "best"
LIST = "evaluations.json"


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation found.

    Attributes:
        timesteps: environment steps of training.
        returns: mean return of an episode.
        costs: mean sum of each constraint's cost over an episode.
        errors: standard error of each.
        excess: largest (cost + ``confidence`` errors - limit) over the limit's scale; at most 0
            where every limit is met with that confidence.
    """

    timesteps: int
    returns: float
    costs: tuple[float, ...]
    errors: tuple[float, ...]
    excess: float

    def better_than(self, other: Evaluated | None) -> bool:
        """Whether this meets the limits and that does not, or both do and this earns more.

        Where neither does, the smaller excess is better.
        """
        if other is None:
            return True
        if self.excess > 0.0 or other.excess > 0.0:
            return max(self.excess, 0.0) < max(other.excess, 0.0)
        return self.returns > other.returns


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
    """

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
        if every < 1 or after < 0 or episodes < 2 or confidence < 0.0:
            raise ConfigurationError(
                f"every must be at least 1, after at least 0, episodes at least 2 and confidence "
                f"at least 0; got {every}, {after}, {episodes} and {confidence}"
            )
        self.envs = envs
        self.folder = Path(folder)
        self.every = every
        self.after = after
        self.episodes = episodes
        self.confidence = confidence
        self.eval_seed = seed
        self.best: Evaluated | None = None
        self.evaluations: list[Evaluated] = []

    def _on_training_start(self) -> None:
        # What a killed run found after the checkpoint that this one resumes from is found again.
        self.evaluations = self._read()
        for found in self.evaluations:
            if found.better_than(self.best):
                self.best = found
        for path in self.folder.glob(f"{PREFIX}_*.zip"):
            if not any(path == self._file(found) for found in self.evaluations):
                path.unlink()
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
        self._prune()

    def _consider(self) -> None:
        iteration = self._iteration
        if iteration <= self._evaluated_at or iteration < self.after or iteration % self.every:
            return
        self._evaluated_at = iteration
        self._keep(self.evaluate())

    def evaluate(self) -> Evaluated:
        """Run complete episodes with the present policy."""
        model: Any = self.model
        with th.random.fork_rng(devices=[]), model.averaged.in_place(model.policy):
            th.manual_seed(self.eval_seed)
            returns, costs = self._episodes(model)
        constraints = model.constraints
        means = costs.mean(axis=0)
        errors = costs.std(axis=0, ddof=1) / np.sqrt(len(costs))
        limits = np.asarray(constraints.limits, dtype=np.float64)
        excess = (means + self.confidence * errors - limits) / np.asarray(constraints.scales)
        return Evaluated(
            self.num_timesteps,
            float(returns.mean()),
            tuple(means.tolist()),
            tuple(errors.tolist()),
            float(excess.max(initial=0.0) if (excess > 0.0).any() else 0.0),
        )

    def _episodes(self, model: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return returns ``[episodes]`` and cost sums ``[episodes, K]``."""
        envs = model.evaluation_env(self.envs)
        count = envs.num_envs
        share = np.full(count, self.episodes // count) + (np.arange(count) < self.episodes % count)
        sums = EpisodeSums(count, len(model.constraints) + 1)
        found: list[NDArray[np.float64]] = []
        envs.seed(self.eval_seed)
        observations = envs.reset()
        while (share > 0).any():
            actions, _ = model.predict(observations, deterministic=False)
            observations, rewards, dones, infos = envs.step(actions)
            costs = read_costs(infos, model.constraints)
            owed = dones & (share > 0)
            ended = sums.add(np.concatenate([rewards[:, None], costs], axis=1), dones)
            found.append(ended[owed[dones]])
            share -= owed
        rows = np.concatenate(found)
        return rows[:, 0], rows[:, 1:]

    # --- files ----------------------------------------------------------------------------------

    def _file(self, found: Evaluated) -> Path:
        return self.folder / f"{PREFIX}_{found.timesteps:012d}.zip"

    def _keep(self, found: Evaluated) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        improves = found.better_than(self.best)
        if improves:
            self.best = found
            self.model.save(self._file(found))
        self.evaluations.append(found)
        partial = self.folder / f".{LIST}.partial"
        partial.write_text(json.dumps([asdict(e) for e in self.evaluations], indent=1), "utf-8")
        os.replace(partial, self.folder / LIST)

    def _read(self) -> list[Evaluated]:
        """Read what was found up to here; drop what a killed run found after its checkpoint."""
        path = self.folder / LIST
        if not path.is_file():
            return []
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            found = [
                Evaluated(**{**row, "costs": tuple(row["costs"]), "errors": tuple(row["errors"])})
                for row in rows
            ]
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"{path} is damaged ({error}); remove it") from error
        return [e for e in found if e.timesteps <= self.num_timesteps]

    def _prune(self) -> None:
        """Remove the files that the best one has replaced, or that belong to no evaluation."""
        for path in self.folder.glob(f"{PREFIX}_*.zip"):
            if self.best is None or path != self._file(self.best):
                path.unlink()


def best_checkpoint(folder: str | Path) -> Path | None:
    """Return the best policy that a run has kept in ``folder``, or ``None``."""
    paths = sorted(Path(folder).glob(f"{PREFIX}_*.zip"))  # each is better than those before it
    return paths[-1] if paths else None
