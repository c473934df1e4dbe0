"""The initial-state gate: specifications marked ``initial`` must hold at reset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.specs import SpecSet


def gated_instances(specs: SpecSet) -> NDArray[np.intp]:
    """Return the indices of the instances whose specification is marked ``initial``."""
    return np.array(
        [i for i, instance in enumerate(specs.instances) if instance.specification.initial],
        np.intp,
    )


def derived_seed(seed: int | None, attempt: int) -> int | None:
    """Return the seed of another reset, a function of ``seed`` and ``attempt`` alone.

    Without a seed the environment's own random generator continues, so there is none to give.
    """
    if seed is None:
        return None
    return int(np.random.SeedSequence([seed, attempt]).generate_state(1)[0])


def gate_failed(
    specs: SpecSet, violated: Iterable[int], letter: Mapping[str, Any], attempts: int, where: str
) -> ConfigurationError:
    """Return the error for resets that never satisfied the gate.

    Args:
        specs: The bound specifications.
        violated: Indices of the gated instances that the last letter violated.
        letter: That letter.
        attempts: How many resets were tried.
        where: Which environment, for the message.
    """
    named = [specs.instances[i] for i in violated]
    ids = ", ".join(repr(instance.id) for instance in named)
    atoms = dict.fromkeys(bound for instance in named for bound in instance.atoms.values())
    shown = ", ".join(f"{name}={bool(letter[name])}" for name in atoms)
    return ConfigurationError(
        f"{where}: {attempts} resets in a row violated {ids}, which must hold at reset; the last "
        f"first letter was {{{shown}}}; mend the environment's initial states, drop `initial` "
        "from the specification, or allow more resets with gate_attempts="
    )
