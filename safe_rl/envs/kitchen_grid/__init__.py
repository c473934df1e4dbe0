"""KitchenGrid: a tabular kitchen whose rules all trigger, with its transition model."""

from safe_rl.envs.kitchen_grid.dynamics import (
    PROPOSITIONS,
    Action,
    Event,
    Hand,
    Kitchen,
    KitchenParameters,
    KitchenTables,
    Order,
    Station,
    build_tables,
)
from safe_rl.envs.kitchen_grid.env import KitchenGridEnv, KitchenGridVector

__all__ = [
    "PROPOSITIONS",
    "Action",
    "Event",
    "Hand",
    "Kitchen",
    "KitchenGridEnv",
    "KitchenGridVector",
    "KitchenParameters",
    "KitchenTables",
    "Order",
    "Station",
    "build_tables",
]
