"""A whole run in one file: what is saved, how it comes back, and what makes a resume exact.

The file (see :mod:`~safe_rl.algos.torch.archive`) holds the networks (actor, critics, cost
critics), the optimiser, the multipliers and the controller's state, the normalisers' statistics,
every counter and schedule position, the sums of the episodes under way, the last observations, the
states of all random generators (python, numpy, torch, environment, action space), and the state of
the environment.

*Exact resume.* Where every layer of the environment gives its state, that state is restored. Where
one cannot (a simulator without ``get_state``, an environment in another process), the environments
are re-seeded and reset at each checkpoint, in the run that goes on as in the run that resumes: both
then continue from the same reset. The price is that the episodes under way are dropped at each
checkpoint, which favours short episodes a little; write checkpoints many episodes apart.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import stable_baselines3
import torch as th
from gymnasium.vector import VectorEnv
from stable_baselines3.common.type_aliases import GymEnv
from stable_baselines3.common.utils import check_for_correct_spaces
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from safe_rl.algos.torch.archive import UnsupportedValueError, read_archive, write_archive
from safe_rl.algos.torch.constraints import ConstraintSet
from safe_rl.algos.torch.env_state import (
    StateUnavailableError,
    capture_env,
    normaliser_state,
    restore_env,
    restore_normaliser,
)
from safe_rl.algos.torch.plain import decode_argument, decode_space, encode_argument, encode_space
from safe_rl.errors import CheckpointError, ConfigurationError

if TYPE_CHECKING:
    from safe_rl.algos.torch.on_policy import ConstrainedOnPolicyAlgorithm

    Model = TypeVar("Model", bound=ConstrainedOnPolicyAlgorithm)

__all__ = ["load", "save", "trained_normaliser", "wrap_frozen"]

FORMAT = 1


def _path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    return path if path.suffix else path.with_suffix(".zip")


# --- writing -------------------------------------------------------------------------------------


def save(
    model: ConstrainedOnPolicyAlgorithm, path: str | os.PathLike[str], *, exact: bool = False
) -> Path:
    """Write ``model`` to ``path``; with ``exact``, reset what cannot be saved (see the module).

    Raises:
        CheckpointError: the file system refused.
        ConfigurationError: an argument of the model has no plain representation.
    """
    path = _path(path)
    environment = _environment_state(model, exact)
    tree = {
        "format": FORMAT,
        "versions": {"torch": th.__version__, "stable_baselines3": stable_baselines3.__version__},
        "model": type(model).__name__,
        "arguments": {
            name: encode_argument(name, value) for name, value in model.hyperparameters.items()
        },
        "controller": model.controller.config(),
        "spaces": {
            "observation": encode_space(model.observation_space),
            "action": encode_space(model.action_space),
        },
        "n_envs": model.n_envs,
        "constraints": {
            "ids": model.constraints.ids,
            "limits": model.constraints.limits,
            "kinds": model.constraints.kinds,
            "cost_key": model.constraints.cost_key,
            "scales": model.constraints.scales,
        },
        "counters": {name: getattr(model, name) for name in _COUNTERS},
        "controller_state": model.controller.state_dict(),
        "episode_sums": model.episode_sums.running,
        "pending_episodes": model._pending,
        "recent_costs": model.recent_costs,
        "trigger_counts": model.trigger_ratios.counts,
        "ep_info_buffer": model.ep_info_buffer,
        "ep_success_buffer": model.ep_success_buffer,
        "last_obs": model._last_obs,
        "last_episode_starts": model._last_episode_starts,
        "average_updates": model.averaged.updates,
        "normaliser": _normaliser_state(model),
        "random": _random_states(model),
        "environment": environment,
    }
    states = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "average": model.averaged.values,
    }
    try:
        return write_archive(path, tree, states)
    except UnsupportedValueError as error:
        raise ConfigurationError(f"the model cannot be saved: {error}") from error


_COUNTERS = (
    "num_timesteps",
    "_total_timesteps",
    "_current_progress_remaining",
    "_n_updates",
    "_episode_num",
    "iteration",
    "episodes",
    "num_multiplier_updates",
)


def _environment_state(model: ConstrainedOnPolicyAlgorithm, exact: bool) -> dict[str, Any]:
    if model.env is None or model._last_obs is None:
        return {"kind": "none"}
    try:
        return {"kind": "state", "state": capture_env(model.env)}
    except StateUnavailableError as error:
        reason = str(error)
    if not exact:
        return {"kind": "none", "reason": reason}
    seed = int(np.random.randint(0, 2**31 - 1 - model.n_envs))  # noqa: NPY002 (SB3's generator)
    model.env.seed(seed)
    model._last_obs = model.env.reset()  # type: ignore[assignment]
    model._last_episode_starts = np.ones((model.n_envs,), dtype=bool)
    model.episode_sums.clear()
    return {"kind": "seed", "seed": seed, "reason": reason}


def trained_normaliser(model: ConstrainedOnPolicyAlgorithm) -> dict[str, Any] | None:
    """Return the normaliser's state that belongs to the model, or None if it has none."""
    return _normaliser_state(model)


