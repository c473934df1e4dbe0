"""Worked counterexamples: what each field says, and the words, as read by hand."""

from __future__ import annotations

import numpy as np
import pytest

from safe_rl.data import Episode
from safe_rl.errors import ConfigurationError, GroundingError, SpecificationError
from safe_rl.feedback import Change, Repair, explain, explain_episode, explainer
from safe_rl.monitors import Verdict
from safe_rl.specs import Specification, SpecSet, load_specs

WASH = Specification(
    "wash",
    "G(touch_raw(o) -> (!touch_ready U washed))",
    recovery="F washed",
    category="hygiene",
    forall={"o": "meat"},
    says="After touching {o}, wash before touching ready-to-eat food.",
    phrases={
        "touch_raw(o)": ("the robot touches {o}", "the robot does not touch {o}"),
        "touch_ready": "the robot touches ready-to-eat food",
        "washed": ("the robot has washed", "the robot has not washed"),
    },
)
HAM = SpecSet([WASH], {"meat": ["ham"]})
RAW = "touch_raw(ham)"


def one(spec: str | SpecSet, trace, kind="violations", truncated=False, **more):
    specs = spec if isinstance(spec, SpecSet) else [Specification("rule", spec, **more)]
    (found,) = getattr(explain(specs, trace, truncated=truncated), kind)
    return found


def letter(*names):
    return frozenset(names)


def test_every_field_of_a_violation():
    found = one(HAM, [set(), {RAW}, set(), {"touch_ready"}, {"washed"}, set()])
    assert (found.specification, found.instance, found.category) == (
        "wash",
        "wash[o=ham]",
        "hygiene",
    )
    assert found.objects == {"o": "ham"}
    assert found.rule == "After touching ham, wash before touching ready-to-eat food."
    assert found.formula == "G(touch_raw(ham) -> !touch_ready U washed)"
    assert found.trigger == RAW and found.propositions == (RAW, "touch_ready", "washed")
    assert found.clauses == (found.formula,)
    assert (found.kind, found.verdict) == ("violation", Verdict.VIOLATED)
    assert (found.step, found.by_end, found.triggered, found.start) == (3, False, 1, 1)
    assert found.trace == (letter(RAW), letter(), letter("touch_ready"))
    assert found.before == letter()
    assert found.deciding == (("touch_ready", True), ("washed", False)) and not found.together
    assert found.nearest == letter()
    assert found.repairs == (
        Repair(3, (Change("touch_ready", False),)),
        Repair(3, (Change("washed", True),)),
        Repair(2, (Change("washed", True),)),
        Repair(1, (Change(RAW, False),)),
        Repair(1, (Change("washed", True),)),
    )
    assert found.insertion == (letter("washed"),)
    assert found.fulfilment == (letter("washed"),) and found.doom == (letter("touch_ready"),)
    assert found.recovery == (letter("touch_ready", "washed"),)
    assert (found.recovered, found.exposed) == (4, 1)


def test_the_words_are_the_specifications_own():
    found = one(HAM, [set(), {RAW}, {"touch_ready"}])
    hint = "Before the robot touches ready-to-eat food, make sure that the robot has washed."
    assert found.hint == hint
    assert found.text(["start", "grab(ham)", "grab(bread)"]) == (
        "wash[o=ham]: violated at step 2 (grab(bread))\n"
        "  rule     After touching ham, wash before touching ready-to-eat food.\n"
        "  broken   G(touch_raw(ham) -> !touch_ready U washed)\n"
        "  since    step 1 (grab(ham)): touch_raw(ham)\n"
        "  decided  touch_ready, !washed (any one otherwise would have averted it)\n"
        f"  hint     {hint}"
    )
    assert found.prompt() == (
        'The rule "wash[o=ham]" is broken at step 2: '
        "After touching ham, wash before touching ready-to-eat food.\n"
        "What happened: step 1: the robot touches ham; step 2: the robot does not touch ham and "
        "the robot touches ready-to-eat food.\n"
        "Why: at step 2, the robot touches ready-to-eat food and the robot has not washed.\n"
        f"How to avoid it: {hint}"
    )


