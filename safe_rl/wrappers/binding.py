"""Reading a wrapper's ``specs`` argument and binding it to the objects of an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_rl.errors import ConfigurationError
from safe_rl.specs import Objects, Specs, SpecSet, load_specs


def bound_specs(specs: Specs, objects: Objects | None, env_objects: Any) -> SpecSet:
    """Return the specifications over the objects that they speak of.

    Args:
        specs: What the user gave.
        objects: Property to names, as the user gave them; they win.
        env_objects: The environment's attribute ``objects``, or ``None``.

    Raises:
        SpecificationError: a ``forall`` property has no list of objects.
        ConfigurationError: there is nothing to monitor.
    """
    loaded = load_specs(specs)
    if len(loaded) == 0:
        raise ConfigurationError("there are no specifications to monitor; give at least one")
    if objects is not None:
        loaded = loaded.bind(objects)
    elif loaded.properties and loaded.objects is None and isinstance(env_objects, Mapping):
        loaded = loaded.bind(env_objects)
    _ = loaded.instances  # raises where a variable has no objects
    return loaded