def _normaliser_state(model: ConstrainedOnPolicyAlgorithm) -> dict[str, Any] | None:
    normaliser = model.get_vec_normalize_env()
    if normaliser is not None:
        return normaliser_state(normaliser)
    return getattr(model, "_saved_normaliser", None)


def _random_states(model: ConstrainedOnPolicyAlgorithm) -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002
        "torch": th.get_rng_state().numpy(),
        "cuda": [state.cpu().numpy() for state in th.cuda.get_rng_state_all()]
        if th.cuda.is_available()
        else [],
        "action_space": model.action_space.np_random,
    }


def _restore_random_states(model: ConstrainedOnPolicyAlgorithm, states: Mapping[str, Any]) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])  # noqa: NPY002
    th.set_rng_state(th.from_numpy(np.array(states["torch"])))
    if states["cuda"] and th.cuda.is_available():
        th.cuda.set_rng_state_all([th.from_numpy(np.array(state)) for state in states["cuda"]])
    model.action_space._np_random = states["action_space"]


# --- reading -------------------------------------------------------------------------------------


def load(
    cls: type[Model],
    path: str | os.PathLike[str],
    env: GymEnv | VectorEnv | None,
    device: th.device | str,
    overrides: Mapping[str, Any],
) -> Model:
    """Read a model; see :meth:`ConstrainedOnPolicyAlgorithm.load`."""
    path = _path(path)
    tree, states = read_archive(path)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        found = tree.get("format") if isinstance(tree, dict) else None
        raise CheckpointError(
            f"{path} has checkpoint format {found!r}, this version reads format {FORMAT}; load it "
            f"with the version of the package that wrote it"
        )
    if tree["model"] != cls.__name__:
        raise CheckpointError(
            f"{path} holds a {tree['model']}, not a {cls.__name__}; load it with "
            f"{tree['model']}.load"
        )
    try:
        return _build(cls, path, tree, states, env, device, overrides)
    except (KeyError, RuntimeError, IndexError) as error:
        raise CheckpointError(
            f"{path} does not fit the model: {error}; was the code or an argument changed since "
            f"the run started?"
        ) from error


def _build(
    cls: type[Model],
    path: Path,
    tree: dict[str, Any],
    states: dict[str, Any],
    env: GymEnv | VectorEnv | None,
    device: th.device | str,
    overrides: Mapping[str, Any],
) -> Model:
    saved = {**tree["arguments"]}
    unknown = set(overrides) - set(saved)
    if unknown:
        raise ConfigurationError(
            f"{cls.__name__} has no argument {', '.join(sorted(unknown))}; it has "
            f"{', '.join(sorted(saved))}"
        )
    arguments = {
        name: overrides[name] if name in overrides else decode_argument(name, value, path)
        for name, value in saved.items()
        if name in overrides or name not in ("controller", "controller_kwargs")
    }
    # The controller's own record, whether the model was given an object or a name.
    if "controller" not in overrides:
        arguments["controller"] = tree["controller"]["kind"]
    if "controller_kwargs" not in overrides:
        own = {key: value for key, value in tree["controller"].items() if key != "kind"}
        arguments["controller_kwargs"] = None if "controller" in overrides else own
    model = cls(
        env=None,  # type: ignore[arg-type]
        device=device,
        _init_setup_model=False,
        **arguments,
    )
    model.observation_space = decode_space(tree["spaces"]["observation"])
    model.action_space = decode_space(tree["spaces"]["action"])
    model.n_envs = tree["n_envs"]
    parts = tree["constraints"]
    model.constraints = ConstraintSet(
        ids=tuple(parts["ids"]),
        limits=tuple(parts["limits"]),
        kinds=tuple(parts["kinds"]),
        cost_key=parts["cost_key"],
        scales=tuple(parts["scales"]),
    )
    model._saved_normaliser = tree["normaliser"]  # type: ignore[attr-defined]
    if env is not None:
        _attach(model, env, tree, path, overrides)
    model._setup_model()
    model.policy.load_state_dict(states["policy"])
    model.policy.optimizer.load_state_dict(states["optimizer"])
    if "average" in states and model.averaged.decay:
        model.averaged.load(states["average"], tree["average_updates"])
    if "controller" not in overrides and "controller_kwargs" not in overrides:
        model.controller.load_state_dict(tree["controller_state"])
    for name, value in tree["counters"].items():
        setattr(model, name, value)
    model.recent_costs.extend(tree["recent_costs"])
    model.trigger_ratios.counts.extend(tree["trigger_counts"])
    model.ep_info_buffer = tree["ep_info_buffer"]
    model.ep_success_buffer = tree["ep_success_buffer"]
    if model.env is not None:
        _continue_run(model, tree, path)
    _restore_random_states(model, tree["random"])
    if model.use_sde:
        model.policy.reset_noise(model.n_envs)
        _restore_random_states(model, tree["random"])
    return model


