"""Evaluating the policy of a run on the device, apart from its training, and keeping the best."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from numpy.typing import NDArray

from safe_rl.algos.jax.iteration import Iteration
from safe_rl.algos.jax.saved_run import save_policy
from safe_rl.algos.jax.state import Product
from safe_rl.algos.jax.statistics import RunningMoments, normalise
from safe_rl.algos.selection import BestPolicies, Evaluated, Selection, best_in, summarise

if TYPE_CHECKING:
    from safe_rl.algos.jax.ppo_lagrangian import PPOLagrangian

__all__ = ["BestPolicyKeeper", "best_checkpoint"]

SUFFIX = ""  # a kept policy is a folder


class BestPolicyKeeper:
    """Evaluates between iterations, and keeps the best policy of each run.

    The averaged actor is evaluated where one is kept. Evaluations have a key of their own, the same
    in each, so that a run learns the same numbers with and without them, and a resumed run finds
    the same policy.

    Args:
        learner: whose policies they are.
        plan: when and where; several runs have a folder ``seed_<seed>`` each.
        product: the environment of the evaluations; None: that of the training.

    Attributes:
        plan: as given.
        selections: the evaluations of each run, and the best of them.

    Raises:
        CheckpointError: a list of evaluations is damaged.
    """

    def __init__(
        self, learner: PPOLagrangian, plan: BestPolicies, product: Product | None = None
    ) -> None:
        self.plan = plan
        self._learner = learner
        folder = Path(plan.folder)
        self.selections = [
            Selection(
                folder / f"seed_{seed}" if learner.several else folder,
                SUFFIX,
                learner.num_timesteps,
            )
            for seed in learner.seeds
        ]
        iteration = learner._iteration
        own_parts = 1 if learner.several else iteration.shards
        lanes = max(1, min(learner.arguments.num_envs, plan.episodes) // own_parts)
        own = plan.shares(own_parts * lanes).reshape(own_parts, lanes).astype(np.int32)
        keys = jax.random.split(jax.random.key(plan.seed), own_parts)
        runs = len(learner.seeds)
        self._shares = np.tile(own, (runs, 1))
        self._keys = jnp.tile(keys, runs)
        where = learner.product if product is None else product
        self._run = jax.jit(complete_episodes(iteration, where, int(self._shares.max())))

    def consider(self) -> None:
        """Evaluate if it is time, and keep what is best."""
        learner = self._learner
        if not self.plan.due(learner.iteration):
            return
        for run, found in enumerate(self.evaluate()):
            self.selections[run].add(found, partial(save_policy, learner, run=run))

    def evaluate(self) -> list[Evaluated]:
        """Run complete episodes with the present policy of each run."""
        learner = self._learner
        shared = learner.state.shared
        actor = shared.average if learner.arguments.policy_average else shared.params["actor"]
        sums = self._run(actor, shared.observations, self._keys, self._shares)
        rows: NDArray[np.float64] = np.asarray(jax.device_get(sums), np.float64)
        owed = np.arange(rows.shape[2]) < self._shares[..., None]
        runs = len(learner.seeds)
        return [
            summarise(learner.num_timesteps, own[taken], learner.constraints, self.plan.confidence)
            for own, taken in zip(np.split(rows, runs), np.split(owed, runs), strict=True)
        ]

    def prune(self) -> None:
        """Remove the policies that the best ones have replaced."""
        for selection in self.selections:
            selection.prune()


def complete_episodes(
    iteration: Iteration, product: Product, most: int
) -> Callable[..., jax.Array]:
    """Return the function that runs complete episodes; it is to be compiled.

    It takes the actor, the statistics of observations, keys ``[parts]`` and how many episodes each
    environment owes, int32 ``[parts, lanes]``, at most ``most``. Parts are the seeds where there
    are several, each with an actor of its own, else the shards. It returns the reward and cost sums
    of each episode, float32 ``[parts, lanes, most, 1 + K]``, zero where none is owed. Environments
    must end their episodes by themselves.
    """
    networks = iteration.networks
    several = iteration.num_seeds is not None
    own = 0 if several else None

    def begin(key: jax.Array, shares: jax.Array) -> Any:
        state, observation = product.reset(key, shares.shape[0])
        signals = jnp.zeros((shares.shape[0], 1 + networks.num_costs))
        rows = jnp.zeros((shares.shape[0], most, signals.shape[1]))
        return state, observation.astype(jnp.float32), signals, jnp.zeros_like(shares), rows

    def step(
        actor: Any, statistics: RunningMoments, key: jax.Array, shares: jax.Array, carry: Any
    ) -> Any:
        state, observation, sums, ended, rows = carry
        act_key, env_key = jax.random.split(key)
        if iteration.arguments.normalize_observations:
            observation = normalise(observation, statistics)
        drawn = networks.policy(actor, observation).sample(act_key)
        state, transition = product.step(state, networks.environment_action(drawn), env_key)
        costs = transition.constraint_costs[:, : networks.num_costs].astype(jnp.float32)
        sums = sums + jnp.concatenate([transition.reward[:, None], costs], axis=1)
        over = transition.terminated | transition.truncated
        # What is not owed is written behind the end, which drops it.
        place = jnp.where(over & (ended < shares), ended, most)
        rows = rows.at[jnp.arange(rows.shape[0]), place].set(sums, mode="drop")
        sums = jnp.where(over[:, None], 0.0, sums)
        return state, transition.observation, sums, ended + over, rows

    def run(actor: Any, statistics: RunningMoments, keys: jax.Array, shares: jax.Array) -> Any:
        def more(carry: Any) -> jax.Array:
            return jnp.any(carry[1][3] < shares)

        def advance(carry: Any) -> Any:
            time, inner = carry
            now = jax.vmap(lambda key: jax.random.fold_in(key, time + 1))(keys)
            stepped = jax.vmap(step, in_axes=(own, own, 0, 0, 0))
            return time + 1, stepped(actor, statistics, now, shares, inner)

        inner = jax.vmap(begin)(jax.vmap(lambda key: jax.random.fold_in(key, 0))(keys), shares)
        _, (_, _, _, _, rows) = jax.lax.while_loop(more, advance, (jnp.int32(0), inner))
        return rows

    if len(iteration.devices) == 1:
        return run
    split = PartitionSpec("parts")
    shared = split if several else PartitionSpec()
    return jax.shard_map(
        run,
        mesh=Mesh(np.asarray(iteration.devices), ("parts",)),
        in_specs=(shared, shared, split, split),
        out_specs=split,
        check_vma=False,
    )


def best_checkpoint(folder: str | Path) -> Path | None:
    """Return the best policy that a run has kept in ``folder``, or ``None``."""
    return best_in(folder, SUFFIX)
