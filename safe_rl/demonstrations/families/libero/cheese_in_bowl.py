"""Put the cream cheese in the bowl."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/cheese_in_bowl",
    "libero_goal",
    "put_the_cream_cheese_in_the_bowl",
    thing="cream_cheese_1",
    on="akita_black_bowl_1",
)
