"""What a checkpoint says of a run beside its arrays, and the policy that it holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from gymnasium import spaces

from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.checkpoint import POLICY_LEAVES, decode_leaf, read_parts, save
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.policy import Policy
from safe_rl.algos.jax.state import RunState
from safe_rl.algos.jax.statistics import RunningMoments
from safe_rl.errors import ConfigurationError

if TYPE_CHECKING:
    from safe_rl.algos.jax.ppo_lagrangian import PPOLagrangian

__all__ = ["load_policy", "run_meta", "save_policy"]


def load_policy(
    path: str | Path, *, averaged: bool | None = None, seed: int = 0, run: int = 0
) -> Policy:
    """Read the policy of a checkpoint, to act with; no environment is needed.

    Args:
        path: of the checkpoint.
        averaged: the averaged actor or the last one; None takes the average where one was kept.
        seed: of the actions that are sampled.
        run: which of several runs trained side by side, counted from 0.

    Raises:
        CheckpointError: the checkpoint is missing or damaged.
        ConfigurationError: no average was kept, or there is no such run.
    """
    path = Path(os.path.abspath(path))
    found = read_parts(path, ("policy",))
    meta, arrays = found["meta"], found["arrays"]
    arguments = Arguments.from_plain(meta["arguments"])
    observation_space = decode_space(meta["spaces"]["observation"])
    assert isinstance(observation_space, spaces.Box)
    networks = Networks(
        observation_space.shape[0],
        decode_space(meta["spaces"]["action"]),
        len(meta["constraints"]["ids"]),
        arguments.net_arch,
        arguments.share_cost_trunk,
        arguments.log_std_init,
    )
    leaves = {
        row[0]: (number, row)
        for number, row in enumerate(meta["leaves"])
        if row[0].startswith(POLICY_LEAVES)
    }
    several = len(meta["seeds"]) if meta["several"] else None
    if not 0 <= run < (several or 1):
        raise ConfigurationError(f"{path} holds {several or 1} runs, so there is no run {run}")

    def fill(prefix: str, template: Any) -> Any:
        described, structure = jax.tree_util.tree_flatten_with_path(template)
        values = []
        for key, _ in described:
            number, row = leaves[prefix + jax.tree_util.keystr(key)]
            value = decode_leaf(number, row, arrays)
            values.append(value if several is None else value[run])
        return jax.tree.unflatten(structure, values)

    chosen = averaged if averaged is not None else arguments.policy_average > 0.0
    if chosen and not arguments.policy_average:
        raise ConfigurationError(
            f"{path} keeps no averaged policy; train with policy_average=0.95, say"
        )
    actor = networks.init(0)["actor"]
    statistics = None
    if arguments.normalize_observations:
        leaf: Any = 0.0  # only the structure matters
        statistics = fill(".shared.observations", RunningMoments(leaf, leaf, leaf))
    return Policy(
        networks,
        observation_space,
        fill(".shared.average" if chosen else ".shared.params['actor']", actor),
        statistics,
        averaged=bool(chosen),
        seed=seed,
    )


def save_policy(learner: PPOLagrangian, path: str | os.PathLike[str], run: int = 0) -> Path:
    """Write the policy of one run as it is now, for :func:`load_policy`; return the folder.

    Args:
        learner: whose policy it is.
        path: of the folder, which is written at once.
        run: which of several runs trained side by side, counted from 0.

    Raises:
        CheckpointError: the file system refused.
    """
    meta = run_meta(learner)
    alone = {name: [meta[name][run]] for name in ("seeds", "multipliers", "recent")}
    shared = learner.state.shared
    if learner.several:
        shared = jax.tree.map(lambda leaf: leaf[run], shared)
    state = RunState(shared, ())  # type: ignore[arg-type]
    return save(path, state, {**meta, **alone, "several": False}, parts=("policy",))


def encode_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return a Box or Discrete space as plain values."""
    if isinstance(space, spaces.Box):
        return {
            "kind": "Box",
            "low": space.low.tolist(),
            "high": space.high.tolist(),
            "dtype": str(space.dtype),
        }
    assert isinstance(space, spaces.Discrete)
    return {"kind": "Discrete", "n": int(space.n)}


def decode_space(value: Mapping[str, Any]) -> Any:
    """Return the space that :func:`encode_space` wrote."""
    if value["kind"] == "Discrete":
        return spaces.Discrete(value["n"])
    dtype = np.dtype(value["dtype"])
    return spaces.Box(
        np.asarray(value["low"], dtype), np.asarray(value["high"], dtype), dtype=dtype.type
    )


def run_meta(learner: PPOLagrangian) -> dict[str, Any]:
    """Return what the host knows of a run, as JSON can hold it."""
    return {
        "model": "PPOLagrangian",
        "arguments": learner.arguments.plain(),
        "seeds": list(learner.seeds),
        "several": learner.several,
        "shards": learner.shards,
        "controller": learner.controller.config(),
        "constraints": {
            "ids": list(learner.constraints.ids),
            "limits": list(learner.constraints.limits),
            "kinds": list(learner.constraints.kinds),
            "scales": list(learner.constraints.scales),
        },
        "spaces": {
            "observation": encode_space(learner.product.observation_space),
            "action": encode_space(learner.product.action_space),
        },
        "iteration": learner.iteration,
        "num_timesteps": learner.num_timesteps,
        "total_timesteps": learner.total_timesteps,
        "multipliers": [run.state_dict() for run in learner.runs],
        "recent": [list(recent.sums) for recent in learner.recent],
    }
