"""Put the bowl on the plate."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/bowl_on_plate",
    "libero_goal",
    "put_the_bowl_on_the_plate",
    thing="akita_black_bowl_1",
    on="plate_1",
)
