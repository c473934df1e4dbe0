"""A training run for a test to kill: ``python -m tests.algos.jax.run_to_kill FOLDER``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from safe_rl.algos import PID
from safe_rl.algos.jax import BestPolicies, Checkpoints, PPOLagrangian, latest_checkpoint
from safe_rl.algos.jax.record import ProgressWriter
from tests.algos.jax.analytic_products import ScriptedProduct

ITERATIONS = 30
ARGUMENTS: dict[str, Any] = {
    "num_envs": 4,
    "n_steps": 8,
    "batch_size": 16,
    "n_epochs": 2,
    "net_arch": [4],
    "learning_rate": (1e-2, 0.0),
    "ent_coef": (0.01, 0.001, "geometric"),
    "policy_average": 0.9,
    "normalize_observations": True,
    "normalize_rewards": True,
    "multiplier_min_episodes": 5,
    "stats_window_size": 10,
}


def make_product() -> ScriptedProduct:
    return ScriptedProduct(length=11, truncates=True, kind="per_trigger")


def new_model() -> PPOLagrangian:
    controller = PID(kp=0.01, ki=0.01, kd=0.01, delay=2, final_fraction=0.1)
    return PPOLagrangian(make_product(), controller=controller, seed=7, **ARGUMENTS)


def arrays(model: PPOLagrangian) -> dict[str, np.ndarray]:
    """Everything that a run holds on its device, by name."""
    named, _ = jax.tree_util.tree_flatten_with_path(model.state)
    keyed = jax.dtypes.prng_key
    return {
        jax.tree_util.keystr(path): np.asarray(
            jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, keyed) else leaf
        )
        for path, leaf in named
    } | {"multipliers": model.multipliers}


def environment() -> dict[str, str]:
    """The environment of a subprocess that shares this process's compilation cache."""
    folder = jax.config.jax_compilation_cache_dir
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    return {**os.environ, **(cache if folder else {})}


def train(folder: Path, iterations: int, every: int) -> PPOLagrangian:
    found = latest_checkpoint(folder)
    model = new_model() if found is None else PPOLagrangian.load(found, make_product())
    writer = ProgressWriter(folder / "progress.jsonl", resume_at=model.num_timesteps)
    plan = Checkpoints(folder, every=every, keep=2)
    best = BestPolicies(folder, every=3, episodes=10)
    model.learn(iterations * 32, writers=[writer], checkpoints=plan, best=best)
    writer.close()
    return model


def main() -> None:
    folder = Path(sys.argv[1])
    np.savez(folder / "result.npz", **arrays(train(folder, ITERATIONS, every=2)))


if __name__ == "__main__":
    main()
