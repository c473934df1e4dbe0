"""The one place where robosuite and MuJoCo are imported.

robosuite 1.5.2 runs with MuJoCo 3.3 to 3.9; 3.10 and later break it. Its import prints advice about
macro files and optional robots, and its environments log the controller file that they load: all of
it below errors is silenced, because none of it concerns a user of this package.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, NamedTuple

from safe_rl.errors import ConfigurationError, MissingDependencyError

MUJOCO_FIRST, MUJOCO_BROKEN = (3, 3), (3, 10)
"""First MuJoCo release that robosuite 1.5.2 runs with, and the first one that breaks it."""

_LOGGER = "robosuite_logs"


class Libraries(NamedTuple):
    """The two modules."""

    robosuite: ModuleType
    mujoco: ModuleType


def _missing(package: str) -> MissingDependencyError:
    error = MissingDependencyError(package, "robosuite", "A robosuite environment")
    # The extra cannot bring robosuite itself: its wheel pins a mink that no current numpy suits.
    error.msg = f"{error.msg} && pip install --no-deps robosuite==1.5.2"
    return error


def check_mujoco_version(installed: str) -> None:
    """Raise ``ConfigurationError`` unless robosuite 1.5.2 runs with this MuJoCo.

    >>> check_mujoco_version("3.9.0")
    >>> check_mujoco_version("3.10.0")
    Traceback (most recent call last):
        ...
    safe_rl.errors.ConfigurationError: robosuite 1.5.2 needs mujoco >=3.3,<3.10, found 3.10.0; \
install a version that works with: pip install "mujoco>=3.3,<3.10"
    """
    release = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    if not MUJOCO_FIRST <= release < MUJOCO_BROKEN:
        wanted = ">={}.{},<{}.{}".format(*MUJOCO_FIRST, *MUJOCO_BROKEN)
        raise ConfigurationError(
            f"robosuite 1.5.2 needs mujoco {wanted}, found {installed}; "
            f'install a version that works with: pip install "mujoco{wanted}"'
        )


@lru_cache(maxsize=1)
def load() -> Libraries:
    """Import both libraries quietly, once.

    Raises:
        MissingDependencyError: if one of them, or something that robosuite needs, is missing.
        ConfigurationError: if this MuJoCo breaks this robosuite.
    """
    try:
        check_mujoco_version(version("mujoco"))
    except PackageNotFoundError:
        raise _missing("mujoco") from None
    logger = logging.getLogger(_LOGGER)
    # A filter outlives the handlers and the level that the import sets.
    logger.addFilter(_only_errors)
    try:
        import mujoco
        import robosuite
    except ModuleNotFoundError as error:
        raise _missing(error.name or "robosuite") from error
    return Libraries(robosuite, mujoco)


def _only_errors(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR


def make_simulation(task: str, model_seed: int) -> Any:
    """A robosuite environment with a Panda, state only, 20 Hz, resets of a millisecond.

    ``model_seed`` seeds what is drawn once, when the model is built (Lift's cube size): with
    ``hard_reset=False`` the model is the same in every episode.
    """
    simulation = load().robosuite.make(
        task,
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        use_object_obs=True,
        reward_shaping=True,
        control_freq=20,
        lite_physics=True,
        ignore_done=True,  # the horizon is ours: reaching it truncates, it does not terminate
        hard_reset=False,
        seed=model_seed,
    )
    for thing in getattr(simulation, "objects", ()):  # PickPlace holds its objects in a list
        setattr(simulation, thing.name, thing)
        simulation.object_id_to_sensors = {}  # of observables that are not used
    return simulation


def geom_distance(model: Any, data: Any) -> Callable[[int, int, float], float]:
    """``mj_geomDistance`` on this model and data: signed metres, at most the third argument."""
    function = load().mujoco.mj_geomDistance

    def distance(first: int, second: int, limit: float) -> float:
        return float(function(model, data, first, second, limit, None))

    return distance
