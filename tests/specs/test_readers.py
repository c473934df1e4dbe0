"""The YAML and the ManiGuard reader: what they take, and one clear error for what they do not."""

import json

import pytest

from safe_rl.errors import SpecificationError
from safe_rl.logic import parse
from safe_rl.specs import Limit, Specification, SpecSet, load_specs, parse_yaml

GOOD = """
- id: grasp_remains_synced
  category: grasp_stability
  forall: {o: graspable}
  formula: "G(grasped(o) -> (synced(o) W !touching_fingers(o)))"
  trigger: grasped(o)
  recovery: "F(synced(o) | !touching_fingers(o))"
  weight: 2
  limit: {kind: per_trigger, value: 0.02, cap: 5}
  says: "Once grasped, {o} must stay rigidly in the gripper until it is let go."
- {id: dry, formula: G !spilled, trigger: spilled, initial: true, semantics: bad_prefix}
"""


def test_yaml_gives_the_specifications_it_states():
    specs = parse_yaml(GOOD)
    assert specs.ids == ("grasp_remains_synced", "dry")
    first, second = specs
    assert first == Specification(
        "grasp_remains_synced",
        "G(grasped(o) -> (synced(o) W !touching_fingers(o)))",
        recovery="F(synced(o) | !touching_fingers(o))",
        category="grasp_stability",
        forall={"o": "graspable"},
        weight=2.0,
        limit=Limit("per_trigger", 0.02, 5),
        says="Once grasped, {o} must stay rigidly in the gripper until it is let go.",
    )
    assert second.initial and second.semantics == "bad_prefix"


