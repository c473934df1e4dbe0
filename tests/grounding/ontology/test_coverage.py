"""The shipped ontology: its size, its economy, and whom it knows."""

from __future__ import annotations

import pytest

from safe_rl.envs.tabletop.kinds import KINDS
from safe_rl.grounding.ontology import ROOTS, Ontology

ONTOLOGY = Ontology.load()

# The classes that LIBERO registers (libero/envs/objects) and the fixtures of its BDDL files.
LIBERO = """
akita_black_bowl alphabet_soup basin_faucet basket bbq_sauce black_book bowl_drainer butter cherries
chefmate_8_frypan chocolate_pudding cookies corn cream_cheese desk_caddy dining_set_group faucet
flat_stove floor glazed_rim_porcelain_ramekin ketchup kitchen_table living_room_table
macaroni_and_cheese mayo microwave milk moka_pot new_salad_dressing orange_juice plate popcorn
porcelain_mug rack red_coffee_mug salad_dressing short_cabinet short_fridge slide_cabinet
study_table table tomato_sauce white_bowl white_cabinet white_storage_box white_yellow_mug window
wine_bottle wine_rack wooden_cabinet wooden_shelf wooden_tray wooden_two_layer_shelf yellow_book
""".split()

# RoboCasa365's object categories and fixtures.
ROBOCASA = """
apple avocado bagel bagged_food baguette banana bar bar_soap beer bell_pepper bottled_drink
bottled_water bowl boxed_drink boxed_food bread bread_flat broccoli cake can candle canned_food
carrot cereal cheese chips chocolate coffee_cup condiment_bottle corn croissant cucumber cup cupcake
cutting_board donut egg eggplant fish fork garlic hot_dog jam jug jug_wide_opening ketchup
kettle_non_electric kiwi knife ladle lemon lime liquor mango milk mug mushroom onion orange pan pot
peach pear plate potato rolling_pin scissors shaker soap_dispenser spatula sponge spoon spray squash
steak sweet_potato tangerine teapot tomato tray waffle water_bottle wine yogurt dates lemonade
walnut cheese_grater syrup_bottle scallops candy whisk pitcher ice_cream cherry peanut_butter
thermos ham dumpling cabbage lettuce tongs ginger ice_cube_tray shrimp cantaloupe honey_bottle
grapes spaghetti_box chili_pepper celery burrito olive_oil_bottle kebabs bottle_opener
chicken_breast jello_cup lobster brussel_sprout sushi baking_sheet wine_glass asparagus lamb_chop
pickle bacon canola_oil strawberry watermelon pizza_cutter pomegranate apricot beet radish salsa
artichoke scone hamburger raspberry tacos vinegar zucchini pork_loin pork_chop sausage coconut
cauliflower lollipop salami butter_stick can_opener tofu pineapple skewers colander reamer ice_cube
jar measuring_cup strainer sandwich_bread sugar_cube cinnamon cookie_dough_ball cream_cheese_stick
digital_scale flour_bag hotdog_bun mayonnaise mustard oven_tray paprika turmeric pickle_slice
tomato_slice turkey_slice straw tupperware chicken_drumstick glass_cup lemon_wedge marshmallow
oil_and_vinegar_bottle pancake peeler saucepan saucepan_with_lid saucepan_lid wooden_spoon
aluminum_foil dish_brush pizza kebab_skewer juice salt_and_pepper_shaker basket placemat blender_jug
hinge_cabinet single_cabinet open_cabinet panel_cabinet housing_cabinet drawer counter stove
stove_wide stovetop oven microwave hood sink fridge_french_door fridge_side_by_side
fridge_bottom_freezer dishwasher wall floor paper_towel flower_vase utensil_set plant knife_block
fruit_bowl oil_bottle vinegar_bottle salt_shaker pepper_shaker tiered_basket jar_lid dish_rack stool
utensil_holder coffee_machine toaster toaster_oven blender blender_lid stand_mixer utensil_rack
electric_kettle wall_accessory window window_proc
""".split()

# The names of objects and fixtures in robosuite's environments, beside its classes (see below).
ROBOSUITE = """
cube cubeA cubeB Milk Bread Cereal Can SquareNut RoundNut Door pot hammer peg hole stand frame tool
payload trash transport_start_bin transport_target_bin transport_trash_bin transport_start_bin_lid
bin1 bin2 peg1 peg2 table floor
""".split()


def test_the_size_is_at_least_the_papers():
    associations = sum(len(ONTOLOGY.entity(name).properties) for name in ONTOLOGY.entities)
    assert len(ONTOLOGY.entities) >= 262
    assert len(ONTOLOGY.properties) >= 60
    assert associations >= 1569
    assert len([name for name in ONTOLOGY.entities if ONTOLOGY.has(name, "fixture")]) >= 42


@pytest.mark.parametrize("root", ROOTS)
def test_every_tree_is_used_to_its_leaves(root):
    held = {prop for name in ONTOLOGY.entities for prop in ONTOLOGY.entity(name).properties}
    assert [p for p in ONTOLOGY.properties if p not in held] == []
    assert sum(ONTOLOGY.trees[p].tree == root for p in ONTOLOGY.properties) >= 15
    for name in ONTOLOGY.entities:
        entity = ONTOLOGY.entity(name)
        if root in ("kind", "role"):
            assert any(ONTOLOGY.trees[p].tree == root for p in entity.properties), name


def test_nothing_is_written_that_a_rule_gives():
    assert {n: ONTOLOGY.needless(n) for n in ONTOLOGY.entities if ONTOLOGY.needless(n)} == {}


def test_every_rule_is_needed():
    used = {
        why.rule.name
        for name in ONTOLOGY.entities
        for why in ONTOLOGY.entity(name).reasons.values()
        if why.rule is not None
    }
    assert [rule.name for rule in ONTOLOGY.rules if rule.name not in used] == []


@pytest.mark.parametrize("names", [LIBERO, ROBOCASA, ROBOSUITE, list(KINDS)])
def test_simulators_objects_are_known(names):
    assert [name for name in names if ONTOLOGY.find(name) is None] == []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_tabletops_kinds_agree(name):
    kind = KINDS[name]
    assert not kind.fragile or ONTOLOGY.has(name, "fragile")
    assert kind.raw == ONTOLOGY.has(name, "raw_food")
    assert not kind.ready or ONTOLOGY.has(name, "ready_to_eat")
    assert kind.lid == ONTOLOGY.has(name, "closure")
    assert not kind.receptacle or ONTOLOGY.has(name, "receptacle")
    assert not kind.graspable or ONTOLOGY.has(name, "graspable")
    assert not kind.liquid or ONTOLOGY.has(name, "holds_liquid")


@pytest.mark.robosuite
def test_every_object_that_robosuite_ships_is_known():
    objects = pytest.importorskip("robosuite.models.objects")
    classes = [
        name
        for name, value in vars(objects).items()
        if isinstance(value, type)
        and issubclass(value, objects.MujocoObject)
        and not name.startswith(("Mujoco", "Primitive", "Composite"))
        and "Visual" not in name  # markers of goals, which nothing touches
    ]
    assert len(classes) > 15
    assert [name for name in classes if ONTOLOGY.find(name) is None] == []
