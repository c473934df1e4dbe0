"""The one place where RoboCasa is imported.

RoboCasa is not on PyPI, and its kitchens are made of about 10 GB of meshes that a script of its own
downloads. It also wants robosuite from its repository: the release 1.5.2 lacks what RoboCasa 1.0
asks of it.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from safe_rl.envs.robocasa.kitchen import Kitchen, ObjectUtils
from safe_rl.envs.robosuite import simulator
from safe_rl.errors import ConfigurationError, MissingDependencyError, near

INSTALL = (
    "pip install git+https://github.com/ARISE-Initiative/robosuite "
    "git+https://github.com/robocasa/robocasa && python -m robocasa.scripts.setup_macros && "
    "python -m robocasa.scripts.download_kitchen_assets"
)
"""What brings RoboCasa, its robosuite and its meshes."""

ROBOT = "PandaOmron"
"""RoboCasa's own robot: a Panda on a mobile base."""


class Libraries(NamedTuple):
    """What is used of RoboCasa.

    Attributes:
        kitchens: name to kitchen class.
        object_utils: its predicates.
    """

    kitchens: Mapping[str, Any]
    object_utils: ObjectUtils


def _missing(package: str) -> MissingDependencyError:
    error = MissingDependencyError(package, "robosuite", "A RoboCasa kitchen")
    error.msg = f"{error.msg} && {INSTALL}"
    return error


@lru_cache(maxsize=1)
def load() -> Libraries:
    """Import RoboCasa quietly, once.

    Raises:
        MissingDependencyError: if RoboCasa, robosuite, MuJoCo, or what they need is missing.
        ConfigurationError: if MuJoCo is too new for robosuite, or RoboCasa refuses a version.
    """
    if find_spec("robocasa") is None:
        raise _missing("robocasa")
    simulator.load()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            import_module("robocasa")  # registers its tasks
            kitchens = import_module("robocasa.environments").REGISTERED_KITCHEN_ENVS
            utils: Any = import_module("robocasa.utils.object_utils")
        except ModuleNotFoundError as error:
            raise _missing(error.name or "robocasa") from error
        except AssertionError as error:  # it asserts the versions that it was tried with
            raise ConfigurationError(f"RoboCasa refuses what is installed: {error}") from error
    return Libraries(kitchens, utils)


def make_kitchen(name: str, scene_seed: int, arguments: Mapping[str, Any]) -> Kitchen:
    """A RoboCasa kitchen with its mobile Panda, state only, 20 Hz.

    Args:
        name: RoboCasa's name of the task, such as ``"PickPlaceCounterToCabinet"``.
        scene_seed: decides the kitchen that is drawn.
        arguments: further arguments of RoboCasa's class (``layout_ids``, ``style_ids`` ...).

    Raises:
        MissingDependencyError: see :func:`load`.
        ConfigurationError: for an unknown task, a robosuite without what RoboCasa asks of it, or
            meshes that are not there.
    """
    kitchens = load().kitchens
    if name not in kitchens:
        raise ConfigurationError(
            f"RoboCasa has no task {name!r}{near(name, kitchens)}; "
            "robocasa.ALL_KITCHEN_ENVIRONMENTS lists them"
        )
    robosuite = simulator.load().robosuite
    settings = {
        "robots": ROBOT,
        "controller_configs": robosuite.load_composite_controller_config(
            controller=None, robot=ROBOT
        ),
        "has_renderer": False,
        "has_offscreen_renderer": False,
        "use_camera_obs": False,
        "control_freq": 20,
        "ignore_done": True,  # the horizon is ours: reaching it truncates
        "seed": scene_seed,
        **arguments,
    }
    try:
        kitchen: Kitchen = kitchens[name](**settings)
    except TypeError as error:
        if "load_model_on_init" not in str(error):
            raise
        raise ConfigurationError(
            "this robosuite is too old for this RoboCasa, which asks it for load_model_on_init; "
            f"install both from their repositories: {INSTALL}"
        ) from error
    try:
        kitchen.reset()  # draws the kitchen
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"RoboCasa's meshes are missing ({error.filename}); download them with: "
            "python -m robocasa.scripts.download_kitchen_assets"
        ) from error
    return kitchen
