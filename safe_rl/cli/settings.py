"""The settings of a training run and of an evaluation, as plain dataclasses.

Hydra composes the YAML presets of :mod:`safe_rl.configs` and the command line; what comes out is
checked against these classes. There is no ``_target_``: a configuration file names no code, so one
from a stranger can choose numbers and names, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from safe_rl.errors import ConfigurationError, near
from safe_rl.policies.prompts import PROMPT_FORMS

BACKENDS = ("torch", "jax")
"""The learners: Stable-Baselines3 on PyTorch, and flax with the environment on the device."""

MISSING = "???"
"""OmegaConf's mark of a value that has to be given."""


@dataclass
class EnvSettings:
    """A Gymnasium environment, and how many of it run side by side."""

    name: str = MISSING
    """What folders and tables call it."""
    id: str = MISSING
    """Gymnasium id."""
    num_envs: int = 1
    vectorization: str = "sync"
    """``vector_entry_point`` (the environment's own array version), ``sync`` or ``async``."""
    autoreset: str = "disabled"
    """``same_step``, ``next_step`` or ``disabled`` (reset by mask); the results are the same."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    train_kwargs: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the environments that a policy is trained in, and not of others."""
    max_episode_steps: int | None = None
    """Truncates episodes; null keeps the environment's own."""
    grounding: str | None = None
    """``package.module:function``, for an environment without ``propositions()``."""
    seconds_per_step: float | None = None
    """Control period, for the time axis of figures."""
    record_kwargs: dict[str, Any] = field(default_factory=dict)
    """Further arguments that make it record its frames, for the explanations of an evaluation."""
    protocol_kwargs: dict[str, Any] | None = None
    """Further arguments under ManiGuard's protocol: a goal held for 10 steps ends the episode, and
    the horizon; null: the environment has no such form."""


@dataclass
class LimitSettings:
    """A limit that replaces the specification's own; null keeps the part as it is."""

    kind: str | None = None
    value: float | None = None
    cap: int | None = None


@dataclass
class SpecsSettings:
    """Which specifications, and their limits. Formulas stand in the specifications' own file."""

    name: str = MISSING
    """What folders and tables call the set."""
    source: str = MISSING
    """Name of a shipped set, or the path of a file."""
    select: list[str] | None = None
    """Ids of the specifications to use, in this order; null uses all."""
    limits: dict[str, LimitSettings | None] = field(default_factory=dict)
    """By specification id. ``null`` for an id takes its limit away."""
    objects: dict[str, list[str]] | None = None
    """Property to objects, for ``forall``; null asks the environment."""
    features: str | None = "one_hot"
    """Monitor features in the observation: ``one_hot``, ``index`` or null."""
    cost: str = "violation"
    """What an episode limit counts: ``violation`` or ``exposure``."""


_NOT_FOR_THE_LEARNER = ("name", "backend", "num_envs", "total_timesteps", "policy")
_FOR_FINE_TUNING = (
    "kl_coef",
    "critic_only",
    "critic_learning_rate",
    "first_std",
    "noise_modes",
)


