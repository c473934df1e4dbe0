"""Keeping the best policy of a run: the highest return among those that kept every limit.

The last iterate of a primal-dual method swings around its limits. Evaluating it now and then and
keeping the best is SB3's ``EvalCallback``; here a policy must first of all meet the limits. What is
here needs no learner: when to evaluate, which of two policies is better, and the files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.constraint_set import ConstraintSet
from safe_rl.errors import CheckpointError, ConfigurationError

__all__ = ["BestPolicies", "Evaluated", "Selection", "best_in", "summarise"]

PREFIX = "best"
LIST = "evaluations.json"
DIGITS = 12


@dataclass(frozen=True)
class BestPolicies:
    """When a run evaluates its policy, on what, and where the best is kept.

    Attributes:
        folder: gets ``best_<timesteps>`` and ``evaluations.json``.
        every: iterations between two evaluations.
        after: iteration of the first one.
        episodes: of each evaluation; every environment runs an equal share.
        confidence: how many standard errors below its limit a cost must be.
        seed: of the evaluations, which all draw the same random numbers.
    """

    folder: str | Path
    every: int = 10
    after: int = 0
    episodes: int = 1000
    confidence: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigurationError: one is out of its range.
        """
        if self.every < 1 or self.after < 0 or self.episodes < 2 or self.confidence < 0.0:
            raise ConfigurationError(
                f"every must be at least 1, after at least 0, episodes at least 2 and confidence "
                f"at least 0; got {self.every}, {self.after}, {self.episodes} and {self.confidence}"
            )

    def due(self, iteration: int) -> bool:
        """Return whether the policy is evaluated when so many iterations are done."""
        return iteration >= self.after and iteration % self.every == 0

    def shares(self, environments: int) -> NDArray[np.int64]:
        """Return how many episodes each environment owes, ``[environments]``.

        The first episodes that end would be the short ones; equal shares favour none.
        """
        each, rest = divmod(self.episodes, environments)
        return each + (np.arange(environments) < rest).astype(np.int64)


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


def summarise(
    timesteps: int,
    sums: NDArray[np.float64],
    constraints: ConstraintSet,
    confidence: float,
) -> Evaluated:
    """Return what an evaluation found.

    Args:
        timesteps: environment steps of training.
        sums: return and cost sums of each episode, ``[episodes, 1 + K]``.
        constraints: of the run.
        confidence: how many standard errors below its limit a cost must be.
    """
    returns, costs = sums[:, 0], sums[:, 1:]
    means = costs.mean(axis=0)
    errors = costs.std(axis=0, ddof=1) / np.sqrt(len(costs))
    limits = np.asarray(constraints.limits, dtype=np.float64)
    excess = (means + confidence * errors - limits) / np.asarray(constraints.scales)
    return Evaluated(
        timesteps,
        float(returns.mean()),
        tuple(means.tolist()),
        tuple(errors.tolist()),
        float(excess.max(initial=0.0)),
    )


class Selection:
    """The evaluations of a run, and the file or folder of the best policy.

    Args:
        folder: where they are.
        suffix: of the kept policies' names; empty for folders.
        timesteps: where the run begins or goes on. What a killed run found after the checkpoint
            that this one resumes from is dropped, to be found again.

    Attributes:
        best: the best evaluation so far; None before the first.
        evaluations: all of them.

    Raises:
        CheckpointError: the list in the folder is damaged.
    """

    def __init__(self, folder: str | Path, suffix: str, timesteps: int) -> None:
        self.folder = Path(folder)
        self.suffix = suffix
        self.evaluations = [e for e in self._read() if e.timesteps <= timesteps]
        self.best: Evaluated | None = None
        for found in self.evaluations:
            if found.better_than(self.best):
                self.best = found
        known = {self._path(found) for found in self.evaluations}
        for path in self.folder.glob(f"{PREFIX}_{'[0-9]' * DIGITS}*"):  # half written ones too
            if path not in known:
                _remove(path)

    def add(self, found: Evaluated, save: Callable[[Path], object]) -> None:
        """Take an evaluation; if it is the best so far, ``save`` writes the policy to a path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if found.better_than(self.best):
            self.best = found
            save(self._path(found))
        self.evaluations.append(found)
        partial = self.folder / f".{LIST}.partial"
        partial.write_text(json.dumps([asdict(e) for e in self.evaluations], indent=1), "utf-8")
        os.replace(partial, self.folder / LIST)

    def prune(self) -> None:
        """Remove the policies that the best one has replaced."""
        for path in _kept(self.folder, self.suffix):
            if self.best is None or path != self._path(self.best):
                _remove(path)

    def _path(self, found: Evaluated) -> Path:
        return self.folder / f"{PREFIX}_{found.timesteps:0{DIGITS}d}{self.suffix}"

    def _read(self) -> list[Evaluated]:
        path = self.folder / LIST
        if not path.is_file():
            return []
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            return [
                Evaluated(**{**row, "costs": tuple(row["costs"]), "errors": tuple(row["errors"])})
                for row in rows
            ]
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"{path} is damaged ({error}); remove it") from error


def best_in(folder: str | Path, suffix: str) -> Path | None:
    """Return the best policy that a run has kept in ``folder``, or ``None``."""
    paths = _kept(Path(folder), suffix)  # each is better than those before it
    return paths[-1] if paths else None


def _kept(folder: Path, suffix: str) -> list[Path]:
    """Return the complete policies of a folder, oldest first; names hold padded step counts."""
    return sorted(folder.glob(f"{PREFIX}_{'[0-9]' * DIGITS}{suffix}"))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()
