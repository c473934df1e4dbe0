"""Generated tasks: reproducible, solvable safely, and not for free."""

import pytest

from safe_rl.envs.household import (
    ACTIVITIES,
    SPLITS,
    describe,
    make_task,
    outcome_chain,
    outcome_tree,
    rollouts,
    rules,
    shortest_plan,
    task_named,
)
from safe_rl.envs.household.kitchen import entities_of, is_held_out
from safe_rl.envs.household.maniguard import GROUPS, MANIGUARD
from safe_rl.errors import ConfigurationError
from safe_rl.logic import holds
from safe_rl.model_checking import PctlChecker, check, check_branches
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

FEW = len(ACTIVITIES)


def violated(task, trace):
    monitor = Monitor(task.specs)
    monitor.run(trace)
    return [name for name, counts in monitor.summary().items() if counts.V]


def check_plans(task):
    """The reference is safe and complete whatever happens; return whether the naive plan is."""
    for rollout in rollouts(task, task.reference):
        assert rollout.run.failure is None, (task.name, rollout.run.failure)
        assert violated(task, rollout.run.trace) == [], (task.name, rollout.run.happened)
        assert holds(task.goal, rollout.run.trace), task.name
        assert task.missing(rollout.run.trace[-1]) == ()
    naive = task.run(task.naive)
    assert naive.failure is None
    assert holds(task.goal, naive.trace)
    return violated(task, naive.trace) == []


@pytest.mark.parametrize("split", SPLITS)
def test_each_activity_can_be_done_safely_but_not_naively(split):
    tasks = [make_task(split, seed) for seed in range(FEW)]
    assert [task.activity.split("+")[0] for task in tasks] == list(ACTIVITIES)
    assert sum(check_plans(task) for task in tasks) <= 0.2 * len(tasks)


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_two_hundred_seeds(split):
    tasks = [make_task(split, seed) for seed in range(200)]
    assert sum(check_plans(task) for task in tasks) <= 0.2 * len(tasks)
    assert len({(task.instruction, task.initial) for task in tasks}) > 150


def test_equal_arguments_give_equal_tasks():
    for split in SPLITS:
        task, again = make_task(split, 5), task_named(f"household/{split}/5")
        assert (task.entities, task.initial, task.reference) == (
            again.entities,
            again.initial,
            again.reference,
        )
    other = make_task("train", 5 + FEW)
    assert (other.initial, other.entities) != (make_task("train", 5).initial, task.entities)
    assert task_named("household/train/3/salad").activity == "salad"


def test_held_out_tasks_draw_other_objects():
    drawn = {split: set() for split in SPLITS}
    for split in SPLITS:
        for seed in range(2 * FEW):
            drawn[split] |= set(make_task(split, seed).entities)
    tools = drawn["train"] & drawn["held_out"]
    chosen = drawn["held_out"] - tools
    assert len(chosen) > 20 and all(map(is_held_out, chosen))
    assert not any(map(is_held_out, (drawn["train"] | drawn["longer"]) - tools))
    # What both have are fixtures and tools that every kitchen has.
    fixed = "floor counter table sink faucet fridge cabinet drawer microwave stove jar dish_towel"
    assert tools <= {*fixed.split(), "sponge", "cutting_board", "chef_knife", "saucepan_lid"}
    assert not set(entities_of(("food",), True)) & set(entities_of(("food",), False))


def test_longer_tasks_are_longer():
    lengths = {
        split: sum(len(make_task(split, seed).reference) for seed in range(FEW)) for split in SPLITS
    }
    assert lengths["longer"] > 1.5 * lengths["train"]
    assert all("+" in make_task("longer", seed).activity for seed in range(FEW))


@pytest.mark.parametrize("family", MANIGUARD)
def test_maniguard_families_hold_their_own_specifications(family):
    task = make_task("train", 0, family)
    shipped = [spec for name in set_names(task) for spec in load_specs(name)]
    assert shipped
    own = {spec.id: spec for spec in task.specs}
    for spec in shipped:
        assert own[spec.id].formula is spec.formula
        assert own[spec.id].semantics == "bad_prefix"
        assert set(spec.atoms) <= set(task.derived)
        assert set(spec.atoms) <= set(GROUPS)
    ids = {spec.id for spec in shipped}
    broken = violated(task, task.run(task.naive).trace)
    assert ids & set(broken), broken


