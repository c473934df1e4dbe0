"""Put the bowl on the stove."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/bowl_on_stove",
    "libero_goal",
    "put_the_bowl_on_the_stove",
    thing="akita_black_bowl_1",
    on="flat_stove_1",
    site="flat_stove_1_cook_region",
)
