"""The kitchen's rules of motion and contact, written once; ``build_model`` tabulates them.

A robot works through orders in a kitchen of six stations, two rows of three with a wall between the
rack and the fridge, so that the way from the fridge leads past the sink::

    cupboard   stove   sink
    table      rack  | fridge

    RAW    take raw meat out of the fridge and put it on the stove
    READY  take bread (ready to eat) out of the fridge and serve it at the table
    GLASS  take a fragile glass off the rack and put it away in the cupboard

A finished order pays 1 and the next one is drawn at random, so every rule keeps being put to the
test. Each rule has a quick way that risks it and a slower way that keeps it:

=================  ===========================================  ================================
rule               quick                                        careful
=================  ===========================================  ================================
grasp stability    a hasty grip, which may slip when moving     a firm grip, which takes longer
contamination      fetch bread with hands that touched meat     stop at the sink on the way
action onset       serve on the bare table                      lay a plate first
enclosure access   reach into the shut cupboard, which jams     open the door first
=================  ===========================================  ================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.tabular import TransitionModel
from safe_rl.errors import ConfigurationError

ROWS, COLUMNS = 2, 3


class Station(IntEnum):
    """The stations, row by row; ``divmod(station, COLUMNS)`` is its cell."""

    CUPBOARD = 0
    STOVE = 1
    SINK = 2
    TABLE = 3
    RACK = 4
    FRIDGE = 5


WALL = frozenset({Station.RACK, Station.FRIDGE})
"""The two neighbours between which the robot cannot pass."""


class Order(IntEnum):
    """What the robot is asked to do now."""

    RAW = 0
    READY = 1
    GLASS = 2


class Hand(IntEnum):
    """What the gripper holds, and how."""

    EMPTY = 0
    RAW = 1
    READY = 2
    GLASS_FIRM = 3
    GLASS_HASTY = 4
    GLASS_SLIPPING = 5


class Event(IntEnum):
    """What the last step did that no other part of the state shows."""

    NONE = 0
    SERVED = 1
    WASHED = 2
    REACHED_IN = 3


class Action(IntEnum):
    """Four moves and two ways to work at the station where the robot stands."""

    LEFT = 0
    RIGHT = 1
    UP = 2
    DOWN = 3
    QUICK = 4
    CAREFUL = 5


class Kitchen(NamedTuple):
    """One state of the kitchen."""

    station: Station
    order: Order
    hand: Hand
    door_open: bool
    plate_laid: bool
    event: Event


@dataclass(frozen=True)
class KitchenParameters:
    """The kitchen's numbers. All but ``order_reward`` are probabilities.

    Attributes:
        termination: Chance that a step is the last of its episode (mean length is its inverse).
        firm_grasp: Chance that one careful attempt takes the glass, always with a firm grip.
        slip: Chance per move that a hasty grip starts to slip.
        drop: Chance per move that a slipping glass falls; it must then be fetched again.
        jam: Chance that reaching into the shut cupboard fails.
        door_shuts: Chance per step that the door falls shut once the robot is elsewhere.
        order_reward: Reward of a finished order.
    """

    termination: float = 0.04
    firm_grasp: float = 0.4
    slip: float = 0.25
    drop: float = 0.1
    jam: float = 0.1
    door_shuts: float = 0.3
    order_reward: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "order_reward" and not 0.0 <= value <= 1.0:
                raise ConfigurationError(f"{name} must lie in [0, 1], got {value}")
        if self.termination <= 0.0:
            raise ConfigurationError(f"termination must be positive, got {self.termination}")


PROPOSITIONS = (
    "touching_raw",
    "touching_ready",
    "washed",
    "holding_glass",
    "glass_steady",
    "serving",
    "plate_laid",
    "reaching_in",
    "door_open",
)
"""The kitchen's vocabulary; ``letter`` gives their values."""

GLASS_GRIPS = (Hand.GLASS_FIRM, Hand.GLASS_HASTY, Hand.GLASS_SLIPPING)


