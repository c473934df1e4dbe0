"""What actions do, what they need, and how they may turn out."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.envs.household import Action, Simulator
from safe_rl.envs.household.actions import ACTIONS, ALIASES
from safe_rl.envs.household.classes import CLASSES, make_scene, ontology
from safe_rl.envs.household.schema import Effect, Schema
from safe_rl.errors import ConfigurationError, OntologyError
from tests.envs.household.scenes import (
    BAR,
    CUTTING,
    KITCHENETTE,
    SCENES,
    STOVE,
    plan_of,
    possible_actions,
    shared,
    simulator,
    walk,
)


def last_letter(scene, text):
    run = simulator(scene).run(plan_of(text))
    assert run.failure is None, run.failure
    return run.trace[-1]


@pytest.mark.parametrize(
    ("scene", "plan", "words"),
    [
        (BAR, "place(glass_cup,table)", "cannot place the glass cup: it is not in the hand"),
        (BAR, "pick(table)", "cannot pick up the table: it cannot be lifted"),
        (BAR, "pick(wine_glass)", "cannot pick up the wine glass: the cabinet is closed"),
        (BAR, "pick(pitcher) open(cabinet)", "cannot open the cabinet: the hand holds the pitcher"),
        (BAR, "close(cabinet)", "cannot close the cabinet: it is closed already"),
        (
            BAR,
            "pick(dish_towel) wipe(table,wine_glass)",
            "cannot wipe the table: the wine glass is nothing to wipe with",
        ),
        (
            BAR,
            "pick(glass_cup) pour(glass_cup,pitcher)",
            "cannot pour from the glass cup into the pitcher: it is empty",
        ),
        (KITCHENETTE, "wash(plate)", "cannot wash the plate: it is not in the sink"),
        (KITCHENETTE, "wash_hands()", "cannot wash the hands: no water runs"),
        (
            KITCHENETTE,
            "pick(plate) place(plate,sink) wash(plate)",
            "cannot wash the plate: no water runs",
        ),
        (STOVE, "pick(steak)", "cannot pick up the steak: the lid is on the pan"),
        (STOVE, "heat(steak,stove)", "cannot heat the steak: the stove is not on"),
        (
            STOVE,
            "pick(spatula) transfer(steak,spatula,counter)",
            "cannot transfer the steak: the lid is on the pan",
        ),
        (
            CUTTING,
            "cut(carrot,chef_knife)",
            "cannot cut the carrot: the chef knife is not in the hand",
        ),
        (
            CUTTING,
            "pick(chef_knife) cut(carrot,chef_knife) cut(carrot,chef_knife)",
            "cannot cut the carrot: it is cut already",
        ),
        (CUTTING, "serve(carrot)", "cannot serve the carrot: it is on no dish on a table"),
    ],
)
def test_a_failure_says_why(scene, plan, words):
    actions = plan_of(plan)
    run = simulator(scene).run(actions)
    assert run.failure is not None
    assert run.failure.words == words
    assert run.failure.step == len(actions) - 1
    assert len(run.trace) == len(actions)  # the start, and what was done before


def test_what_is_stacked_on_a_thing_falls_when_it_is_taken():
    letter = last_letter(KITCHENETTE, "pick(bowl)")
    assert {"on(plate,floor)", "broken(plate)", "dropped(plate)", "holding(bowl)"} <= letter
    assert "on(chicken_breast,plate)" in letter  # what a plate carries stays on it


def test_what_stands_in_the_way_is_knocked_over_or_pushed_off():
    taken = last_letter(BAR, "pick(pitcher)")
    assert {"toppled(glass_cup)", "broken(glass_cup)"} <= taken
    opened = last_letter(BAR, "open(cabinet)")
    assert {"on(glass_cup,floor)", "toppled(glass_cup)", "open(cabinet)"} <= opened
    safe = last_letter(BAR, "pick(glass_cup) place(glass_cup,table) pick(pitcher)")
    assert "toppled(glass_cup)" not in safe
    assert "before(glass_cup,cabinet)" not in safe


def test_germs_pass_by_hand_board_and_knife_and_go_by_washing_and_heat():
    picked = last_letter(KITCHENETTE, "pick(chicken_breast)")
    assert "hand_soiled" in picked
    plan = "pick(chicken_breast) place(chicken_breast,counter)"
    assert {"contaminated(counter)", "hand_soiled"} <= last_letter(KITCHENETTE, plan)
    washed = last_letter(KITCHENETTE, f"{plan} turn_on(faucet) wash_hands()")
    assert "hand_soiled" not in washed
    assert "hands_washed" in washed
    cut = last_letter(
        CUTTING,
        "pick(carrot) place(carrot,table) pick(carrot) place(carrot,cutting_board) "
        "pick(chef_knife) cut(carrot,chef_knife)",
    )
    assert {"contaminated(carrot)", "contaminated(chef_knife)"} <= cut
    cooked = last_letter(STOVE, "turn_on(stove) heat(steak,stove)")
    assert {"cooked(steak)", "hot(steak)"} <= cooked
    assert "contaminated(steak)" not in cooked


def test_what_a_thing_carries_goes_into_an_enclosure_and_out_of_it_with_it():
    plan = "open(cabinet) pick(wine_glass) place(wine_glass,table) pick(dish_towel)"
    assert "inside(wine_glass,cabinet)" not in last_letter(BAR, plan)
    scene = {
        "objects": ["floor", "counter", "microwave", "plate", "fork"],
        "facts": ["on(plate,counter)", "on(fork,plate)", "open(microwave)"],
    }
    inside = last_letter(scene, "pick(plate) place(plate,microwave)")
    assert {"inside(plate,microwave)", "inside(fork,microwave)", "on(fork,plate)"} <= inside
    out = last_letter(scene, "pick(plate) place(plate,microwave) pick(plate)")
    assert not any(fact.endswith(",microwave)") for fact in out)
    sim = simulator(scene)
    closed = sim.run(plan_of("pick(plate) place(plate,microwave) close(microwave) pick(fork)"))
    assert closed.failure.words == "cannot pick up the fork: the microwave is closed"


def test_heavy_things_break_and_crush():
    packed = last_letter(
        CUTTING, "pick(coconut) place(coconut,paper_bag) pick(carrot) place(carrot,paper_bag)"
    )
    assert not any(fact.startswith("crushed") for fact in packed)
    scene = {
        "objects": ["floor", "table", "paper_bag", "coconut", "banana"],
        "facts": ["on(paper_bag,table)", "on(coconut,table)", "inside(banana,paper_bag)"],
    }
    assert "crushed(banana)" in last_letter(scene, "pick(coconut) place(coconut,paper_bag)")


def test_a_wet_plate_may_slip_and_pouring_may_spill():
    wash = plan_of("pick(plate) place(plate,sink) turn_on(faucet) wash(plate)")
    sim = simulator(KITCHENETTE)
    state = sim.start
    for action in wash:
        state, _ = sim.move(state, action)
    done, slips = sim.outcomes(state, Action("pick", ("plate",)))
    assert (done.name, slips.name, slips.probability) == ("done", "slips", 0.2)
    assert sim.holds(done.state, "holding(plate)")
    assert not sim.holds(slips.state, "holding(plate)")
    assert {"broken(plate)", "on(plate,floor)"} <= set(sim.true_facts(slips.state))
    assert "dropped(plate)" in slips.events

    sim = simulator(BAR)
    state = sim.start
    for action in plan_of("pick(glass_cup) place(glass_cup,table) pick(pitcher)"):
        state, _ = sim.move(state, action)
    poured, spilled = sim.outcomes(state, Action("pour", ("pitcher", "glass_cup")))
    assert poured.events == spilled.events == {"poured_over(table)"}
    assert sim.holds(spilled.state, "spilled(table)")
    assert not sim.holds(poured.state, "spilled(table)")


@pytest.mark.parametrize("name", SCENES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_outcomes_are_a_distribution_with_the_intended_one_first(name, seed):
    sim = shared(name)
    for state, action in walk(sim, possible_actions(name), Random(seed), steps=12):
        found = sim.outcomes(state, action)
        assert abs(sum(outcome.probability for outcome in found) - 1) < 1e-12
        assert all(outcome.probability > 0 for outcome in found)
        assert (found[0].state, found[0].events) == sim.move(state, action)
        assert found[0].name == "done"


def applied(branch, state):
    """A branch's changes one by one, each where its condition holds."""
    changes = [branch.always, *branch.others]
    changes = [c for c in changes if any(state & mask == value for mask, value in c.cubes)]
    for change in changes:
        state &= change.keep
    for change in changes:
        state |= change.add
    return state, frozenset().union(*(change.events for change in changes))


