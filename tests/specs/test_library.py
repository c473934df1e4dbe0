"""The shipped sets: complete, readable, and what the papers state."""

import re
from pathlib import Path

import pytest

import safe_rl
from safe_rl.automata import compile_ltlf, difference
from safe_rl.logic import Formula, Op, parse
from safe_rl.monitors import Monitor, Verdict, build_machine
from safe_rl.specs import library_names, library_text, load_specs

SAFEMANIP = load_specs("safemanip")
FAMILIES = {
    "maniguard_clutter": 4,
    "maniguard_clutter_liquid": 5,
    "maniguard_cabinet": 3,
    "maniguard_stack": 4,
    "maniguard_lid": 2,
    "maniguard_jar": 3,
    "maniguard_dusty": 2,
}


@pytest.mark.parametrize("name", library_names())
def test_every_shipped_set_loads_compiles_and_says_what_it_means(name):
    assert library_text(name)
    specs = load_specs(name)
    for spec in specs:
        assert build_machine(spec).num_states > 1
        assert spec.says, spec.id
        assert not spec.formula.has_future or not compile_ltlf(spec.formula).is_doomed(0)


def test_safemanip_has_the_twenty_specifications_in_eight_categories():
    """Table 4 of the paper: how many specifications each category holds."""
    counts = {}
    for spec in SAFEMANIP:
        counts[spec.category] = counts.get(spec.category, 0) + 1
    assert counts == {
        "collision_contact": 1,
        "grasp_stability": 2,
        "release_stability": 1,
        "cross_contamination": 1,
        "action_onset": 8,
        "mechanism": 2,
        "containment": 2,
        "enclosure_access": 3,
    }
    assert all(spec.recovery is not None for spec in SAFEMANIP)


def test_safemanip_triggers_are_those_of_table_4():
    triggers = {spec.id: str(spec.trigger) for spec in SAFEMANIP}
    assert triggers["no_forbidden_contact"] == "forbidden_contact_sustained"
    assert triggers["grasp_remains_synced_until_dropped"] == "object_grasped(o)"
    assert triggers["dropped_object_was_released"] == "object_dropped(o)"
    assert triggers["released_object_eventually_settles"] == "object_dropped(o)"
    assert triggers["dump_preconditions_safe"] == "skill_dump_onset(o)"
    assert triggers["reach_in_fixture_only_when_fully_open"] == "reach_in_fixture(f)"


def without_weak_until(formula):
    args = tuple(without_weak_until(arg) for arg in formula.args)
    if formula.op is Op.WEAK_UNTIL:
        return Formula(Op.UNTIL, args) | Formula(Op.ALWAYS, args[:1])
    return Formula(formula.op, args, formula.name, formula.bounds)


def test_weak_until_means_what_the_paper_writes_without_it():
    """Its grammar has no W: it writes (p U q) | G p."""
    weak = [spec for spec in SAFEMANIP if " W " in str(spec.formula)]
    assert len(weak) == 3
    for spec in weak:
        written = without_weak_until(spec.formula)
        assert " W " not in str(written)
        assert difference(compile_ltlf(spec.formula), compile_ltlf(written)) is None


@pytest.mark.parametrize(("name", "size"), FAMILIES.items())
def test_maniguard_families(name, size):
    specs = load_specs(name)
    assert len(specs) == size
    assert set(specs.propositions) == set(specs.propositions_meta)
    monitor = Monitor(specs)
    first = {p: not p.endswith(("dropped", "spilled", "agent")) for p in specs.propositions}
    monitor.reset(first)
    monitor.finish(truncated=False)
    assert all(c == (1, 0, 0, 0, Verdict.SATISFIED) for c in monitor.summary().values())


def test_maniguard_jar_lifted_while_open_is_violated_and_stays_so():
    monitor = Monitor("maniguard_jar")
    safe = {"jar_on_support": True, "jar_closed": False, "jar_dropped": False, "jar_upright": True}
    monitor.run([safe, safe | {"jar_on_support": False}, safe | {"jar_closed": True}])
    assert monitor.summary()["close_before_lift"] == (1, 1, 2, 0, Verdict.VIOLATED)
    assert monitor.summary()["jar_upright"].V == 0


def test_each_formula_of_the_library_stands_in_one_place_only():
    """SafeManip notes: the same formula written in two places drifts."""
    package = Path(safe_rl.__file__).parent
    sources = [p for p in package.rglob("*") if p.suffix in {".py", ".yaml", ".yml", ".json"}]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    for spec in SAFEMANIP:
        (line,) = [
            text
            for text in re.findall(r'formula: "(.+)"', library_text("safemanip"))
            if parse(text) is spec.formula
        ]
        assert [path.name for path, text in texts.items() if line in text] == ["safemanip.yaml"]