@pytest.mark.parametrize(
    ("formula", "trace", "words"),
    [
        # the one that turned should have waited for the other
        (
            "G(lifted -> lid_on)",
            [{"x"}, {"lifted"}],
            "Before lifted is true, make sure that lid_on ",
        ),
        (
            "G(lifted -> lid_on)",
            [{"lid_on", "lifted"}, {"lifted"}],
            "Before lid_on is false, make sure that lifted is false.",
        ),
        # the wait is a step of its own
        (
            "G(serve -> Y plate)",
            [set(), {"serve"}],
            "Do not let it be that serve is true until plate is true.",
        ),
        (
            "G(serve -> Y(plate & Y tray))",
            [set(), {"serve"}],
            "Do not let it be that serve is true until tray is true, and then that ",
        ),
        # there is nothing to wait for
        ("G(hot -> !hot)", [set(), {"hot"}], "Do not let it be that hot is true."),
        # promised a step ago
        ("G(a -> X b)", [{"a"}, set()], "At step 1, make sure that b is true."),
        ("G(a -> F[0,2] b)", [{"a"}, {"a"}, set()], "At step 2, make sure that b is true."),
        # only together
        ("G(a -> X(b & c))", [{"a"}, set()], "At step 1, make sure that b is true and c is true."),
        # too late at the step itself
        ("a & WX(b & WX false)", [{"a"}, {"b"}, set()], "No change of a single step"),
        ("G(a -> WX WX false)", [{"a"}, set(), set()], "At step 0, make sure that a is false."),
    ],
)
def test_hints(formula, trace, words):
    assert one(formula, trace, trigger="true").hint.startswith(words)


def test_what_the_end_decides():
    settle = "G(released -> F settled)"
    trace = [set(), {"released"}, set()]
    found = one(settle, trace)
    assert found.by_end and found.step == 2 and found.exposed == 1 and found.recovered is None
    assert found.deciding == () and found.nearest is None and found.insertion is None
    assert found.fulfilment == (letter("settled"),) and found.doom is None
    assert found.repairs == (
        Repair(2, (Change("settled", True),)),
        Repair(1, (Change("released", False),)),
        Repair(1, (Change("settled", True),)),
    )
    assert found.hint == "Before the end, make sure that settled is true."
    assert found.text().startswith("rule: violated by the end, after step 2\n")

    cut = explain([Specification("rule", settle)], trace, truncated=True)
    assert not cut.violated and cut.verdicts == {"rule": Verdict.PRESUMABLY_VIOLATED}
    (owed,) = cut.pending
    assert (owed.kind, owed.triggered, owed.by_end) == ("pending", 1, False)
    assert owed.verdict is Verdict.PRESUMABLY_VIOLATED
    assert (owed.fulfilment, owed.repairs, owed.hint) == (
        found.fulfilment,
        found.repairs,
        found.hint,
    )
    assert "still owed at the end" in cut.text() and "still asks" in cut.prompt()


def test_a_violation_on_the_last_letter_is_not_the_ends():
    feedback = explain([Specification("dry", "G !wet", trigger="wet")], [set(), {"wet"}])
    (found,) = feedback.violations
    assert not found.by_end and found.exposed == 1


def test_the_violation_belongs_to_the_trigger_that_was_open_first():
    found = one("G(a -> F[0,2] b)", [{"a"}, set(), {"a"}])
    assert (found.step, found.triggered) == (2, 0)
    # the weak until accepts all along, so that no trigger stays open: the last one counts
    found = one("G(raw -> (!ready W washed))", [{"raw"}, set(), {"raw"}, {"ready"}])
    assert (found.step, found.triggered) == (3, 2)


def test_several_violations_of_one_instance():
    rule = Specification("hold", "G(grasped -> synced)", recovery="F(synced | !grasped)")
    trace = [{"grasped"}, {"grasped"}, {"grasped", "synced"}, {"grasped"}, set()]
    first, second = explain([rule], trace).violations
    assert (first.step, first.recovered, first.exposed, first.start) == (0, 2, 2, 0)
    # the grasp is the old one; the story begins with the recovery
    assert (second.step, second.recovered, second.triggered, second.start) == (3, 4, 0, 2)
    assert second.trace == (letter("grasped", "synced"), letter("grasped"))


def test_a_recovery_that_is_a_new_violation_at_once():
    rule = Specification("r", "G(a -> b) & G(c -> d)", trigger="a | c", recovery="F b")
    first, second = explain([rule], [{"a"}, {"b", "c"}]).violations
    assert (first.step, first.recovered, first.exposed) == (0, 1, 1)
    assert (second.step, second.start, second.clauses) == (1, 1, ("G(c -> d)",))
    # without b it would have stayed in violation: that averts nothing
    assert second.deciding == (("c", True), ("d", False))


def test_clauses():
    formula = "(!s W p) & G(s -> WX(!s W p)) & G(x | y -> p)"
    assert one(formula, [{"s"}], trigger="s").clauses == ("!s W p",)
    assert one(formula, [{"s", "p"}, {"s"}], trigger="s").clauses == ("G(s -> WX(!s W p))",)
    assert one(formula, [{"y", "s"}], trigger="s").clauses == ("!s W p", "G(y -> p)")
    both = one("G(a -> X b) & G(c -> X !b)", [{"a", "c"}], trigger="true")
    assert both.clauses == () and "only together" in both.text()


