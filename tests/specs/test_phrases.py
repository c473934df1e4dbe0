"""Propositions in words: in Python, in YAML, over bound objects, and what is refused."""

import pickle
from dataclasses import fields

import pytest

from safe_rl.errors import SpecificationError
from safe_rl.specs import Limit, Phrase, Specification, SpecSet, load_specs, parse_yaml

FILE = """
phrases:
  on(o, table): {true: "{o} is on the table", false: "{o} is off the table"}
  hot: the stove is hot
specifications:
- id: cold_table
  forall: {o: food}
  formula: G(on(o,table) -> !hot)
  phrases: {hot: [the burner glows, the burner is cold]}
- {id: never, formula: G !hot, trigger: hot}
"""


def test_phrases_of_a_file_and_of_a_specification():
    specs = parse_yaml(FILE)
    assert specs["cold_table"].phrases == {
        "hot": Phrase("the burner glows", "the burner is cold"),
        "on(o,table)": Phrase("{o} is on the table", "{o} is off the table"),
    }
    assert specs["never"].phrases["hot"] == (
        "the stove is hot",
        "it is not the case that the stove is hot",
    )
    (bound, _) = specs.bind({"food": ["ham"]}).instances
    assert bound.phrases["on(ham,table)"].of(False) == "ham is off the table"


def test_a_specification_with_phrases_is_a_value():
    spec = Specification("dry", "G !wet", trigger="wet", phrases={"wet": "it is wet"})
    again = Specification(**{f.name: getattr(spec, f.name) for f in fields(spec)})
    assert again == spec and hash(again) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    limited = SpecSet([spec]).with_limits({"dry": Limit("episode", 1)})[0]
    assert limited.phrases == spec.phrases
    assert Specification("dry", "G !wet", trigger="wet") != spec


def test_like_takes_the_phrases_along(tmp_path):
    path = tmp_path / "rules.yaml"
    rule = "like: kitchen/reach_in_through_open_door"
    path.write_text(f"- {{{rule}, phrases: {{door_open: it is open}}}}")
    (spec,) = load_specs(path)
    assert spec.phrases["door_open"].true == "it is open"


@pytest.mark.parametrize(
    ("phrases", "words"),
    [
        ("{wte: x}", ["'wte' is no atom", "did you mean 'wet'", "its atoms are wet"]),
        ("{wet: {false: x}}", ["phrases, wet", "must give the words for true", "lid_on: {true"]),
        ("{wet: {true: a, wrong: b}}", ["'wrong'", "must give the words for true"]),
        ("{wet: [a]}", ["must be two texts"]),
        ("{wet: '{o} is wet'}", ["{o}", "is no variable of forall"]),
        ("{wet: 'a } b'}", ["lone brace"]),
        ("{wet: yes}", ["True must be a text", "in quotes"]),
        ("{wet: a, '(wet)': b}", ["'(wet)' names the atom 'wet' a second time"]),
        ("[wet]", ["must map atoms to words"]),
    ],
)
def test_bad_phrases_are_refused(phrases, words):
    with pytest.raises(SpecificationError) as caught:
        parse_yaml(f"- {{id: dry, formula: G !wet, trigger: wet, phrases: {phrases}}}")
    for word in ["specification 'dry', phrases", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("phrases", "words"),
    [
        ("{wte: x}", ["an atom of none of the specifications", "did you mean 'wet'"]),
        ("5", ["phrases: 5 must map atoms to words"]),
        ("{wet: '{o} is wet'}", ["specification 'dry', phrases, wet", "no variable of forall"]),
    ],
)
def test_bad_phrases_of_a_file_are_refused(phrases, words):
    text = f"specifications: [{{id: dry, formula: G !wet, trigger: wet}}]\nphrases: {phrases}"
    with pytest.raises(SpecificationError) as caught:
        parse_yaml(text, "rules.yaml")
    for word in ["rules.yaml: ", *words]:
        assert word in str(caught.value)