@pytest.mark.parametrize("name", SCENES)
def test_changes_are_made_where_their_conditions_hold(name):
    """In any state of bits, the empty one too, and also where a condition asks for no fact."""
    sim, rng = shared(name), Random(0)
    lifts = Schema("lift", ("o",), "", (), (Effect(("holding(o)",), when="!dirty(o)"),), "")
    branches = [b for a in possible_actions(name)[::3] for b in sim._ground(a).branches]
    branches += sim._grounder.action(lifts, sim.scene.members["movable"][:1]).branches
    assert any(branch.wake == 0 and branch.others for branch in branches)
    for branch in branches:
        for state in (0, *(rng.getrandbits(len(sim.facts)) for _ in range(5))):
            assert branch.apply(state) == applied(branch, state)


@pytest.mark.parametrize("name", SCENES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_states_stay_sound(name, seed):
    """One thing in the hand, each thing at one place of its own, nothing lost."""
    sim = shared(name)
    for state, action in walk(sim, possible_actions(name), Random(seed), steps=12):
        for outcome in sim.outcomes(state, action):
            facts = set(sim.true_facts(outcome.state))
            held = [f for f in facts if f.startswith("holding(")]
            assert len(held) <= 1
            for thing in sim.scene.members["movable"]:
                fixtures = sim.scene.members["fixture"]
                places = [
                    p
                    for p in sim.scene.entities
                    if f"on({thing},{p})" in facts or f"inside({thing},{p})" in facts
                ]
                direct = [
                    p for p in places if p not in fixtures or f"on({thing},{p})" in facts
                ] or places
                assert len(direct) == (0 if f"holding({thing})" in facts else 1), (action, facts)


def test_drawn_runs_are_reproducible_and_among_the_outcomes():
    sim = simulator(BAR)
    plan = plan_of("pick(pitcher)")
    runs = {seed: sim.run(plan, seed) for seed in range(60)}
    assert all(sim.run(plan, seed) == run for seed, run in runs.items())
    happened = {run.happened for run in runs.values()}
    assert happened == {("done",), ("passes by",)}
    share = sum(run.happened == ("passes by",) for run in runs.values()) / len(runs)
    assert 0.08 < share < 0.5  # 0.25, within four standard deviations


def test_derived_propositions_are_conditions_on_facts():
    scene = make_scene({name: name for name in BAR["objects"]})
    derived = {"glass_safe": "!on(glass_cup,floor) & !toppled(glass_cup)"}
    sim = Simulator(scene, BAR["facts"], derived)
    run = sim.run(plan_of("pick(pitcher)"))
    assert ["glass_safe" in letter for letter in run.trace] == [True, False]
    with pytest.raises(ConfigurationError, match="cannot be derived as well"):
        Simulator(scene, BAR["facts"], {"full(pitcher)": "true"})
    with pytest.raises(ConfigurationError, match="'spoon', which is no object"):
        Simulator(scene, BAR["facts"], {"x": "on(spoon,table)"})
    with pytest.raises(ConfigurationError, match="neither a fact nor a class"):
        Simulator(scene, BAR["facts"], {"x": "lost(pitcher)"})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Action("fly"), "no action 'fly'"),
        (Action("pick"), "has 0 objects, but pick takes 1"),
        (Action("pick", ("glas_cup",)), "no object 'glas_cup'; did you mean 'glass_cup'"),
    ],
)
def test_wrong_actions_are_refused(action, message):
    with pytest.raises(ConfigurationError, match=message):
        simulator(BAR).run([action])


def test_wrong_scenes_are_refused():
    with pytest.raises(ConfigurationError, match="no fact that can hold here; did you mean"):
        simulator({**BAR, "facts": ["on(pitcher,tabel)"]})
    with pytest.raises(OntologyError, match="no entity is named"):
        make_scene({"thing": "flying_carpet"})
    with pytest.raises(ConfigurationError, match="has no outcome here: cannot place"):
        sim = simulator(BAR)
        sim.outcomes(sim.start, Action("place", ("pitcher", "table")))


def test_every_class_has_members_and_every_alias_one_action():
    for kind, combinations in CLASSES.items():
        assert all(ontology().with_property(text) for text in combinations), kind
    assert not set(ALIASES) & set(ACTIONS)
    listed = [alias for schema in ACTIONS.values() for alias in schema.aliases]
    assert len(listed) == len(set(listed)) == len(ALIASES)