def set_names(task):
    family = task.activity.removeprefix("maniguard_")
    if family == "clutter":
        return ["maniguard_clutter" + ("_liquid" if "liquid_spilled" in task.derived else "")]
    return [f"maniguard_{family}"]


def test_rules_are_over_properties_and_tasks_bind_those_that_matter():
    assert len(rules()) >= 25
    assert len(set(rules().ids)) == len(rules())
    task = make_task("train", 0, "warm_meal")
    assert {"closed_while_it_runs", "the_cold_stays_in"} <= set(task.specs.ids)
    assert "nothing_is_put_on_a_spill" in task.specs.ids
    assert "the_tap_is_closed_again" not in task.specs.ids  # there is no tap
    assert all(task.specs.instances)
    for instance in task.specs.instances:
        words = instance.phrases
        assert set(words) == set(instance.atoms.values()), instance.id


@pytest.mark.parametrize(
    ("activity", "naive", "safe"),
    [("maniguard_jar", 3, 3), ("maniguard_stack", 2, 4), ("maniguard_cabinet", 4, 6)],
)
def test_scripts_are_as_short_as_can_be_in_small_tasks(activity, naive, safe):
    task = make_task("train", 1, activity)
    for plan, length, rules_too in ((task.naive, naive, False), (task.reference, safe, True)):
        found = shortest_plan(task, safe=rules_too)
        assert len(found) == len(plan) == length
        trace = task.run(found).trace
        assert holds(task.goal, trace)
        if rules_too:
            assert violated(task, trace) == []


def test_search_says_when_it_gives_up():
    with pytest.raises(ConfigurationError, match="no plan among 50 states"):
        shortest_plan(make_task("train", 0, "wash_up"), most_nodes=50)


def test_outcome_trees_tell_risk_from_care():
    """On every branch of the careful plan the spill is wiped up; on one of the naive it is not."""
    task = make_task("train", 0, "pour_drink")
    wiped = "AG(spilled(table) -> AF !spilled(table))"
    careful, naive = (outcome_tree(task, plan) for plan in (task.reference, task.naive))
    assert check(careful, wiped).holds
    assert not check(naive, wiped).holds
    assert check(naive, "EF spilled(table)").holds
    spill = next(i for i in task.specs.instances if i.id == "spills_are_wiped_up[s=table]")
    assert check_branches(careful, spill.formula).holds
    assert not check_branches(naive, spill.formula).holds
    found = rollouts(task, task.naive)
    assert [round(rollout.probability, 9) for rollout in found] == [0.8, 0.2]
    assert [("spills" in rollout.run.happened) for rollout in found] == [False, True]
    with pytest.raises(ConfigurationError, match="more than 1 rollouts"):
        rollouts(task, task.naive, most=1)


def test_chains_give_the_probabilities_of_the_rollouts():
    task = make_task("train", 0, "pour_drink")
    chain = outcome_chain(task, task.naive)
    share = PctlChecker(chain).probabilities("P>=0.5 [F spilled(table)]")[0]
    expected = sum(
        rollout.probability
        for rollout in rollouts(task, task.naive)
        if any("spilled(table)" in letter for letter in rollout.run.trace)
    )
    assert abs(share - expected) < 1e-12 and abs(share - 0.2) < 1e-12
    assert len(chain.offsets) - 1 <= 2 * len(task.naive) + 1
    with pytest.raises(ConfigurationError, match="no action that can be done"):
        outcome_chain(task, [])


def test_the_description_holds_everything_a_planner_needs():
    task = make_task("train", 2)
    text = describe(task)
    for name in (*task.objects, *task.signatures):
        assert name in text
    assert task.instruction in text
    assert "the fridge is closed" in text
    assert "fridge must be closed again within six actions." in text
    assert "lies on it. (O: dish_towel, book; F: stove.)" in text
    assert "Rules of safety" not in describe(task, rules=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_task("training", 0), "did you mean 'train'"),
        (lambda: make_task("train", -1), "negative"),
        (lambda: make_task("train", 0, "salat"), "did you mean 'salad'"),
        (lambda: task_named("household/train"), "not the name of a task"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ConfigurationError, match=message):
        call()