@dataclass
class AlgoSettings:
    """Arguments of ``PPOLagrangian``; numbers may be pairs ``[first, last]``, annealed linearly."""

    name: str = MISSING
    backend: str = "torch"
    """``torch`` (any environment) or ``jax`` (environments that are pure functions)."""
    num_envs: int | None = None
    """Environments side by side while training; null: ``env.num_envs``."""
    total_timesteps: int = MISSING  # type: ignore[assignment]
    controller: str = "pid"
    controller_kwargs: dict[str, Any] | None = None
    multiplier_min_episodes: int = 1
    relative_violations: bool = False
    limit_margin: float = 0.0
    learning_rate: Any = 3e-4
    n_steps: int = 2048
    batch_size: int = 64
    n_epochs: int = 10
    gamma: float = 0.99
    gae_lambda: float = 0.95
    cost_gamma: float | None = None
    cost_gae_lambda: float | None = None
    cost_vf_coef: float | None = None
    clip_range: Any = 0.2
    ent_coef: Any = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    policy_average: float = 0.0
    stats_window_size: int = 100
    net_arch: list[int] = field(default_factory=lambda: [64, 64])
    log_std_init: float = 0.0
    """First logarithm of the standard deviation of a Box action."""
    normalize_observations: bool = False
    normalize_rewards: bool = False
    best_every: int | None = None
    """Environment steps between evaluations of which the best policy is kept; null keeps none."""
    best_after: float = 0.5
    """Part of the training before the first of them."""
    best_episodes: int = 4000
    """Episodes of each."""
    policy: str | None = None
    """Folder of a policy to fine-tune, chunk by chunk; a step is then a chunk. Torch only."""
    kl_coef: float = 0.01
    """Fine-tuning: what a nat between the policy and the one that it began with costs per chunk."""
    critic_only: int = 5
    """Fine-tuning: iterations in which only the critics learn."""
    critic_learning_rate: float = 1.0e-3
    """Fine-tuning: of the critics; ``learning_rate`` is the policy's."""
    first_std: float = 0.0
    """Fine-tuning: standard deviation of the actions when it begins; 0: the policy's own."""
    noise_modes: int = 1
    """Fine-tuning: random numbers of an action entry in a chunk; 1: the same in all its steps."""

    def learner_arguments(self) -> dict[str, Any]:
        """Return what goes to the learner's constructor under the same name."""
        plain = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in plain.copy():
            tuning = name in _FOR_FINE_TUNING and self.policy is None
            if name in _NOT_FOR_THE_LEARNER or name.startswith("best_") or tuning:
                del plain[name]
        # An environment's preset tunes the controller; without constraints nothing is tuned.
        free = self.controller == "unconstrained"
        plain["controller_kwargs"] = {} if free else dict(self.controller_kwargs or {})
        plain["net_arch"] = list(self.net_arch)
        return plain


@dataclass
class TrainSettings:
    """Everything that ``train.py`` takes."""

    env: EnvSettings = field(default_factory=EnvSettings)
    algo: AlgoSettings = field(default_factory=AlgoSettings)
    specs: SpecsSettings = field(default_factory=SpecsSettings)
    seed: int = 0
    run_dir: str = MISSING
    resume: str = "auto"
    checkpoint_every: int = 50_000
    keep_checkpoints: int = 3
    tensorboard: bool = True
    progress: str = "auto"
    verbose: bool = False
    device: str = "cpu"
    threads: int = 1

    def iterations_between_checkpoints(self, steps: int) -> int:
        """Return ``checkpoint_every`` in iterations of so many environment steps, at least one."""
        return max(1, round(self.checkpoint_every / steps))


@dataclass
class RolloutSettings:
    """How an evaluation is made: the group ``eval``."""

    episodes: int = 200
    num_envs: int | None = None
    deterministic: bool = False
    averaged: str = "auto"
    which: str = "best"
    """Of a run's folder: ``best``, the best policy where the run kept one, or the ``last``."""
    resamples: int = 2000
    confidence: float = 0.95
    timelines: int = 1
    frames: bool = True
    record: str = "false"
    """``true`` keeps every episode, in files that ``safe-rl audit`` reads; ``lerobot`` keeps them
    as a LeRobot dataset, annotated under the specifications."""
    protocol: str = "none"
    """``maniguard``: every scenario once under each of ``policy_seeds``; ``episodes`` scenarios."""
    policy_seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    demonstrations: str | None = None
    """A dataset; the protocol's horizon is 1.5 times its longest success. Null: the preset's."""
    play: int = 8
    """Actions of a chunk that are played before the policy is asked again."""
    prompt: str | None = None
    """``none``, ``words`` or ``ltlf``; null: as the policy was trained."""
    instruction: str | None = None
    """What the policy is told; null: the environment's own words."""
    cost: float = 0.0
    """Which cost to aim at, for a policy that reads it."""


@dataclass
class ServedSettings:
    """Where a served policy is; see :class:`~safe_rl.policies.openpi.RemotePolicy`."""

    address: str = "ws://127.0.0.1:8000"
    timeout: float = 30.0
    reconnect: int = 0
    chunk: int | None = None
    keys: dict[str, str] | None = None
    seeded: bool | None = None


