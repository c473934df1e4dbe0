"""Put the bowl that stands next to the ramekin on the plate."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/bowl_by_ramekin",
    "libero_spatial",
    "pick_up_the_black_bowl_next_to_the_ramekin_and_place_it_on_the_plate",
    thing="akita_black_bowl_1",
    on="plate_1",
)
