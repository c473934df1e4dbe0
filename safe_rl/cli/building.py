"""From settings to objects: specifications and monitored vector environments."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, VectorEnv

from safe_rl.cli.settings import EnvSettings, SpecsSettings, TrainSettings
from safe_rl.errors import ConfigurationError, near
from safe_rl.specs import Limit, Specification, SpecSet, load_specs
from safe_rl.wrappers import Savable, VectorProductMDP
from safe_rl.wrappers.constraints import Constraint

if TYPE_CHECKING:
    from safe_rl.wrappers.functional import FunctionalProduct

_AUTORESET = {
    "same_step": AutoresetMode.SAME_STEP,
    "next_step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}


def build_specs(settings: SpecsSettings) -> SpecSet:
    """Load the specifications, select some, and set the limits that the settings change.

    Raises:
        SpecificationError: an unknown set, id or limit.
        ConfigurationError: a limit's kind or value is missing.
    """
    specs = load_specs(settings.source)
    limits: dict[str, Limit | None] = {}
    for spec_id, changed in settings.limits.items():
        own = specs[spec_id].limit  # an unknown id is an error that names the known ones
        if changed is None:
            limits[spec_id] = None
            continue
        kind = changed.kind if changed.kind is not None else (own.kind if own else None)
        value = changed.value if changed.value is not None else (own.value if own else None)
        if kind is None and value is None and changed.cap is None:
            continue
        if kind is None or value is None:
            lacking = "kind" if kind is None else "value"
            raise ConfigurationError(
                f"specs.limits.{spec_id} has no {lacking}, and the specification has no limit of "
                f"its own; set specs.limits.{spec_id}.{lacking}=..."
            )
        # a cap belongs to its kind: it does not survive a change to another
        same_kind = own is not None and own.kind == kind
        cap = changed.cap if changed.cap is not None else (own.cap if own and same_kind else None)
        limits[spec_id] = Limit(kind, value, cap)  # type: ignore[arg-type]
    specs = specs.with_limits(limits)
    return specs if settings.select is None else specs.select(settings.select)


def constrained_specs(specs: SpecSet) -> tuple[Specification, ...]:
    """Return the specifications that carry a limit.

    Raises:
        ConfigurationError: there are none, so constrained learning would constrain nothing.
    """
    if not specs.constraints:
        raise ConfigurationError(
            "none of the specifications carries a limit, so there is nothing to constrain; set one "
            "(+specs.limits.ID='{kind: episode, value: 0.1}') or train with algo=ppo"
        )
    return tuple(specs.constraints)


def check_limits(
    settings: TrainSettings, constraints: Sequence[Constraint], specs: SpecSet
) -> None:
    """Refuse constrained learning that would constrain nothing.

    Raises:
        ConfigurationError: no specification carries a limit.
    """
    if settings.algo.controller != "unconstrained" and not constraints:
        raise ConfigurationError(
            f"algo={settings.algo.name} has nothing to constrain: none of the specifications "
            f"{', '.join(specs.ids)} carries a limit; set one, as in "
            f"+specs.limits.{specs.ids[0]}='{{kind: episode, value: 0.1}}', "
            "or train with algo=ppo"
        )


def check_importable(settings: EnvSettings, given: Sequence[str]) -> None:
    """Refuse code that a configuration file names: it must stand on the command line.

    Args:
        settings: the environment's settings, which may name a module to import.
        given: the overrides that were typed, such as ``["env.id=my_module:MyEnv-v0"]``.

    Raises:
        ConfigurationError: a file names a module that the command line does not.
    """
    names = {"env.grounding": settings.grounding}
    if ":" in settings.id:
        names["env.id"] = settings.id
    typed = {tuple(word.lstrip("+").partition("=")[::2]) for word in given}
    typed = {(key, value.strip("'\"")) for key, value in typed}
    for key, value in names.items():
        if value is not None and (key, value) not in typed:
            raise ConfigurationError(
                f"{key} is {value!r}, which imports and runs code, and it comes from a "
                f"configuration file; if you trust it, repeat it on the command line: "
                f"{key}={value}"
            )


def import_grounding(name: str) -> Callable[[Any], Mapping[str, Any]]:
    """Import ``package.module:function``.

    Raises:
        ConfigurationError: the text has another form, or there is no such function.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise ConfigurationError(f"env.grounding is {name!r}; write it as package.module:function")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigurationError(
            f"env.grounding={name}: the module {module_name!r} cannot be imported ({error})"
        ) from error
    grounding = getattr(module, attribute, None)
    if not callable(grounding):
        raise ConfigurationError(
            f"env.grounding={name}: {module_name} has no function {attribute!r}"
            f"{near(attribute, vars(module))}"
        )
    return grounding


