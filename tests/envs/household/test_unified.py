"""The simulator does what unified-planning's simulator does with the same actions."""

from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.envs.household import make_task, unified
from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.unified import fluent_name, make_problem
from safe_rl.errors import MissingDependencyError
from safe_rl.specs.binding import arguments
from tests.envs.household.scenes import SCENES, plan_of, possible_actions, shared, walk

pytest.importorskip("unified_planning")

from unified_planning.exceptions import UPInvalidActionError
from unified_planning.io import PDDLWriter
from unified_planning.shortcuts import SequentialSimulator


class Theirs:
    """A scene in unified-planning, with every outcome as an action."""

    def __init__(self, name):
        self.ours = shared(name)
        start = self.ours.true_facts(self.ours.start)
        self.problem = make_problem(name, self.ours.scene, start, [], all_outcomes=True)
        self.simulator = SequentialSimulator(self.problem)

    def state(self, state):
        """Our state as one of theirs."""
        values = dict.fromkeys(self.ours.facts, False)
        values.update(dict.fromkeys(self.ours.true_facts(state), True))
        terms = {self.term(fact): self.constant(value) for fact, value in values.items()}
        return self.simulator.get_initial_state().make_child(terms)

    def term(self, fact):
        fluent = self.problem.fluent(fluent_name(fact.partition("(")[0]))
        return fluent(*(self.problem.object(name) for name in arguments(fact)))

    def constant(self, value):
        manager = self.problem.environment.expression_manager
        return manager.TRUE() if value else manager.FALSE()

    def apply(self, state, action, outcome):
        """The facts after an action, or None where it cannot be done."""
        suffix = "" if outcome == "done" else f"__{outcome.replace(' ', '_')}"
        there = self.problem.action(action.name + suffix)
        things = [self.problem.object(name) for name in action.args]
        try:
            found = self.simulator.apply(self.state(state), there, things)
        except UPInvalidActionError:  # the objects alone rule it out
            return None
        if found is None:
            return None
        return {f for f in self.ours.facts if found.get_value(self.term(f)).bool_constant_value()}


theirs = cache(Theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_simulators_agree(name, seed):
    """On what cannot be done, and on the facts after each outcome of what can."""
    other, rng = theirs(name), Random(seed)
    ours = other.ours
    for state, action in walk(ours, possible_actions(name), rng, steps=6):
        for outcome in ours.outcomes(state, action):
            expected = set(ours.true_facts(outcome.state))
            assert other.apply(state, action, outcome.name) == expected, (action, outcome.name)
        refused = rng.choice(possible_actions(name))
        if ours.why_not(state, refused) is not None:
            assert other.apply(state, refused, "done") is None, refused


@pytest.mark.parametrize("name", SCENES)
def test_outcomes_that_cannot_happen_cannot_there_either(name):
    other = theirs(name)
    ours = other.ours
    for _, action in walk(ours, possible_actions(name), Random(1), steps=4):
        if ours.why_not(ours.start, action) is None:
            happen = {outcome.name for outcome in ours.outcomes(ours.start, action)}
            for branch in ACTIONS[action.name].branches:
                applied = other.apply(ours.start, action, branch.name)
                assert (applied is not None) == (branch.name in happen)


def test_what_slips_and_what_is_stacked_falls_in_both():
    other = theirs("kitchenette")
    ours, state = other.ours, other.ours.start
    plan = plan_of("pick(plate) place(plate,sink) turn_on(faucet) wash(plate) pick(plate)")
    for action in plan[:-1]:
        state, _ = ours.move(state, action)
    outcomes = ours.outcomes(state, plan[-1])
    assert [outcome.name for outcome in outcomes] == ["done", "slips"]
    for outcome in outcomes:
        expected = set(ours.true_facts(outcome.state))
        assert other.apply(state, plan[-1], outcome.name) == expected
    state, _ = ours.move(ours.start, plan_of("pick(bowl)")[0])
    assert other.apply(ours.start, plan_of("pick(bowl)")[0], "done") == set(ours.true_facts(state))


def test_a_task_is_a_problem_whose_goal_its_reference_reaches():
    task = make_task("train", 1, "maniguard_jar")
    problem = task.problem()
    simulator_ = SequentialSimulator(problem)
    state = simulator_.get_initial_state()
    assert not simulator_.is_goal(state)
    for action in task.reference:
        state = simulator_.apply(
            state, problem.action(action.name), [problem.object(name) for name in action.args]
        )
    assert simulator_.is_goal(state)


def test_a_task_can_be_written_as_pddl():
    problem = make_task("train", 1, "maniguard_stack").problem()
    domain = PDDLWriter(problem).get_domain()
    assert "(:action pick" in domain
    assert "(when" in domain
    assert "(:goal" in PDDLWriter(problem).get_problem()


def test_its_absence_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(unified, "up", None)
    task = make_task("train", 1, "maniguard_jar")
    assert task.run(plan_of("close(jar)")).failure is None  # nothing else needs it
    with pytest.raises(MissingDependencyError, match=r"safe-rl-ltlf\[planning\]"):
        task.problem()