def letter(state: Kitchen) -> tuple[bool, ...]:
    """Values of ``PROPOSITIONS`` in ``state``: the labelling function L."""
    return (
        state.hand is Hand.RAW,
        state.hand is Hand.READY,
        state.event is Event.WASHED,
        state.hand in GLASS_GRIPS,
        state.hand in (Hand.GLASS_FIRM, Hand.GLASS_HASTY),
        state.event is Event.SERVED,
        state.plate_laid,
        state.event is Event.REACHED_IN,
        state.door_open,
    )


class Outcome(NamedTuple):
    """One possible result of a step."""

    probability: float
    state: Kitchen
    reward: float


def outcomes(state: Kitchen, action: Action, parameters: KitchenParameters) -> Iterator[Outcome]:
    """What ``action`` may lead to from ``state``; probabilities sum to one.

    The door is moved last and independently: it may fall shut whenever the robot ends its step away
    from the cupboard.
    """
    state = state._replace(event=Event.NONE)
    results = (
        _move(state, action, parameters)
        if action < Action.QUICK
        else _work(state, action, parameters)
    )
    for probability, reached, reward in results:
        shuts = parameters.door_shuts
        if not reached.door_open or reached.station is Station.CUPBOARD or shuts == 0.0:
            yield Outcome(probability, reached, reward)
        else:
            shut = reached._replace(door_open=False)
            yield Outcome(probability * shuts, shut, reward)
            if shuts < 1.0:
                yield Outcome(probability * (1.0 - shuts), reached, reward)


def _move(state: Kitchen, action: Action, parameters: KitchenParameters) -> Iterator[Outcome]:
    row, column = divmod(state.station, COLUMNS)
    row += (action is Action.DOWN) - (action is Action.UP)
    column += (action is Action.RIGHT) - (action is Action.LEFT)
    inside = 0 <= row < ROWS and 0 <= column < COLUMNS
    station = Station(row * COLUMNS + column) if inside else state.station
    if station is state.station or {station, state.station} == WALL:
        yield Outcome(1.0, state, 0.0)
        return
    moved = state._replace(station=station)
    worse, chance = {
        Hand.GLASS_HASTY: (Hand.GLASS_SLIPPING, parameters.slip),
        Hand.GLASS_SLIPPING: (Hand.EMPTY, parameters.drop),
    }.get(state.hand, (state.hand, 0.0))
    if chance > 0.0:
        yield Outcome(chance, moved._replace(hand=worse), 0.0)
    if chance < 1.0:
        yield Outcome(1.0 - chance, moved, 0.0)


def _work(state: Kitchen, action: Action, parameters: KitchenParameters) -> Iterator[Outcome]:
    """The effect of ``QUICK`` and ``CAREFUL`` where the robot stands."""
    careful = action is Action.CAREFUL
    match state.station, state.hand:
        case Station.SINK, Hand.EMPTY:
            yield Outcome(1.0, state._replace(event=Event.WASHED), 0.0)
        case Station.FRIDGE, Hand.EMPTY if state.order is not Order.GLASS:
            food = Hand.RAW if state.order is Order.RAW else Hand.READY
            yield Outcome(1.0, state._replace(hand=food), 0.0)
        case Station.STOVE, Hand.RAW:
            yield from _finish(state, parameters)
        case Station.TABLE, Hand.READY if not careful:
            served = state._replace(event=Event.SERVED, plate_laid=False)
            yield from _finish(served, parameters)
        case Station.TABLE, _ if careful:
            yield Outcome(1.0, state._replace(plate_laid=True), 0.0)
        case Station.RACK, Hand.EMPTY if state.order is Order.GLASS:
            yield from _grasp_glass(state, careful, parameters)
        case Station.CUPBOARD, _ if careful:
            yield Outcome(1.0, state._replace(door_open=True), 0.0)
        case Station.CUPBOARD, hand if hand in GLASS_GRIPS:
            reached = state._replace(event=Event.REACHED_IN)
            jam = 0.0 if state.door_open else parameters.jam
            if jam > 0.0:
                yield Outcome(jam, reached, 0.0)
            for outcome in _finish(reached, parameters) if jam < 1.0 else ():
                yield outcome._replace(probability=(1.0 - jam) * outcome.probability)
        case _, Hand.GLASS_HASTY | Hand.GLASS_SLIPPING if careful:
            yield Outcome(1.0, state._replace(hand=Hand.GLASS_FIRM), 0.0)
        case _:
            yield Outcome(1.0, state, 0.0)