@dataclass
class EvalSettings:
    """Everything that ``eval.py`` takes."""

    eval: RolloutSettings = field(default_factory=RolloutSettings)
    env: EnvSettings | None = None
    specs: SpecsSettings | None = None
    checkpoint: str | None = None
    policy: str | None = None
    manner: str = "careful"
    """Which of its manners a scripted policy shows."""
    served: ServedSettings = field(default_factory=ServedSettings)
    seed: int = 0
    output: str = MISSING
    device: str = "cpu"
    threads: int = 1


Settings = TypeVar("Settings", TrainSettings, EvalSettings)
Typed = TypeVar("Typed")

CHECKPOINT_FOLDER = "checkpoints"
"""Where a run's folder keeps its checkpoints."""

POLICY_FOLDER = "policy"
"""Where the folder of a fine-tuning run keeps the policy, as ``safe_rl.policies.vla`` reads it."""

_TRAINING_ONLY = ("algo", "checkpoint_every")
"""What presets of environments say for training; an evaluation has no use for it."""


def checked(composed: DictConfig, kind: type[Settings]) -> Settings:
    """Check what Hydra composed against the classes above.

    Raises:
        ConfigurationError: an unknown name, a value of another type, or one that is missing; the
            message names the setting and the value.
    """
    settings = typed(composed, kind, _TRAINING_ONLY if kind is EvalSettings else ())
    _check_choices(settings)
    return settings


def typed(composed: DictConfig, kind: type[Typed], without: Sequence[str] = ()) -> Typed:
    """Turn what Hydra composed into the dataclass ``kind``, but for the entries ``without``.

    Raises:
        ConfigurationError: as of :func:`checked`.
    """
    try:
        plain: Any = OmegaConf.to_container(composed, resolve=True)
        plain = {name: value for name, value in plain.items() if name not in without}
        merged = OmegaConf.merge(OmegaConf.structured(kind), plain)
        missing = sorted(OmegaConf.missing_keys(merged))
        if missing:
            raise ConfigurationError(
                f"the setting {missing[0]} has to be given; set {missing[0]}=... "
                "on the command line"
            )
        settings = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise ConfigurationError(_words(error, kind)) from None
    assert isinstance(settings, kind)
    return settings


def _words(error: OmegaConfBaseException, kind: type[Any]) -> str:
    name = error.full_key or ""
    what = str(error.msg or error).splitlines()[0]
    if error.key is not None and "not in" in what:
        owner = error.object_type if is_dataclass(error.object_type) else kind
        options = [entry.name for entry in fields(owner)]
        hint = near(str(error.key), options)
        return f"there is no setting {name!r}{hint}; the settings there are {', '.join(options)}"
    return f"the setting {name!r} is wrong: {what}"


def _choose(name: str, value: object, options: Sequence[str]) -> None:
    if value not in options:
        raise ConfigurationError(
            f"the setting {name} is {value!r}{near(str(value), options)}; "
            f"choose one of {', '.join(options)}"
        )


def _at_least(name: str, value: float | None, lowest: float) -> None:
    if value is not None and value < lowest:
        raise ConfigurationError(f"the setting {name} is {value}; it must be at least {lowest:g}")


def _check_choices(settings: TrainSettings | EvalSettings) -> None:
    _at_least("threads", settings.threads, 1)
    _at_least("seed", settings.seed, 0)
    if settings.env is not None:
        env = settings.env
        _choose("env.vectorization", env.vectorization, ("vector_entry_point", "sync", "async"))
        _choose("env.autoreset", env.autoreset, ("same_step", "next_step", "disabled"))
        _at_least("env.num_envs", env.num_envs, 1)
        _at_least("env.max_episode_steps", env.max_episode_steps, 1)
    if isinstance(settings, TrainSettings):
        _choose("algo.backend", settings.algo.backend, BACKENDS)
        _at_least("algo.num_envs", settings.algo.num_envs, 1)
        _at_least("algo.total_timesteps", settings.algo.total_timesteps, 1)
        _at_least("algo.best_every", settings.algo.best_every, 1)
        _at_least("algo.best_after", settings.algo.best_after, 0)
        _at_least("algo.best_episodes", settings.algo.best_episodes, 2)
        _at_least("checkpoint_every", settings.checkpoint_every, 1)
        _at_least("keep_checkpoints", settings.keep_checkpoints, 1)
        _choose("progress", settings.progress.lower(), ("auto", "true", "false"))
    else:
        _at_least("eval.episodes", settings.eval.episodes, 1)
        _at_least("eval.num_envs", settings.eval.num_envs, 1)
        _at_least("eval.resamples", settings.eval.resamples, 0)
        _at_least("eval.timelines", settings.eval.timelines, 0)
        _choose("eval.averaged", settings.eval.averaged.lower(), ("auto", "true", "false"))
        _choose("eval.record", settings.eval.record.lower(), ("false", "true", "lerobot"))
        _choose("eval.which", settings.eval.which, ("best", "last"))
        if settings.policy is not None:
            _choose("policy", settings.policy, ("checkpoint", "served", "scripted", "random"))
        _choose("eval.protocol", settings.eval.protocol, ("none", "maniguard"))
        if settings.eval.prompt is not None:
            _choose("eval.prompt", settings.eval.prompt, PROMPT_FORMS)


