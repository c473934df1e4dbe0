"""The labels of a tabletop state: SafeManip's propositions, and a few of the tabletop's own.

The tabletop's own ones need no memory:

| proposition | true when |
| --- | --- |
| `near(o)` | the gripper is within 12 cm of `o`, sideways, and below its top by less than 12 cm |
| `tipped(o)` | `o` leans by more than 45 degrees |
| `broken(o)` | `o`, which is fragile, has broken |
| `spilled(o)` | `o`, a container that was full, has lost more than 5% |
| `upset(o)` | any of these three |
| `landed(o)` | `o` came down on something in this frame |
| `landed_hard(o)` | it did so faster than `hard_landing_speed` |
"""

from __future__ import annotations

import jax.numpy as jnp

from safe_rl.envs.tabletop.dynamics import Layout
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.state import Array, Body, Frame, World

NEAR_DISTANCE = 0.12
"""m between the gripper and an object's axis, and above its top."""
TIPPED_COSINE = 0.7071068
"""cosine of 45 degrees, ManiGuard's limit."""
FULL_ENOUGH = 0.95
"""Of a full container."""


def own_propositions(layout: Layout) -> tuple[str, ...]:
    """Names of the tabletop's own propositions, in the order of ``own_letter``."""
    names = []
    for name, kind in zip(layout.names, layout.kinds, strict=True):
        names += [f"{prefix}({name})" for prefix in _prefixes(kind)]
    return tuple(names)


def _prefixes(kind: Kind) -> list[str]:
    prefixes = ["landed", "landed_hard"] if kind.graspable else []
    if kind.tips or kind.fragile or kind.liquid:
        prefixes += ["near", "upset"]
    prefixes += ["tipped"] if kind.tips else []
    prefixes += ["broken"] if kind.fragile else []
    prefixes += ["spilled"] if kind.liquid else []
    return prefixes


def own_letter(world: World, frame: Frame, layout: Layout) -> list[Array]:
    """Values of ``own_propositions`` (bool each)."""
    values: list[Array] = []
    for body, kind, touch in zip(world.bodies, layout.kinds, frame.touches, strict=True):
        facts: dict[str, Array] = {
            "landed": touch.landing > 0.0,
            "landed_hard": touch.landing > layout.parameters.hard_landing_speed,
            "near": _near(world, body, kind),
        }
        bad = jnp.zeros((), bool)
        if body.up is not None:
            facts["tipped"] = body.up.z < TIPPED_COSINE
            bad = bad | facts["tipped"]
        if body.broken is not None:
            facts["broken"] = body.broken
            bad = bad | body.broken
        if body.liquid is not None:
            facts["spilled"] = body.liquid < FULL_ENOUGH
            bad = bad | facts["spilled"]
        facts["upset"] = bad
        values += [facts[prefix] for prefix in _prefixes(kind)]
    return values


def _near(world: World, body: Body, kind: Kind) -> Array:
    hand = world.gripper
    dx, dy = hand.x - body.x, hand.y - body.y
    low = hand.z < body.z + 0.5 * kind.height + NEAR_DISTANCE
    return (dx * dx + dy * dy < NEAR_DISTANCE**2) & low
