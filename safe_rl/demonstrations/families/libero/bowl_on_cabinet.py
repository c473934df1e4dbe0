"""Put the bowl on top of the cabinet."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/bowl_on_cabinet",
    "libero_goal",
    "put_the_bowl_on_top_of_the_cabinet",
    thing="akita_black_bowl_1",
    on="wooden_cabinet_1",
    site="wooden_cabinet_1_top_side",
)