def test_yaml_with_objects_is_bound():
    specs = parse_yaml(f"objects: {{graspable: [mug]}}\nspecifications:{GOOD}")
    assert specs.instances[0].id == "grasp_remains_synced[o=mug]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["a list of specifications is expected, but this is empty"]),
        ("[]", ["a list of specifications is expected"]),
        ("5", ["but this is 5"]),
        ("rules: []", ["unknown key 'rules'", "specifications, objects, phrases, description"]),
        ("description: x", ["'specifications' is missing"]),
        ("- 5", ["specification number 1 must be a mapping", "5"]),
        ("- {formula: a}", ["specification number 1", "'id' is missing"]),
        ("- {id: x}", ["specification 'x'", "'formula' is missing"]),
        ("- {id: x, formula: G !p}", ["specification 'x', trigger: it is missing", "'G !p'"]),
        ("- {id: x, formula: G !p, triger: p}", ["'x'", "'triger'; did you mean 'trigger'"]),
        ("- {id: x, formula: G(p -> q, r)}", ["'x'", "unknown key 'r)'"]),
        ('- {id: x, formula: "G(p -> q"}', ["specification 'x', formula:", "G(p -> q", "^"]),
        ('- {id: x, formula: "G(p -> q)", trigger: F p}', ["'x', trigger: 'F p' looks ahead"]),
        ('- {id: x, formula: "G(p -> q)", recovery: }', ["'x', recovery: the value is empty"]),
        ('- {id: x, formula: "G(p -> q)", weight: heavy}', ["'x', weight: 'heavy'", "1.0"]),
        ('- {id: x, formula: "G(p -> q)", limit: 0.1}', ["'x', limit: 0.1 is no mapping", "kind"]),
        ('- {id: x, formula: "G(p -> q)", limit: {value: 1}}', ["'x', limit: the key 'kind'"]),
        (
            '- {id: x, formula: "G(p -> q)", limit: {kind: chance, value: 1}}',
            ["'x', limit:", "'chance'", "episode, probability, per_trigger"],
        ),
        (
            '- {id: x, formula: "G(p -> q)", limit: {kind: episode, value: 1, max: 2}}',
            ["'x', limit: unknown key 'max'", "kind, value, cap"],
        ),
        (
            '- {id: x, formula: "G(p -> q)", forall: {o: graspable}}',
            ["'x', forall: 'o' is declared but no atom takes it"],
        ),
        (
            '- {id: x, formula: "G(p(o) -> q(v))", forall: {o: graspable}}',
            ["'x', forall: 'v' looks like a variable but is not declared"],
        ),
        (
            '- {id: x, formula: "G(p -> q)"}\n- {id: x, formula: "G(p -> q)"}',
            ["two specifications have the id 'x'"],
        ),
        ('- id: x\n  formula: "G(p -> q)"\n  formula: "G(q -> p)"', ["'formula' is given twice"]),
        ("- {id: x, formula: !p}", ["valid YAML", "put in quotes"]),
        ('- {id: no, formula: "G(p -> q)"}', ["number 1", "False", "in quotes"]),
        ('- {id: x, formula: "G(p -> q)", says: no}', ["'x', says: False", "in quotes"]),
        ("- id: x\n formula: y", ["valid YAML"]),
        ('- {id: x, formula: !!python/object/apply:os.system ["true"]}', ["valid YAML"]),
        (
            'objects: {k: mug}\nspecifications:\n- {id: x, formula: "G(p -> q)"}',
            ["objects, property 'k': 'mug' must be a list"],
        ),
    ],
)
def test_each_bad_yaml_gives_one_error_with_the_file(tmp_path, text, words):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(SpecificationError) as caught:
        load_specs(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for word in words:
        assert word in message


LID = {
    "activity_name": "lid_task",
    "constraints": [
        {"id": "lid_first", "ltl": "(on_table) U (lid_on)", "description": "Lid {first}."},
        {"id": "not_dropped", "ltl": "G (!dropped)", "description": "No drop."},
        {"id": "calm", "ltl": "G (dropped -> X on_table)", "description": ""},
    ],
    "combined_ltl": "(on_table U lid_on) & G !dropped & G(dropped -> X on_table)",
    "propositions": {
        "on_table": {
            "check": "all",
            "state": "ontop",
            "over": ["cup.n.01_*"],
            "relative_to": ["table_*"],
        },
        "lid_on": {"check": "any", "state": "open", "over": ["cup_*"], "negated": True},
        "dropped": {
            "state": "dropped",
            "over": ["cup_*"],
            "params": {"z_margin": 0.05, "floor_z": 0.0},
        },
        "spilled": {"check": "spill", "over": ["cup_*"], "params": {"zone": [0.1, 0.2]}},
    },
    "notes": "kept by people",
}


def write(tmp_path, content):
    path = tmp_path / "ltl_safety.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_maniguard_json_gives_bad_prefix_specifications_with_triggers(tmp_path):
    specs = load_specs(write(tmp_path, LID))
    assert specs.ids == ("lid_first", "not_dropped", "calm")
    assert all(s.semantics == "bad_prefix" and s.recovery is None for s in specs)
    assert specs["lid_first"].formula is parse("on_table U lid_on")
    assert [s.trigger for s in specs] == [parse("true"), parse("true"), parse("dropped")]
    assert specs["lid_first"].bind({}).says == "Lid {first}."
    assert specs["lid_first"].category == "lid_task"


def test_maniguard_propositions_are_kept_for_the_grounding(tmp_path):
    meta = load_specs(write(tmp_path, LID)).propositions_meta
    assert meta["on_table"].check == "all" and meta["on_table"].relative_to == ("table_*",)
    assert meta["on_table"].over == ("cup.n.01_*",) and not meta["on_table"].negated
    assert meta["lid_on"].negated and meta["lid_on"].state == "open"
    assert meta["dropped"].check == "any"
    assert meta["dropped"].params == (("floor_z", 0.0), ("z_margin", 0.05))
    assert meta["spilled"].check == "spill" and meta["spilled"].params == (("zone", (0.1, 0.2)),)
    hash(meta["spilled"])


def test_maniguard_under_a_key_of_a_larger_file(tmp_path):
    assert load_specs(write(tmp_path, {"prompt": "x", "ltl_safety": LID})).ids[0] == "lid_first"


def changed(**parts):
    return {**LID, **parts}


def constraint(**parts):
    return changed(constraints=[{"id": "c", "ltl": "G !dropped", **parts}], combined_ltl="")


def proposition(**parts):
    return changed(propositions={**LID["propositions"], "dropped": parts}, combined_ltl="")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", ["no valid JSON"]),
        ('{"a": 1, "a": 2}', ["'a' is given twice"]),
        ([1], ["'constraints' and 'propositions'"]),
        ({"constraints": []}, ["propositions: None"]),
        (changed(constraints=[]), ["constraints: []"]),
        (changed(constraints=["x"]), ["constraint number 1: 'x'"]),
        (constraint(weight=2), ["unknown key 'weight'", "id, ltl, description"]),
        (constraint(ltl=None), ["constraint number 1, ltl: None"]),
        (constraint(ltl="G !droped"), ["'c', ltl:", "did you mean 'dropped'", "'propositions'"]),
        (constraint(ltl="G (!dropped"), ["constraint 'c', ltl:", "^"]),
        (proposition(check="any"), ["proposition 'dropped', state: it is missing"]),
        (proposition(state="dropped", objects=[]), ["'objects'", "check, state, over"]),
        (proposition(state="dropped", negated="no"), ["negated: 'no' must be true or false"]),
        (proposition(state="dropped", over=[3]), ["over: [3] must be a list"]),
        (proposition(state="dropped", params=[1]), ["params: [1] must be an object"]),
        (changed(combined_ltl=7), ["combined_ltl: 7 must be a text"]),
    ],
)
def test_each_bad_json_gives_one_error_with_the_file(tmp_path, content, words):
    path = write(tmp_path, content)
    with pytest.raises(SpecificationError) as caught:
        load_specs(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for word in words:
        assert word in message


def test_combined_formula_that_has_drifted_is_refused(tmp_path):
    """SafeManip notes: the same formula written in two places drifts."""
    path = write(tmp_path, changed(combined_ltl="on_table U lid_on"))
    with pytest.raises(SpecificationError, match="does not mean the same as the constraints"):
        load_specs(path)


def test_load_specs_takes_sets_lists_one_and_paths(tmp_path):
    spec = Specification("x", "G(p -> q)")
    specs = SpecSet([spec])
    assert load_specs(specs) is specs
    assert load_specs([spec]) == load_specs(spec) == load_specs(iter([spec])) == specs
    path = tmp_path / "r.yml"
    path.write_text('- {id: x, formula: "G(p -> q)"}')
    assert load_specs(path) == load_specs(str(path)) == specs


def test_load_specs_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(SpecificationError, match="'safemanp'.*did you mean 'safemanip'"):
        load_specs("safemanp")
    with pytest.raises(SpecificationError, match="neither a file nor a shipped set"):
        load_specs(tmp_path / "absent.yaml")
    other = tmp_path / "rules.toml"
    other.write_text("")
    with pytest.raises(SpecificationError, match=r"file type '\.toml'"):
        load_specs(other)
    with pytest.raises(SpecificationError, match="cannot be taken from 3"):
        load_specs(3)
    broken = tmp_path / "rules.yaml"
    broken.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecificationError, match="cannot be read"):
        load_specs(broken)
