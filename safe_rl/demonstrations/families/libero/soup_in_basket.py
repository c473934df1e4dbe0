"""Put the alphabet soup in the basket."""

from safe_rl.demonstrations.families.placing import placing

FAMILY = placing(
    "libero/soup_in_basket",
    "libero_object",
    "pick_up_the_alphabet_soup_and_place_it_in_the_basket",
    thing="alphabet_soup_1",
    on="basket_1",
)
