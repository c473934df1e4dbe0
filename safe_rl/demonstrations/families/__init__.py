"""The families: one module each, named as the family is; a new family is a new module."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from safe_rl.demonstrations.engine.family import Family
from safe_rl.errors import ConfigurationError, near


def family_names() -> tuple[str, ...]:
    """Names of all families, such as ``robosuite/stack``."""
    prefix = f"{__name__}."
    modules = pkgutil.walk_packages(__path__, prefix)
    found = [m.name.removeprefix(prefix) for m in modules if not m.ispkg]
    return tuple(sorted(name.replace(".", "/") for name in found if "." in name))


def find_family(name: str) -> Family:
    """The family of that name.

    Raises:
        ConfigurationError: there is none.
    """
    known = family_names()
    if name not in known:
        raise ConfigurationError(
            f"no family {name!r}{near(name, known)}; there are: {', '.join(known)}"
        )
    found = import_module(f"{__name__}.{name.replace('/', '.')}").FAMILY
    assert isinstance(found, Family)
    return found
