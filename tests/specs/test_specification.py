"""Limits, specifications, instances and sets of them."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from safe_rl.errors import SpecificationError
from safe_rl.logic import parse
from safe_rl.specs import Limit, Specification, SpecSet, default_trigger

GRASP = Specification(
    "grasp",
    "G(grasped(o) -> (synced(o) W !touching(o, gripper)))",
    recovery="F synced(o)",
    forall={"o": "graspable"},
    says="Once grasped, {o} must stay in the gripper.",
)


def refusal(**values):
    with pytest.raises(SpecificationError) as caught:
        Specification(**{"id": "rule", "formula": "G(a -> F b)", **values})
    return str(caught.value)


def test_texts_are_parsed_and_the_trigger_defaults_to_the_antecedent():
    spec = Specification("rule", "G(a & O c -> F b)", recovery="F b")
    assert spec.formula is parse("G(a & O c -> F b)")
    assert spec.trigger is parse("a & O c")
    assert spec.recovery is parse("F b")
    assert spec.atoms == ("a", "c", "b")


@pytest.mark.parametrize(
    "formula", ["G !p", "a U b", "G(X a -> b)", "G[0,5](a -> b)", "F(a -> b)", "G(last -> a)"]
)
def test_formula_without_an_antecedent_needs_a_trigger(formula):
    assert default_trigger(parse(formula)) is None
    message = refusal(formula=formula)
    assert "trigger: it is missing" in message and "trigger: true" in message
    assert Specification("rule", formula, trigger="true").trigger is parse("true")


@pytest.mark.parametrize("trigger", ["X a", "F a", "last", "a U b", "a & WX b"])
def test_trigger_must_not_look_ahead(trigger):
    assert "looks ahead" in refusal(trigger=trigger)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"id": "no spaces"}, "'no spaces' must be a text without spaces"),
        ({"id": "x[1]"}, "brackets"),
        ({"id": ""}, "must be a text"),
        ({"id": False}, "YAML reads yes, no"),
        ({"formula": "G(a -> "}, "'rule', formula: "),
        ({"formula": 5}, "'rule', formula: 5 must be the text of a formula"),
        ({"recovery": "F (b"}, "'rule', recovery: "),
        ({"category": ""}, "'rule', category: '' must be a text"),
        ({"weight": -1}, "'rule', weight: -1 must be a finite number"),
        ({"weight": True}, "'rule', weight: True"),
        ({"weight": float("nan")}, "'rule', weight: nan"),
        ({"limit": 0.1}, "'rule', limit: 0.1 must be a Limit"),
        ({"semantics": "infinite"}, "must be one of finite, bad_prefix; did you mean 'finite'"),
        ({"initial": "yes"}, "'rule', initial: 'yes' must be true or false"),
        ({"forall": ["o"]}, "must map variables to properties"),
        ({"forall": {"o": "graspable"}}, "'o' is declared but no atom takes it"),
        ({"forall": {"o p": "graspable"}}, "no variable name"),
        ({"forall": {"o": ""}}, "no property"),
        ({"formula": "G(p(o) -> F q(x))", "forall": {"o": "k"}}, "'x' looks like a variable"),
        ({"says": "about {o}"}, "'{o}' is no variable of forall"),
        ({"says": "about {"}, "lone brace"),
        ({"says": 3}, "must be a text"),
    ],
)
def test_each_wrong_value_gives_one_clear_error(values, words):
    message = refusal(**values)
    assert words in message


def test_without_forall_a_one_letter_argument_is_an_object():
    assert Specification("blocks", "G(on(a, b) -> F clear(a))").atoms == ("on(a,b)", "clear(a)")


def test_specification_is_frozen_hashable_and_can_be_replaced_and_pickled():
    with pytest.raises(FrozenInstanceError):
        GRASP.weight = 2.0
    heavier = replace(GRASP, weight=2.0)
    assert heavier.weight == 2.0 and heavier.formula is GRASP.formula
    assert GRASP == replace(heavier, weight=1.0) and hash(GRASP) == hash(replace(GRASP))
    assert heavier != GRASP
    assert pickle.loads(pickle.dumps(GRASP)) == GRASP == copy.deepcopy(GRASP)


def test_instance_binds_arguments_and_words():
    instance = GRASP.bind({"o": "mug_1", "ignored": "x"})
    assert instance.id == "grasp[o=mug_1]"
    assert instance.atoms == {
        "grasped(o)": "grasped(mug_1)",
        "synced(o)": "synced(mug_1)",
        "touching(o,gripper)": "touching(mug_1,gripper)",
    }
    assert instance.says == "Once grasped, mug_1 must stay in the gripper."
    assert instance.formula.atoms == tuple(instance.atoms.values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("per_episode", 1), "limit kind 'per_episode' is not known; did you mean 'episode'"),
        (("episode", -0.1), "limit value -0.1"),
        (("episode", "0.1"), "limit value '0.1'"),
        (("episode", float("inf")), "limit value inf"),
        (("probability", 1.5), "no probability"),
        (("episode", 1, 3), "a cap is for per_trigger limits"),
        (("per_trigger", 0.1, 0), "limit cap 0"),
        (("per_trigger", 0.1, 2.5), "limit cap 2.5"),
    ],
)
def test_limits_out_of_range(arguments, words):
    with pytest.raises(SpecificationError) as caught:
        Limit(*arguments)
    assert words in str(caught.value)


def test_limits_of_the_three_kinds():
    assert Limit("episode", 2).value == 2.0
    assert Limit("probability", 0.0) == Limit("probability", 0)
    assert Limit("per_trigger", 0.02, cap=5).cap == 5


RULES = SpecSet(
    [
        GRASP,
        Specification("calm", "G !alarm", trigger="alarm", limit=Limit("episode", 1)),
        Specification(
            "place", "G(in(o, f) -> F let_go(o))", forall={"o": "graspable", "f": "fixture"}
        ),
    ]
)


def test_set_is_a_sequence_by_position_id_and_slice():
    assert len(RULES) == 3 and RULES.ids == ("grasp", "calm", "place")
    assert RULES["calm"] is RULES[1] is list(RULES)[1]
    assert RULES[:2].ids == ("grasp", "calm")
    assert "calm" in RULES and GRASP in RULES and "quiet" not in RULES
    assert RULES.select(["place", "grasp"]).ids == ("place", "grasp")
    with pytest.raises(SpecificationError, match="'clam'; did you mean 'calm'"):
        RULES["clam"]
    with pytest.raises(SpecificationError, match="the ids are grasp, calm, place"):
        RULES.select(["nothing"])


def test_constraints_are_the_specifications_with_a_limit():
    assert [s.id for s in RULES.constraints] == ["calm"]
    changed = RULES.with_limits({"calm": None, "grasp": Limit("probability", 0.1)})
    assert [s.id for s in changed.constraints] == ["grasp"]
    assert [s.id for s in RULES.constraints] == ["calm"]
    with pytest.raises(SpecificationError, match="no specification has the id"):
        RULES.with_limits({"x": None})


def test_instances_propositions_and_index_have_a_fixed_order():
    bound = RULES.bind({"graspable": ["mug", "bowl"], "fixture": ["sink"]})
    assert [i.id for i in bound.instances] == [
        "grasp[o=mug]",
        "grasp[o=bowl]",
        "calm",
        "place[o=mug,f=sink]",
        "place[o=bowl,f=sink]",
    ]
    assert bound.instance_index.tolist() == [0, 0, 1, 2, 2]
    assert bound.propositions == (
        "grasped(mug)",
        "synced(mug)",
        "touching(mug,gripper)",
        "grasped(bowl)",
        "synced(bowl)",
        "touching(bowl,gripper)",
        "alarm",
        "in(mug,sink)",
        "let_go(mug)",
        "in(bowl,sink)",
        "let_go(bowl)",
    )
    assert RULES.properties == ("graspable", "fixture")


def test_two_variables_stand_for_distinct_objects():
    spec = Specification("apart", "G !hit(x, y)", trigger="hit(x, y)", forall={"x": "k", "y": "k"})
    bound = SpecSet([spec], {"k": ["a", "b", "c"]})
    assert len(bound.instances) == 6
    assert "hit(a,a)" not in bound.propositions and "hit(b,a)" in bound.propositions


def test_property_without_objects_has_no_instance_and_unlisted_is_an_error():
    assert len(RULES.bind({"graspable": [], "fixture": ["sink"]}).instances) == 1
    with pytest.raises(SpecificationError, match="'graspable' of variable 'o'.*'graspible'"):
        RULES.bind({"graspible": ["mug"], "fixture": []})
    with pytest.raises(SpecificationError, match="bind them"):
        RULES.instances  # noqa: B018 - the property raises


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        (["mug"], "must map properties"),
        ({"graspable": "mug"}, "must be a list of names"),
        ({"graspable": ["mug", "mug"]}, "listed twice"),
        ({"graspable": ["the mug"]}, "no object name"),
        ({"graspable": ["f(x)"]}, "no object name"),
        ({"graspable": [3]}, "no object name"),
    ],
)
def test_wrong_objects(objects, words):
    with pytest.raises(SpecificationError) as caught:
        SpecSet([GRASP], objects)
    assert words in str(caught.value)


def test_duplicate_ids_and_foreign_members_are_refused():
    with pytest.raises(SpecificationError, match="two specifications have the id 'grasp'"):
        SpecSet([GRASP, GRASP])
    with pytest.raises(SpecificationError, match="holds Specification objects"):
        SpecSet(["grasp"])


def test_set_cannot_be_changed_in_place():
    with pytest.raises(AttributeError, match="cannot be changed"):
        RULES.objects = {"graspable": ["mug"]}


def test_sets_are_equal_by_value_and_pickle():
    bound = RULES.bind({"graspable": ["mug"], "fixture": []})
    assert bound != RULES
    assert pickle.loads(pickle.dumps(bound)) == bound
    assert hash(bound) == hash(RULES.bind({"graspable": ["mug"], "fixture": []}))
