"""Scripted demonstrations of tabletop/place, good and bad, as a file of recorded episodes.

``python -m benchmarks.tabletop_demonstrations [--file FILE.episodes.npz]``: two of three are
careful, the third is hasty, and now and then the hand is pushed. They are what
``benchmarks.from_demonstrations --task place`` learns from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from benchmarks.from_demonstrations import TASKS, env_settings
from safe_rl.cli.building import build_product, build_specs
from safe_rl.data import Episode, annotate, save_episodes
from safe_rl.envs.tabletop import CAREFUL, HASTY, scripted_policy
from safe_rl.evaluation.rollouts import roll_out
from safe_rl.specs import SpecSet

LANES = 50


class Demonstrator:
    """Plays the scripts in many lanes; a push is added to an action in one of 33 steps."""

    def __init__(self, envs: Any, seed: int) -> None:
        self._envs, self._rng = envs, np.random.default_rng(seed)
        self._scripts = [
            jax.jit(jax.vmap(scripted_policy(envs.env.task, style))) for style in (CAREFUL, HASTY)
        ]
        self._hasty = np.arange(envs.num_envs) % 3 == 2

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return one action per lane."""
        del observations, starts
        careful, hasty = (np.asarray(script(self._envs.state)) for script in self._scripts)
        action = np.where(self._hasty[:, None], hasty, careful)
        pushed = self._rng.random((len(action), 1)) < 0.03
        push = self._rng.normal(0.0, 0.5, action.shape) * pushed
        push[:, 3:] = 0.0  # the fingers are not pushed
        return np.clip(action + push, -1.0, 1.0).astype(np.float32)


def demonstrate(episodes: int, seed: int = 0) -> tuple[list[Episode], SpecSet]:
    """Return demonstrations, in the order in which they ended, and the rules of the task."""
    lanes = min(LANES, episodes)
    settings = env_settings(TASKS["place"], seed, ["specs.features=null", f"env.num_envs={lanes}"])
    specs = build_specs(settings.specs)
    envs = build_product(settings.env, settings.specs, specs, kwargs=settings.env.protocol_kwargs)
    found: list[Episode] = []
    script = Demonstrator(envs.unwrapped, seed)
    roll_out(envs, script, episodes, seed=seed, on_recorded=found.append)
    return found, specs


def main(argv: Sequence[str] | None = None) -> int:
    """Demonstrate, write the file, and say what is in it; returns 0."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.tabletop_demonstrations", description=__doc__
    )
    options.add_argument("--episodes", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--file", type=Path, default=Path("outputs/place.episodes.npz"))
    given = options.parse_args(argv)
    found, specs = demonstrate(given.episodes, given.seed)
    given.file.parent.mkdir(parents=True, exist_ok=True)
    save_episodes(given.file, found)
    success = [episode.success is True for episode in found]
    safe = [annotate(episode, specs).safe for episode in found]
    both = np.logical_and(success, safe)
    print(
        f"{given.file}: {len(found)} demonstrations, {sum(success)} succeed, {sum(safe)} violate "
        f"nothing, {both.sum()} both"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