def build_vector_env(
    settings: EnvSettings, num_envs: int | None = None, kwargs: Mapping[str, Any] | None = None
) -> VectorEnv[Any, Any, Any]:
    """Make the environments, side by side.

    Args:
        settings: see :class:`EnvSettings`.
        num_envs: instead of the settings' own number.
        kwargs: further arguments of the environment.

    Raises:
        ConfigurationError: an unknown id, or arguments that the environment does not take.
    """
    import safe_rl.envs  # noqa: F401 - registers the package's own ids

    mode = _AUTORESET[settings.autoreset]
    arguments = {**settings.kwargs, **(kwargs or {})}
    count = settings.num_envs if num_envs is None else num_envs
    if settings.max_episode_steps is not None:
        arguments["max_episode_steps"] = settings.max_episode_steps
    try:
        if settings.vectorization == "vector_entry_point":
            return gym.make_vec(
                settings.id,
                count,
                vectorization_mode="vector_entry_point",
                autoreset_mode=mode,
                **arguments,
            )
        apart = settings.vectorization == "async"
        return gym.make_vec(
            settings.id,
            count,
            vectorization_mode=settings.vectorization,
            # A forked process would inherit the threads of PyTorch and jax in whatever state.
            vector_kwargs={"autoreset_mode": mode} | ({"context": "spawn"} if apart else {}),
            wrappers=[Savable] if apart else None,
            **arguments,
        )
    except gym.error.Error as error:
        raise ConfigurationError(f"env.id={settings.id}: {error}") from error
    except TypeError as error:
        raise ConfigurationError(
            f"env.id={settings.id} cannot be made with {arguments}: {error}; "
            "see env.kwargs, env.vectorization and env.autoreset"
        ) from error


def build_product(
    settings: EnvSettings,
    specs_settings: SpecsSettings,
    specs: SpecSet,
    *,
    num_envs: int | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> VectorProductMDP:
    """Make the environments and put the monitors on them.

    The objects of ``forall`` specifications are those of the settings, else those that the
    environment names in its attribute ``objects``.
    """
    envs = build_vector_env(settings, num_envs, kwargs)
    try:
        objects: Mapping[str, Sequence[str]] | None = specs_settings.objects
        if objects is None and specs.properties and specs.objects is None:
            objects = _objects_of(envs)
        grounding = None if settings.grounding is None else import_grounding(settings.grounding)
        if grounding is not None and settings.vectorization != "vector_entry_point":
            grounding = _each(grounding)
        return VectorProductMDP(
            envs,
            specs,
            grounding,
            objects=objects,
            features=specs_settings.features,  # type: ignore[arg-type]
            cost=specs_settings.cost,  # type: ignore[arg-type]
        )
    except BaseException:
        envs.close()
        raise


def build_functional_product(
    settings: EnvSettings,
    specs_settings: SpecsSettings,
    specs: SpecSet,
    *,
    kwargs: Mapping[str, Any] | None = None,
) -> FunctionalProduct:
    """Make the environment as pure functions and put the monitors on it.

    Raises:
        ConfigurationError: the environment has no such form, or a setting has no meaning for it.
    """
    from safe_rl.envs.functional import make_functional
    from safe_rl.wrappers.functional import FunctionalProduct

    if settings.grounding is not None:
        raise ConfigurationError(
            f"env.grounding={settings.grounding}: an environment on the device brings its own "
            "propositions; leave it out, or train with algo=ppo_lagrangian (PyTorch)"
        )
    env = make_functional(settings.id, **settings.kwargs, **(kwargs or {}))
    if settings.max_episode_steps is not None:
        env.max_episode_steps = settings.max_episode_steps
    return FunctionalProduct(
        env,
        specs,
        objects=specs_settings.objects,
        features=specs_settings.features,  # type: ignore[arg-type]
        cost=specs_settings.cost,  # type: ignore[arg-type]
    )


def _objects_of(envs: VectorEnv[Any, Any, Any]) -> Mapping[str, Sequence[str]] | None:
    found = getattr(envs.unwrapped, "objects", None)
    if found is None and hasattr(envs.unwrapped, "get_attr"):
        try:
            every = envs.unwrapped.get_attr("objects")
        except AttributeError:
            return None
        found = every[0]
        if any(own != found for own in every):
            raise ConfigurationError(
                "the environments side by side hold different objects, so one set of monitors "
                "cannot serve them all; give the same objects to all, or set specs.objects"
            )
    return found


def _each(grounding: Callable[[Any], Mapping[str, Any]]) -> Callable[[Any], Mapping[str, Any]]:
    """Turn a grounding of one environment into one of environments side by side."""
    import numpy as np

    def of_all(envs: VectorEnv[Any, Any, Any]) -> Mapping[str, Any]:
        own = getattr(envs.unwrapped, "envs", None)
        if own is None:
            raise ConfigurationError(
                "env.grounding reads environments in this process; use env.vectorization=sync"
            )
        letters = [grounding(env) for env in own]
        return {name: np.array([letter[name] for letter in letters]) for name in letters[0]}

    return of_all
