"""KitchenGrid: registration, dynamics, labels, pictures, and that a random end violates nothing."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import safe_rl.envs  # noqa: F401  (registers the ids)
from safe_rl.automata import compile_ltlf
from safe_rl.envs.kitchen_grid import (
    PROPOSITIONS,
    Action,
    Event,
    Hand,
    Kitchen,
    KitchenGridEnv,
    KitchenGridVector,
    KitchenParameters,
    Order,
    Station,
    build_tables,
)
from safe_rl.envs.kitchen_grid.dynamics import outcomes
from safe_rl.errors import ConfigurationError
from safe_rl.specs import load_specs

PARAMETERS = KitchenParameters()
ID = "safe_rl/KitchenGrid-v0"


def at(station: Station, order: Order, hand: Hand = Hand.EMPTY, **flags: bool) -> Kitchen:
    return Kitchen(
        station,
        order,
        hand,
        flags.get("door_open", False),
        flags.get("plate_laid", False),
        Event.NONE,
    )


def reached(state: Kitchen, action: Action) -> dict[Kitchen, float]:
    return {o.state: o.probability for o in outcomes(state, action, PARAMETERS)}


def test_registered_for_one_and_for_many() -> None:
    assert isinstance(gym.make(ID).unwrapped, KitchenGridEnv)
    envs = gym.make_vec(ID, num_envs=3, vectorization_mode="vector_entry_point", slip=0.5)
    assert isinstance(envs, KitchenGridVector)
    assert envs.parameters.slip == 0.5
    rebuilt = gym.make(gym.make(ID, termination=0.1).spec)
    assert rebuilt.unwrapped.model.termination == 0.1


def test_registration_is_cheap() -> None:
    """Importing the package loads neither the kitchen nor a simulator nor a learning framework."""
    code = (
        "import sys, safe_rl.envs\n"
        "heavy = {'torch', 'jax', 'mujoco', 'robosuite', 'scipy', 'safe_rl.envs.kitchen_grid'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("observation", ["index", "features"])
def test_gymnasium_accepts_it(observation: str) -> None:
    env = gym.make(ID, observation=observation, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Its own probability ends an episode, so there is no time limit to find.
        check_env(env.unwrapped, skip_close_check=True)


def test_small_and_closed() -> None:
    tables = build_tables(PARAMETERS)
    assert len(tables.states) == tables.model.num_states <= 2_000
    assert len(set(tables.states)) == len(tables.states)
    assert len(np.unique(tables.features, axis=0)) == len(tables.states)  # features tell them apart
    assert tables.features.shape[1] == 21
    assert set(np.unique(tables.features)) == {0.0, 1.0}


def test_every_station_works() -> None:
    fridge = at(Station.FRIDGE, Order.RAW)
    assert reached(fridge, Action.QUICK) == {fridge._replace(hand=Hand.RAW): 1.0}
    cooked = list(outcomes(at(Station.STOVE, Order.RAW, Hand.RAW), Action.QUICK, PARAMETERS))
    assert [o.reward for o in cooked] == [1.0] * 3 and {o.state.order for o in cooked} == set(Order)
    sink = at(Station.SINK, Order.READY)
    assert reached(sink, Action.CAREFUL) == {sink._replace(event=Event.WASHED): 1.0}
    # What is asked for is what can be taken.
    for order, station in ((Order.GLASS, Station.FRIDGE), (Order.RAW, Station.RACK)):
        idle = at(station, order)
        assert reached(idle, Action.QUICK) == {idle: 1.0}


def test_glass_quick_slips_and_careful_does_not() -> None:
    rack = at(Station.RACK, Order.GLASS)
    hasty, firm = rack._replace(hand=Hand.GLASS_HASTY), rack._replace(hand=Hand.GLASS_FIRM)
    assert reached(rack, Action.QUICK) == {hasty: 1.0}
    assert reached(rack, Action.CAREFUL) == {
        firm: PARAMETERS.firm_grasp,
        rack: 1 - PARAMETERS.firm_grasp,
    }
    moved = Station.STOVE
    slips = reached(hasty, Action.UP)
    assert slips[hasty._replace(station=moved, hand=Hand.GLASS_SLIPPING)] == PARAMETERS.slip
    assert reached(firm, Action.UP) == {firm._replace(station=moved): 1.0}
    slipping = hasty._replace(hand=Hand.GLASS_SLIPPING)
    falls = reached(slipping, Action.LEFT)
    assert falls[rack._replace(station=Station.TABLE)] == PARAMETERS.drop
    for grip in (hasty, slipping):
        assert reached(grip, Action.CAREFUL) == {firm: 1.0}


def test_table_and_cupboard_have_a_short_cut_and_a_safe_way() -> None:
    table = at(Station.TABLE, Order.READY, Hand.READY)
    assert reached(table, Action.CAREFUL) == {table._replace(plate_laid=True): 1.0}
    for plate in (False, True):
        served = reached(table._replace(plate_laid=plate), Action.QUICK)
        assert all(s.event is Event.SERVED and not s.plate_laid for s in served)
    cupboard = at(Station.CUPBOARD, Order.GLASS, Hand.GLASS_FIRM)
    opened = cupboard._replace(door_open=True)
    assert reached(cupboard, Action.CAREFUL) == {opened: 1.0}
    into_shut = reached(cupboard, Action.QUICK)
    assert into_shut[cupboard._replace(event=Event.REACHED_IN)] == pytest.approx(PARAMETERS.jam)
    into_open = reached(opened, Action.QUICK)
    assert all(s.hand is Hand.EMPTY and s.event is Event.REACHED_IN for s in into_open)
    away = reached(opened, Action.RIGHT)
    assert {s.door_open: p for s, p in away.items()} == {
        False: pytest.approx(PARAMETERS.door_shuts),
        True: pytest.approx(1 - PARAMETERS.door_shuts),
    }


def test_labels_are_functions_of_the_state() -> None:
    env = gym.make(ID).unwrapped
    for index, state in enumerate(env.states):
        env.reset(seed=0, options={"state": index})
        letter = env.propositions()
        assert tuple(letter) == PROPOSITIONS
        assert letter["touching_raw"] == (state.hand is Hand.RAW)
        assert letter["serving"] == (state.event is Event.SERVED)
        assert letter["door_open"] == state.door_open
        assert letter["glass_steady"] <= letter["holding_glass"]


def test_a_random_end_violates_nothing() -> None:
    """Main automata: whatever is reachable without a violation accepts, so rule 4 never bites."""
    specs = load_specs("kitchen")
    model = build_tables(PARAMETERS).model
    for spec in specs:
        dfa = compile_ltlf(spec.formula)
        assert set(dfa.atoms) <= set(PROPOSITIONS)
        letters = [
            frozenset(np.array(PROPOSITIONS)[row].tolist()) & set(dfa.atoms)
            for row in np.unique(model.labels, axis=0)
        ]
        reached, frontier = {dfa.initial}, [dfa.initial]
        while frontier:
            state = frontier.pop()
            for letter in letters:
                after = dfa.step(state, letter)
                if not dfa.is_doomed(after) and after not in reached:
                    reached.add(after)
                    frontier.append(after)
        assert all(dfa.is_accepting(state) for state in reached), spec.id


def test_episodes_last_as_long_as_the_termination_probability_says() -> None:
    envs = KitchenGridVector(2_000, termination=0.04)
    envs.reset(seed=0)
    ends = sum(int(envs.step(np.zeros(2_000, np.int64))[2].sum()) for _ in range(100))
    # NEXT_STEP: each episode of mean length 25 is followed by one reset call.
    assert ends == pytest.approx(2_000 * 100 / 26, rel=0.03)


def test_success_and_engagement_are_reported() -> None:
    env = gym.make(ID, termination=1e-9, goal=1)
    env.reset(seed=0)
    kitchen = env.unwrapped
    start = kitchen.states.index(at(Station.FRIDGE, Order.RAW))
    _, info = env.reset(options={"state": start})
    assert info == {"success": False, "engaged": False}
    *_, info = env.step(Action.QUICK)
    assert info == {"success": False, "engaged": True}
    env.step(Action.UP)
    env.step(Action.LEFT)
    _, reward, *_, info = env.step(Action.QUICK)
    assert reward == 1.0 and info == {"success": True, "engaged": True}


def test_rendering() -> None:
    env = gym.make(ID, render_mode="ansi", termination=1e-9)
    env.reset(seed=0)
    start = env.unwrapped.states.index(at(Station.CUPBOARD, Order.GLASS, Hand.GLASS_SLIPPING))
    env.reset(options={"state": start})
    assert env.render() == (
        "[cupboard shut]  stove           sink\n"
        " table           rack          | fridge\n"
        "order: glass; hand: glass, slipping"
    )
    pictures = gym.make(ID, render_mode="rgb_array", termination=1e-9)
    pictures.reset(seed=0, options={"state": start})
    shut = pictures.render()
    pictures.step(Action.CAREFUL)
    opened = pictures.render()
    assert shut.shape == opened.shape == (220, 288, 3) and shut.dtype == np.uint8
    changed = np.argwhere((shut != opened).any(axis=-1))
    assert changed.size and changed.max(axis=0)[0] < 96 and changed.max(axis=0)[1] < 96


def test_misuse_is_explained() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'slip'"):
        KitchenGridEnv(slipp=0.1)
    with pytest.raises(ConfigurationError, match=r"jam must lie in \[0, 1\], got 1.5"):
        KitchenGridVector(2, jam=1.5)
    with pytest.raises(ConfigurationError, match="render_mode"):
        KitchenGridEnv(render_mode="human")
    with pytest.raises(ConfigurationError, match="does not render"):
        KitchenGridVector(2, render_mode="rgb_array")
    with pytest.raises(ConfigurationError, match="'index' or 'features'"):
        KitchenGridEnv(observation="pixels")