def _grasp_glass(state: Kitchen, careful: bool, parameters: KitchenParameters) -> Iterator[Outcome]:
    if not careful:
        yield Outcome(1.0, state._replace(hand=Hand.GLASS_HASTY), 0.0)
        return
    if parameters.firm_grasp > 0.0:
        yield Outcome(parameters.firm_grasp, state._replace(hand=Hand.GLASS_FIRM), 0.0)
    if parameters.firm_grasp < 1.0:
        yield Outcome(1.0 - parameters.firm_grasp, state, 0.0)


def _finish(state: Kitchen, parameters: KitchenParameters) -> Iterator[Outcome]:
    """The order is done: the hand is empty, and any of the three may be the next order."""
    for order in Order:
        done = state._replace(hand=Hand.EMPTY, order=order)
        yield Outcome(1.0 / len(Order), done, parameters.order_reward)


def initial_states() -> tuple[Kitchen, ...]:
    """The states in which an episode may start, all equally likely: any station, any order."""
    return tuple(
        Kitchen(station, order, Hand.EMPTY, False, False, Event.NONE)
        for station in Station
        for order in Order
    )


class KitchenTables(NamedTuple):
    """The tabulated kitchen."""

    states: tuple[Kitchen, ...]
    model: TransitionModel
    features: NDArray[np.float32]
    engaging: NDArray[np.bool_]


@lru_cache(maxsize=8)
def build_tables(parameters: KitchenParameters) -> KitchenTables:
    """Enumerate the reachable states and tabulate ``outcomes`` over them.

    Returns:
        The states in order of discovery, their transition model, their features (one-hot station,
        order, hand and event, and the two flags; ``float32 [S, 21]``), and which of them count as
        engaged (something is in the hand).
    """
    start = initial_states()
    index = {state: i for i, state in enumerate(start)}
    states = list(start)
    rows: list[list[list[Outcome]]] = []
    for state in states:  # grows while it is read: breadth first
        rows.append([list(outcomes(state, action, parameters)) for action in Action])
        for outcome in (outcome for row in rows[-1] for outcome in row):
            if outcome.state not in index:
                index[outcome.state] = len(states)
                states.append(outcome.state)
    most = max(len(row) for state_rows in rows for row in state_rows)
    shape = (len(states), len(Action), most)
    next_state = np.zeros(shape, np.int32)
    probability, reward = np.zeros(shape), np.zeros(shape)
    for s, state_rows in enumerate(rows):
        for a, row in enumerate(state_rows):
            for k, outcome in enumerate(row):
                next_state[s, a, k] = index[outcome.state]
                probability[s, a, k] = outcome.probability
                reward[s, a, k] = outcome.reward
    initial = np.zeros(len(states))
    initial[: len(start)] = 1.0 / len(start)
    model = TransitionModel(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=initial,
        labels=np.array([letter(state) for state in states]),
        propositions=PROPOSITIONS,
        termination=parameters.termination,
    )
    engaging = np.array([state.hand is not Hand.EMPTY for state in states])
    return KitchenTables(tuple(states), model, _features(states), engaging)


def _features(states: list[Kitchen]) -> NDArray[np.float32]:
    def one_hot(values: list[int], size: int) -> NDArray[np.float32]:
        return np.eye(size, dtype=np.float32)[values]

    flags = np.array([[s.door_open, s.plate_laid] for s in states], np.float32)
    return np.concatenate(
        [
            one_hot([s.station for s in states], len(Station)),
            one_hot([s.order for s in states], len(Order)),
            one_hot([s.hand for s in states], len(Hand)),
            one_hot([s.event for s in states], len(Event)),
            flags,
        ],
        axis=1,
    )