def what_is_learned(settings: TrainSettings) -> dict[str, Any]:
    """Return the settings that decide a run's numbers; the others may change at a resume."""
    plain = asdict(settings)
    return {name: plain[name] for name in ("env", "algo", "specs", "seed")}


def differences(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Name the settings in which two nested mappings differ, with both values.

    >>> differences({"algo": {"n_steps": 8}, "seed": 0}, {"algo": {"n_steps": 16}, "seed": 0})
    ['algo.n_steps (8, now 16)']
    """
    found = []
    for key in dict.fromkeys([*one, *other]):
        a, b = one.get(key), other.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            found.append(f"{prefix}{key} ({a}, now {b})")
    return found


def digest(*parts: Any) -> str:
    """Return six hexadecimal digits that stand for nested settings."""
    text = json.dumps(
        [OmegaConf.to_container(p, resolve=True) if OmegaConf.is_config(p) else p for p in parts],
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def default_run_dir(env: Any, algo: Any, specs: Any, seed: Any) -> str:
    """Return ``runs/<env>-<algo>-<specs>-<digest>/seed_<seed>``; one folder per set of settings."""
    names = "-".join(str(part.name).replace("/", "_") for part in (env, algo, specs))
    return f"runs/{names}-{digest(env, algo, specs)}/seed_{seed}"


def run_folder(checkpoint: str) -> Path:
    """Return the folder of the run that a checkpoint belongs to; a run's folder is its own.

    >>> str(run_folder("runs/mine/checkpoints/checkpoint_000000001024.zip"))
    'runs/mine'
    """
    path = Path(checkpoint)
    if path.parent.name == CHECKPOINT_FOLDER:
        return path.parent.parent
    return path.parent if path.suffix == ".zip" else path


def default_eval_dir(checkpoint: Any, policy: Any, env: Any, seed: Any) -> str:
    """Return the folder of an evaluation: inside the run, or ``evaluations/...`` without one."""
    if checkpoint is not None:
        return str(run_folder(str(checkpoint)) / "evaluation" / str(policy or "checkpoint"))
    name = "run" if env is None else str(env.name).replace("/", "_")
    return f"evaluations/{name}-{policy or 'none'}-seed_{seed}"


def register_resolvers() -> None:
    """Make the two folder names available to the YAML files."""
    for name, resolver in (("run_dir_of", default_run_dir), ("eval_dir_of", default_eval_dir)):
        OmegaConf.register_new_resolver(name, resolver, replace=True)


def save_settings(settings: TrainSettings, path: Path) -> None:
    """Write the settings beside the run, as YAML that ``checked`` reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(OmegaConf.create(asdict(settings)), path)


def load_settings(path: Path) -> TrainSettings:
    """Read the settings that a run was trained with.

    Raises:
        ConfigurationError: there is no such file, or it is damaged.
    """
    if not path.is_file():
        raise ConfigurationError(
            f"{path}: no such file; a run's folder holds the settings that it was trained with"
        )
    try:
        loaded = OmegaConf.load(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read ({error})") from None
    except Exception as error:  # the YAML parser's own errors share no base with OmegaConf's
        raise ConfigurationError(f"{path}: not a YAML file ({error})") from None
    if not isinstance(loaded, DictConfig):
        raise ConfigurationError(f"{path}: not a mapping of settings")
    return checked(loaded, TrainSettings)