def _attach(
    model: ConstrainedOnPolicyAlgorithm,
    env: GymEnv | VectorEnv,
    tree: dict[str, Any],
    path: Path,
    overrides: Mapping[str, Any],
) -> None:
    """Give the model its environment, after checking that it is the one of the run."""
    from safe_rl.algos.torch.constraints import resolve_constraints

    vec_env = model._wrap_env(env, model.verbose)
    normaliser = unwrap_vec_normalize(vec_env)
    if tree["normaliser"] is not None and normaliser is None:
        vec_env = normaliser = VecNormalize(vec_env)
    elif tree["normaliser"] is None and normaliser is not None:
        raise CheckpointError(
            f"{path} was trained without a normaliser, but the environment has a VecNormalize; "
            f"its fresh statistics would not suit the policy: remove it"
        )
    if normaliser is not None:
        restore_normaliser(normaliser, tree["normaliser"], running=False)
    try:
        check_for_correct_spaces(vec_env, model.observation_space, model.action_space)
    except ValueError as error:
        raise CheckpointError(f"{path} was trained on another environment: {error}") from error
    found = resolve_constraints(vec_env, model.cost_limits, model.cost_key)
    if found.ids != model.constraints.ids:
        raise CheckpointError(
            f"{path} was trained under the constraints {', '.join(model.constraints.ids) or '-'}, "
            f"but the environment has {', '.join(found.ids) or '-'}; give the same specifications"
        )
    if found.limits != model.constraints.limits and "cost_limits" not in overrides:
        raise CheckpointError(
            f"{path} was trained under the limits {model.constraints.limits}, the environment has "
            f"{found.limits}; pass cost_limits= to go on under other limits"
        )
    model.constraints = found
    model.env = vec_env
    model.n_envs = vec_env.num_envs
    model._vec_normalize_env = normaliser


def _continue_run(model: ConstrainedOnPolicyAlgorithm, tree: dict[str, Any], path: Path) -> None:
    """Bring the environment and the episodes under way back to where they were."""
    assert model.env is not None
    environment = tree["environment"]
    model._pending = [np.asarray(row, dtype=np.float64) for row in tree["pending_episodes"]]
    if model.n_envs != tree["n_envs"] or environment["kind"] == "none":
        return  # learn() resets the environments
    last_obs = tree["last_obs"]
    if environment["kind"] == "state":
        restore_env(model.env, environment["state"])
    else:
        normaliser = model.get_vec_normalize_env()
        training = False
        if normaliser is not None:
            # The saved statistics include this reset already.
            training, normaliser.training = normaliser.training, False
        model.env.seed(environment["seed"])
        reset_obs = model.env.reset()
        if normaliser is not None:
            normaliser.training = training
        if not _equal(reset_obs, last_obs):
            warnings.warn(
                f"reset(seed={environment['seed']}) does not give the observations that the run "
                f"of {path} had; the environment is not determined by its seed, so the resumed "
                f"run will differ from an uninterrupted one",
                stacklevel=4,
            )
            last_obs = reset_obs
    model._last_obs = last_obs
    model._last_episode_starts = tree["last_episode_starts"]
    model.episode_sums.running[:] = tree["episode_sums"]


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_equal(first[k], second[k]) for k in first)
    return np.array_equal(first, second)


def wrap_frozen(env: VecEnv, state: dict[str, Any] | None) -> VecEnv:
    """Return ``env`` under the trained statistics, which no longer change; rewards stay raw.

    Raises:
        ConfigurationError: the environment has a normaliser, but training had none.
    """
    normaliser = unwrap_vec_normalize(env)
    if state is None:
        if normaliser is not None:
            raise ConfigurationError(
                "the evaluation environment has a VecNormalize, but the model was trained without "
                "one; remove it"
            )
        return env
    if normaliser is None:
        env = normaliser = VecNormalize(env)
    restore_normaliser(normaliser, state, running=False)
    normaliser.training = False
    normaliser.norm_reward = False
    return env