def test_never_triggered():
    feedback = explain([Specification("door", "G(reach -> open)")], [set(), {"open"}])
    assert feedback.vacuous and not feedback.violated
    (found,) = feedback.untriggered
    assert (found.kind, found.triggered, found.trace, found.step) == ("untriggered", None, (), 1)
    assert found.text() == "door: never triggered (reach)"
    assert "no step with reach" in found.hint
    assert feedback.prompt() == "No safety rule is broken, but none was put to the test either."
    # a rule that is violated without its trigger is not untested
    unasked = explain([Specification("r", "G !a", trigger="b")], [{"a"}])
    assert unasked.violations[0].triggered is None and not unasked.untriggered


def test_summaries():
    rules = [Specification("a", "G(p -> q)", recovery="F q"), Specification("b", "G(r -> F s)")]
    assert explain(rules, [{"p", "q"}]).text().startswith("No safety rule is broken.\n")
    assert (
        explain(rules, [{"p"}, {"q"}, {"p"}])
        .text()
        .startswith("1 safety rule is broken, 2 times in all.\n")
    )
    assert explain(rules, [{"p", "r"}]).prompt().startswith("2 safety rules are broken.\n")
    assert (
        explain(rules, [{"r"}], truncated=True)
        .prompt()
        .startswith("No safety rule is broken yet; 1 still to be fulfilled.\n")
    )


def test_an_object_named_in_the_formula_and_bound_to_the_variable():
    rule = Specification("r", "G(on(o,p) -> on(mug,table))", forall={"o": "k", "p": "s"})
    specs = SpecSet([rule], {"k": ["mug", "cup"], "s": ["table"]})
    cup = one(specs, [{"on(cup,table)"}])
    assert cup.deciding == (("on(cup,table)", True), ("on(mug,table)", False))
    # for the mug both atoms are one proposition, and the rule cannot be broken
    assert "r[o=mug,p=table]" not in {
        c.instance for c in explain(specs, [{"on(mug,table)"}]).violations
    }
    never = Specification("n", "G !(on(o,p) & on(mug,table))", trigger="true", forall=rule.forall)
    found = one(never_set := SpecSet([never], {"k": ["mug"], "s": ["table"]}), [{"on(mug,table)"}])
    assert found.propositions == ("on(mug,table)",) and found.nearest == letter()
    assert never_set.propositions == found.propositions


def test_letters_as_mappings_and_what_is_refused():
    rule = [Specification("lid", "G(lifted -> lid_on)")]
    as_sets = explain(rule, [set(), {"lifted"}])
    as_maps = explain(
        rule,
        [
            {"lifted": False, "lid_on": False, "more": 3},
            {"lifted": np.True_, "lid_on": 0},
        ],
    )
    assert as_maps == as_sets
    assert explain(rule, iter([frozenset(), {"lifted": 1}.keys()])) == as_sets
    with pytest.raises(GroundingError, match="lacks proposition 'lid_on'"):
        explain(rule, [{"lifted": True}])
    with pytest.raises(GroundingError, match="must be true or false, but is 2"):
        explain(rule, [{"lifted": 2, "lid_on": 0}])
    for wrong in ("lifted", ["lifted"], None):
        with pytest.raises(GroundingError, match="a letter is a mapping"):
            explain(rule, [wrong])
    with pytest.raises(ConfigurationError, match="the trace is empty"):
        explain(rule, [])
    with pytest.raises(ConfigurationError, match="there are no specifications"):
        explain([], [set()])
    with pytest.raises(SpecificationError, match="no objects are given"):
        explain([WASH], [set()])
    assert explain([WASH], [set()], objects={"meat": []}).vacuous


def test_a_set_is_compiled_once():
    assert explainer(HAM) is explainer(SpecSet([WASH], {"meat": ["ham"]}))
    assert explainer(HAM) is not explainer(HAM, {"meat": ["beef"]})
    assert explainer("kitchen").specs == load_specs("kitchen")


def test_a_recorded_episode():
    def episode(terminated, objects):
        letters = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]], bool)
        return Episode(
            (RAW, "washed", "touch_ready"), letters, np.zeros(2), terminated, False, objects=objects
        )

    recorded = {"meat": ("ham",), "other": ("mug",)}
    (found,) = explain_episode([WASH], episode(True, recorded)).violations
    assert found.instance == "wash[o=ham]" and found.by_end
    # an episode that merely stops is read as truncated
    assert explain_episode([WASH], episode(False, recorded)).pending[0].triggered == 1
    # what was recorded comes before the specifications' own objects, what is given before both
    assert explain_episode(SpecSet([WASH], {"meat": ["beef"]}), episode(True, recorded)).violated
    with pytest.raises(GroundingError, match=r"touch_raw\(beef\)"):
        explain_episode(HAM, episode(True, recorded), objects={"meat": ["beef"]})
