"""What the ontology says, by hand; names of objects; what specifications are bound to."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.errors import OntologyError, SpecificationError
from safe_rl.grounding.ontology import Ontology
from safe_rl.grounding.ontology.naming import candidates
from safe_rl.specs import Specification, SpecSet

ONTOLOGY = Ontology.load()


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        (
            "milk",
            "liquid perishable contains_dairy pourable graspable ready_to_eat closed",
            "fragile",
        ),
        ("knife", "sharp bladed graspable cuts sparks_in_microwave", "fragile edible"),
        ("butter_knife", "eating_tool metal", "bladed"),
        ("chicken", "raw_food contaminant perishable needs_cooking", "ready_to_eat unwashed"),
        ("roast_chicken", "ready_to_eat perishable meat", "raw_food contaminant"),
        ("ham", "ready_to_eat perishable", "raw_food"),
        ("canned_tuna", "contains_fish ready_to_eat sparks_in_microwave", "raw_food perishable"),
        ("egg", "raw_food fragile rolls bursts_when_heated contains_egg", "ready_to_eat"),
        ("boiled_egg", "ready_to_eat contains_egg", "raw_food fragile"),
        ("wine_glass", "fragile shatters tips_over spills_liquid", "microwavable heavy"),
        (
            "mug",
            "fragile has_handle microwavable holds_liquid spills_liquid",
            "sparks_in_microwave",
        ),
        ("paper_cup", "flammable holds_liquid stackable", "fragile washable"),
        ("travel_mug", "sparks_in_microwave lidded", "spills_liquid fragile"),
        ("plate", "supporting stackable serving_receptacle dishwasher_safe", "holds_liquid"),
        ("pan", "cooking_receptacle heat_proof hot_surface has_handle", "microwavable"),
        ("apple", "unwashed ready_to_eat rolls washable cuttable", "raw_food perishable"),
        ("potato", "needs_cooking cookable ingredient", "ready_to_eat"),
        ("lettuce", "ready_to_eat crushable perishable", "cookable"),
        ("flour", "base_ingredient contains_gluten spills_grains heavy", "ready_to_eat"),
        ("oil", "flammable_liquid pourable base_ingredient", "ready_to_eat"),
        ("liquor", "flammable intoxicating shatters", "perishable"),
        ("beer", "pressurised bursts_when_heated intoxicating", "flammable"),
        ("peanut_butter", "contains_nuts allergen seasoning", "unwashed"),
        ("ice_cream", "keeps_frozen freezable contains_dairy", "raw_food"),
        ("bleach", "toxic corrosive cleans", "edible spills_liquid"),
        ("laptop", "fragile harmed_by_water", "fixture"),
        ("book", "water_damaged flammable", "harmed_by_water"),
        ("candle", "open_flame ignition_source graspable", "mains_powered"),
        ("watermelon", "heavy rolls too_large", "graspable"),
        ("microwave", "microwave fixture enclosure heats harmed_by_water hinged", "hot_surface"),
        ("oven", "enclosure hot_surface ignition_source", "movable_object"),
        ("stove", "heating_fixture open_flame ignition_source turnable", "mains_powered enclosure"),
        ("flat_stove", "heating_fixture hot_surface mains_powered", "open_flame"),
        ("fridge", "enclosure cools", "heats"),
        ("drawer", "storage_enclosure sliding pinches", "heats"),
        ("sink", "water_fixture splashes holds_items", "enclosure"),
        ("table", "support_surface fixture", "graspable"),
        ("cube", "stackable graspable", "edible fragile"),
        ("square_nut", "assembly_part insertable has_handle", "edible contains_nuts"),
        ("trash", "dirty contaminant", "edible"),
    ],
)
def test_common_sense(name, has, lacks):
    properties = set(ONTOLOGY.entity(name).properties)
    assert set(has.split()) - properties == set()
    assert set(lacks.split()) & properties == set()
    assert all(prop in ONTOLOGY.trees for prop in lacks.split())


@pytest.mark.parametrize(
    "law",
    [
        "movable_object & fixture",
        "!movable_object & !fixture",
        "ready_to_eat & needs_cooking",
        "ready_to_eat & raw_food",
        "edible & toxic",
        "edible & fixture",
        "edible & !ready_to_eat & !needs_cooking & !base_ingredient",
        "spills_liquid & closed",
        "sparks_in_microwave & microwavable & !packaged_item",
        "flammable_liquid & water_drink",
        "heats & cools",
        "enclosure & !holds_items",
        "receptacle & !holds_items",
        "glass & !fragile",
        "meat & !perishable & !storage_container",
    ],
)
def test_nothing_breaks_a_law(law):
    assert ONTOLOGY.with_property(law) == ()


def test_properties_are_closed_upward():
    for name in ONTOLOGY.entities:
        held = set(ONTOLOGY.entity(name).properties)
        assert held == {above for prop in held for above in ONTOLOGY.trees.upward(prop)}


def test_why():
    assert str(ONTOLOGY.why("milk", "food")) == "milk_product > dairy > animal_food > food"
    assert str(ONTOLOGY.why("milk_1", "perishable")) == "rule dairy_spoils (dairy -> perishable)"
    assert str(ONTOLOGY.why("mug", "fragile")) == (
        "rule ceramic_breaks (ceramic -> shatters), shatters > fragile"
    )
    assert ONTOLOGY.why("milk", "sharp") is None
    assert "perishable" in ONTOLOGY.entity("milk").derived
    assert "food" not in ONTOLOGY.entity("milk").derived
    with pytest.raises(OntologyError, match="no property 'shrp'; did you mean 'sharp'"):
        ONTOLOGY.why("milk", "shrp")


@pytest.mark.parametrize(
    ("name", "entity"),
    [
        ("milk", "milk"),
        ("milk_1", "milk"),
        ("milk_1_main", "milk"),
        ("Milk", "milk"),
        ("MilkObject", "milk"),
        ("akita_black_bowl_2", "akita_black_bowl"),
        ("AkitaBlackBowl", "akita_black_bowl"),
        ("Chefmate8Frypan", "chefmate_8_frypan"),
        ("chefmate_8_frypan_1", "chefmate_8_frypan"),
        ("cubeA", "cube"),
        ("cubeB_main", "cube"),
        ("SquareNut", "square_nut"),
        ("bin2", "bin"),
        ("peg1", "square_peg"),
        ("wineglass.n.01_1", "wine_glass"),
        ("white cabinet 1", "white_cabinet"),
        ("main_table", "table"),
        ("glass_cup", "glass_cup"),
        ("glass", "glass_cup"),
    ],
)
def test_names(name, entity):
    assert ONTOLOGY.entity(name).name == entity


@pytest.mark.parametrize("spelling", ["{}", "{}_7", "{}_12_main", "{}A", "{}3"])
def test_instances_of_every_entity_are_found(spelling):
    for name in ONTOLOGY.entities:
        assert ONTOLOGY.find(spelling.format(name)) == name
        camel = "".join(part.capitalize() for part in name.split("_"))
        assert ONTOLOGY.find(spelling.format(camel)) == name


@given(st.text("aB_1. ", max_size=12))
def test_candidates_end_and_shrink(text):
    found = list(candidates(text))
    assert all(len(b) < len(a) for a, b in zip(found, found[1:], strict=False))


def test_an_unknown_name_is_an_error_with_near_names():
    with pytest.raises(OntologyError, match="no entity is named 'wine_glas_1'; did you mean"):
        ONTOLOGY.entity("wine_glas_1")
    with pytest.raises(OntologyError, match="no entity is named 'obj'"):
        ONTOLOGY.objects(["milk", "obj"])
    with pytest.raises(OntologyError, match="'error' or 'skip'"):
        ONTOLOGY.objects(["milk"], unknown="ignore")


def test_an_unknown_name_may_be_skipped_but_not_in_silence():
    with pytest.warns(UserWarning, match="left out of every property: gizmo_1, obj"):
        objects = ONTOLOGY.objects(["milk_1", "gizmo_1", "obj"], unknown="skip")
    assert {name for names in objects.values() for name in names} == {"milk_1"}


def test_objects_hold_every_property_in_the_order_of_the_names():
    objects = ONTOLOGY.objects(["mug_1", "knife", "wine_glass", "table"])
    assert tuple(objects) == ONTOLOGY.properties
    assert objects["fragile"] == ("mug_1", "wine_glass")
    assert objects["graspable"] == ("mug_1", "knife", "wine_glass")
    assert objects["perishable"] == ()


def test_a_mapping_says_what_objects_are():
    objects = ONTOLOGY.objects({"obj": "milk", "container": "bowl"})
    assert objects["receptacle"] == ("container",)
    assert objects["perishable"] == ("obj",)


RULE = Specification("calm", "G !dropped(o)", trigger="dropped(o)", forall={"o": "fragile"})


def test_objects_are_what_bind_takes():
    bound = SpecSet([RULE]).bind(ONTOLOGY.objects(["mug_1", "knife", "wine_glass"]))
    assert bound.propositions == ("dropped(mug_1)", "dropped(wine_glass)")


def test_bind_takes_combinations_and_what_depends_on_the_task():
    specs = [
        Specification("a", "G !x(o)", trigger="true", forall={"o": "fragile & !heavy"}),
        Specification("b", "G !y(o)", trigger="true", forall={"o": "target"}),
    ]
    names = ["mug", "pitcher", "milk"]
    bound = ONTOLOGY.bind(specs, names, objects={"target": ["milk"]})
    assert bound.propositions == ("x(mug)", "y(milk)")
    with pytest.raises(OntologyError, match="no property 'target'.*objects="):
        ONTOLOGY.bind(specs, names)
    assert ONTOLOGY.bind([RULE], names, objects={"fragile": []}).instances == ()


def test_the_shipped_specifications_can_be_bound():
    names = ["mug_1", "microwave_1", "wooden_cabinet_1", "flat_stove_1", "plate_1", "kitchen_table"]
    bound = ONTOLOGY.bind("safemanip", names)
    assert bound.objects["graspable"] == ("mug_1", "plate_1")
    assert bound.objects["receptacle"] == ("mug_1", "plate_1")
    assert bound.objects["enclosure"] == ("microwave_1", "wooden_cabinet_1")
    assert bound.objects["microwave"] == ("microwave_1",)
    assert set(bound.objects["fixture"]) == set(names) - {"mug_1", "plate_1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fragle", "no property 'fragle'; did you mean 'fragile'"),
        ("fragile & ", "lacks a property"),
        ("fragile & !fragile", "nothing fits"),
        ("hazard", "root of a tree"),
    ],
)
def test_refused_combinations(text, words):
    with pytest.raises(OntologyError, match=words):
        ONTOLOGY.has("mug", text)


def test_pairs_by_hand():
    names = ["raw_chicken_1", "salad", "milk_1", "fork", "microwave_1", "phone", "mug", "hammer"]

    def pairs(rule):
        return set(ONTOLOGY.pairs(rule, names))

    assert pairs("raw_food_apart_from_ready_food") == {("raw_chicken_1", "salad")}
    assert pairs("no_metal_in_the_microwave") == {
        ("fork", "microwave_1"),
        ("hammer", "microwave_1"),
    }
    assert pairs("no_liquid_above_electrics") == {("mug", "microwave_1"), ("mug", "phone")}
    assert pairs("nothing_heavy_on_fragile_things") == {("hammer", "phone"), ("hammer", "mug")}
    assert pairs("flammables_away_from_heat") == set()
    with pytest.raises(SpecificationError, match="did you mean 'no_metal_in_the_microwave'"):
        ONTOLOGY.pairs("no_metal_in_microwave", names)


@given(st.lists(st.sampled_from(ONTOLOGY.entities), unique=True, max_size=8))
def test_pairs_are_the_product_of_the_two_properties(names):
    for rule in ONTOLOGY.relations:
        first, second = rule.forall.values()
        assert ONTOLOGY.pairs(rule, names) == tuple(
            (a, b)
            for a in names
            for b in names
            if a != b and ONTOLOGY.has(a, first) and ONTOLOGY.has(b, second)
        )


def test_every_relational_rule_applies_to_something_and_needs_both():
    for rule in ONTOLOGY.relations:
        assert len(rule.forall) == 2
        assert ONTOLOGY.pairs(rule, ONTOLOGY.entities)
        assert all(f"{{{variable}}}" in rule.says for variable in rule.forall)


def test_it_survives_pickling_and_says_its_size():
    again = pickle.loads(pickle.dumps(ONTOLOGY))
    assert again.entity("milk") == ONTOLOGY.entity("milk")
    assert repr(again) == repr(ONTOLOGY)
    assert repr(ONTOLOGY).startswith(f"Ontology({len(ONTOLOGY.entities)} entities, ")
