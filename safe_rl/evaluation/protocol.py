"""ManiGuard's protocol: frozen scenarios, each played once under every seed of the policy.

Every scenario begins in the same state whatever the policy and its seed: its name decides the
reset, and a policy's seed acts on its own sampler alone. Rates are taken per seed first, then
averaged (section 5.1, appendix C "Protocol").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from safe_rl.data import Episode
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.records import EpisodeRecords, concatenate
from safe_rl.evaluation.rollouts import Policy, roll_out
from safe_rl.policies import scenario_seed
from safe_rl.wrappers import VectorProductMDP

POLICY_SEEDS = (0, 1, 2)
PLAY = 8
"""Actions of a chunk that are played before the policy is asked again."""
HOLD = 10
"""Steps in a row for which the goal has to hold."""
HORIZON_FACTOR = 1.5


def family_horizon(lengths: Sequence[int]) -> int:
    """Return the horizon of a task: 1.5 times its longest demonstration, in steps.

    >>> family_horizon([90, 121])
    182
    """
    if not lengths or min(lengths) < 1:
        raise ConfigurationError(
            f"a horizon comes from demonstrations of at least one step, got {list(lengths)[:8]}"
        )
    return math.ceil(HORIZON_FACTOR * max(lengths))


def play_scenarios(
    envs: VectorProductMDP,
    scenarios: Sequence[str],
    policy_of: Callable[[int, Sequence[str]], Policy],
    *,
    seeds: Sequence[int] = POLICY_SEEDS,
    scene_seed: int = 0,
    on_episode: Callable[[int], None] | None = None,
    on_recorded: Callable[[Episode], object] | None = None,
) -> tuple[EpisodeRecords, ...]:
    """Play every scenario once under each seed of the policy.

    Args:
        envs: a monitored vector environment that ends an episode once the goal was held for
            ``HOLD`` steps, and truncates it at the horizon.
        scenarios: their names, each of which decides a reset.
        policy_of: called with a seed and the names of the scenarios that the rows play next.
        seeds: of the policy's sampler.
        scene_seed: with the name it decides the reset (:func:`safe_rl.policies.scenario_seed`).
        on_episode: called with the number of rollouts that are done.
        on_recorded: called with each episode as it ends.

    Returns:
        The records of each seed, in the order of the scenarios.

    Raises:
        ConfigurationError: there are no scenarios or seeds, or a name stands twice.
    """
    if not scenarios or not seeds or len(set(scenarios)) != len(scenarios):
        raise ConfigurationError(
            f"the protocol needs scenarios of different names and at least one seed, got "
            f"{len(scenarios)} scenarios ({len(set(scenarios))} names) and {len(seeds)} seeds"
        )
    found = []
    done = 0
    for seed in seeds:
        parts = []
        for start in range(0, len(scenarios), envs.num_envs):
            names = list(scenarios[start : start + envs.num_envs])
            resets = [scenario_seed(scene_seed, name) for name in names]
            resets += [0] * (envs.num_envs - len(names))  # rows without a scenario
            rollouts = roll_out(
                envs, policy_of(seed, names), len(names), seed=resets, on_recorded=on_recorded
            )
            parts.append(rollouts.records.select(np.argsort(rollouts.rows)))
            done += len(names)
            if on_episode is not None:
                on_episode(done)
        found.append(concatenate(parts))
    return tuple(found)
