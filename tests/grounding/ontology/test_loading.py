"""Files: what each mistake is told, with file and line; what a file of one's own may do."""

from __future__ import annotations

import pytest

from safe_rl.errors import OntologyError
from safe_rl.grounding.ontology import Ontology

GOOD = """\
trees:
  meat:
    game: "Hunted, not farmed."
entities:
  venison:
    kind: game
    affordance: freezable
    aliases: [deer_meat]
    says: A leg of deer.
  my_mug: {like: mug, kind: [mug_like, plastic]}
  mug: {like: mug, hazard: heavy, replaces: true}
rules:
  game_rolls: {if: game, unless: cured_meat, then: [rolls, pointed]}
"""


@pytest.fixture
def load(tmp_path):
    def read(text: str) -> Ontology:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return Ontology.load(path)

    return read


def test_a_file_adds_nodes_entities_and_rules(load):
    ontology = load(GOOD)
    venison = ontology.entity("deer_meat_3")
    assert (venison.name, venison.says) == ("venison", "A leg of deer.")
    assert ontology.trees["game"].says == "Hunted, not farmed."
    assert {"game", "meat", "food", "raw_food", "perishable", "pointed"} <= set(venison.properties)
    assert str(venison.reasons["food"]) == "game > meat > animal_food > food"
    assert str(venison.reasons["sharp"]).startswith("rule game_rolls (game unless cured_meat")
    assert not ontology.has("my_mug", "fragile")
    assert ontology.has("my_mug", "has_handle & holds_liquid & melts")
    assert ontology.has("mug", "fragile & heavy")
    assert not Ontology.load().has("mug", "heavy")


def test_an_entity_of_ones_own_goes_before_a_shipped_alias(load):
    assert Ontology.load().entity("glass").name == "glass_cup"
    assert load("entities: {glass: {kind: cup_like}}").entity("glass_1").name == "glass"


def test_two_files_build_on_each_other(tmp_path):
    (tmp_path / "a.yaml").write_text("trees: {meat: {game: }}")
    (tmp_path / "b.yaml").write_text("trees: {game: {venison_like: }}\nentities: {v: {like: w}}")
    (tmp_path / "c.yaml").write_text("entities: {w: {kind: venison_like}}")
    paths = [tmp_path / name for name in ("a.yaml", "b.yaml", "c.yaml")]
    assert Ontology.load(*paths).has("v", "meat")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("entities: [", "no valid YAML"),
        ("- a", r":1: the file: a mapping is expected here, but this is a list"),
        ("entitys: {}", r":1: the file: unknown key 'entitys'; did you mean 'entities'"),
        ("entities:\n  x: {kind: fruit}\n  x: {kind: fruit}", r":3: .*'x' is given twice, .*:2"),
        ("entities:\n  x: {knd: fruit}", r":2: entity 'x': unknown key 'knd'; did you mean 'kind'"),
        ("entities:\n  x: {kind: friut}", r":2: .* no property 'friut'; did you mean 'fruit'"),
        ("entities:\n  x:\n    kind: hazard", r":3: .*'hazard' is the root of a tree"),
        ("entities:\n  x: {kind: fruit, role: sharp}", r"in the tree 'hazard'; .*'hazard:'"),
        ("entities:\n  x: {kind: [food, fruit]}", r"'food' is needless beside 'fruit'"),
        ("entities:\n  x: {kind: [fruit, fruit]}", r"'fruit' is listed twice"),
        ("entities:\n  x: {hazard: sharp}", r":2: entity 'x' has no kind"),
        ("entities:\n  x: {kind: }", r"a text is expected here, but this is empty"),
        ("entities:\n  x: {kind: yes}", r"but this is 'yes'; put it in quotes"),
        ("entities:\n  X y: {kind: fruit}", r"the entity 'X y' is no name"),
        ("entities:\n  milk: {kind: fruit}", r":2: .*'milk' exists already \(safe_rl ontology,"),
        ("entities:\n  x: {kind: fruit, replaces: true}", "'x' replaces nothing"),
        ("entities:\n  x: {like: mgu}", r"x', like: there is no entity 'mgu'; did you mean 'mug'"),
        ("entities:\n  x: {like: y}\n  y: {like: x}", r"x -> y -> x is a circle"),
        ("entities:\n  x: {kind: fruit, aliases: milk}", "'milk' is itself an entity"),
        ("entities:\n  x: {kind: fruit, aliases: glass}", "is an alias of 'glass_cup' already"),
        ("entities:\n  x: {kind: fruit, replaces: 3}", "true or false is expected"),
        ("trees:\n  fod: {x: }", r":2: trees: there is no node 'fod'; did you mean 'food'"),
        ("trees:\n  food: {meat: }", r":2: the node 'meat' exists already, below 'animal_food'"),
        ("trees:\n  food: {x: }\n  role: {x: }", r":3: the node 'x' exists already, below 'food'"),
        ("trees:\n  x: {y: }\n  y: {x: }", r":2: the node 'y' is put below 'x', which does not"),
        ("trees:\n  food: {role: }", "has the name of a root"),
        ("rules:\n  x: {if: meat}", r":2: rule 'x': the key 'then' is missing"),
        ("rules:\n  x: {if: meat, than: sharp}", "unknown key 'than'"),
        ("rules:\n  x: {if: meat, then: shrp}", r":2: rule 'x', then: .*did you mean 'sharp'"),
        ("rules:\n  dairy_spoils: {if: meat, then: sharp}", "'dairy_spoils' is given twice"),
        (
            "rules:\n  x: {if: food, unless: ready_to_eat, then: raw_food}",
            r":2: rule 'x', unless: 'ready_to_eat' depends on what the rule gives \(raw_food -> ",
        ),
    ],
)
def test_a_mistake_is_one_message_with_its_line(load, tmp_path, text, words):
    with pytest.raises(OntologyError, match=words) as caught:
        load(text)
    if "already" not in words and "dairy_spoils" not in words:
        assert str(caught.value).startswith(str(tmp_path / "mine.yaml"))


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(OntologyError, match=r"nothing\.yaml: cannot be read"):
        Ontology.load(tmp_path / "nothing.yaml")


def test_nothing_in_a_file_is_run(load):
    with pytest.raises(OntologyError):
        load("entities: !!python/object/apply:os.getcwd []")
