"""The shortest violating rollout of random and scripted policies, and its replay from its seed."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import safe_rl.envs  # noqa: F401 - registers the kitchen
from safe_rl.envs.kitchen_grid import Action, Hand, Order, Station
from safe_rl.envs.kitchen_grid.dynamics import COLUMNS, ROWS, WALL
from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.feedback import ViolatingRollout, explain, random_actions, shortest_violation
from safe_rl.specs import Specification, load_specs
from safe_rl.wrappers import ProductMDP

KITCHEN = "safe_rl/KitchenGrid-v0"
MOVES = {Action.LEFT: (0, -1), Action.RIGHT: (0, 1), Action.UP: (-1, 0), Action.DOWN: (1, 0)}
GLASS = (Hand.GLASS_FIRM, Hand.GLASS_HASTY, Hand.GLASS_SLIPPING)


def move_towards(start: Station, goal: Station, around: tuple[Station, ...] = ()) -> Action:
    """The first move of a shortest way that avoids some stations."""
    queue, first = deque([start]), {start: Action.QUICK}
    while queue:
        here = queue.popleft()
        if here is goal:
            return first[here]
        row, column = divmod(here, COLUMNS)
        for action, (down, right) in MOVES.items():
            r, c = row + down, column + right
            if not (0 <= r < ROWS and 0 <= c < COLUMNS):
                continue
            there = Station(r * COLUMNS + c)
            if {here, there} != WALL and there not in first and there not in around:
                first[there] = action if here is start else first[here]
                queue.append(there)
    raise AssertionError("there is no way")


def scripted(careful: bool):
    """A cook who does the orders in turn; a careful one lays plates, washes and opens doors."""

    def make(env, seed):
        def act(observation):
            state = env.unwrapped.kitchen
            unwashed = getattr(act, "unwashed", False) and careful
            if state.hand is Hand.RAW:
                act.unwashed, goal, way = True, Station.STOVE, Action.QUICK
            elif state.hand is Hand.READY:
                goal = Station.TABLE
                way = Action.CAREFUL if careful and not state.plate_laid else Action.QUICK
            elif state.hand in GLASS:
                goal = Station.CUPBOARD
                way = Action.CAREFUL if careful and not state.door_open else Action.QUICK
            elif unwashed:
                goal, way = Station.SINK, Action.QUICK
                act.unwashed = state.station is not goal
            elif state.order is Order.GLASS:
                goal, way = Station.RACK, Action.CAREFUL if careful else Action.QUICK
            else:
                goal, way = Station.FRIDGE, Action.QUICK
            return way if state.station is goal else move_towards(state.station, goal)

        return act

    return make


def first_violation(make_policy, seed, most=1000):
    """The steps to the first violation of an episode, by the product alone."""
    env = ProductMDP(gym.make(KITCHEN), "kitchen", features=None)
    policy = make_policy(env, seed)
    observation, info = env.reset(seed=seed)
    for step in range(most):
        if info["safety"]["events"].violated.any():
            return step
        observation, _, terminated, truncated, info = env.step(policy(observation))
        if terminated or truncated:
            return step + 1 if info["safety"]["events"].violated.any() else None
    return None


def triggered_by(make_policy, seeds):
    """The rules that a policy triggers in some episode."""
    env = ProductMDP(gym.make(KITCHEN), "kitchen", features=None)
    found = set()
    for seed in seeds:
        policy = make_policy(env, seed)
        observation, _ = env.reset(seed=seed)
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            ended = terminated or truncated
        counts = info["safety"]["counts"]["N"]
        found |= {i.id for i, n in zip(env.specs.instances, counts, strict=True) if n}
    return found


@pytest.mark.parametrize("make_policy", [random_actions, scripted(careful=False)])
def test_no_seeded_episode_violates_sooner(make_policy):
    rollout = shortest_violation(KITCHEN, "kitchen", make_policy, episodes=15, seed=40)
    steps = [first_violation(make_policy, seed) for seed in range(40, 55)]
    shortest = min(step for step in steps if step is not None)
    assert rollout.steps == shortest and rollout.seed == 40 + steps.index(shortest)
    assert all(found.step == rollout.steps for found in rollout.violations)
    feedback = explain("kitchen", rollout.letters, truncated=not rollout.terminated)
    assert feedback.violations == rollout.violations


def test_a_careful_cook_violates_nothing_and_a_hasty_one_does():
    assert shortest_violation(KITCHEN, "kitchen", scripted(careful=True), episodes=30) is None
    assert len(triggered_by(scripted(careful=True), range(30))) == 4, (
        "all rules are put to the test"
    )
    rollout = shortest_violation(KITCHEN, "kitchen", scripted(careful=False), episodes=30)
    assert rollout is not None and rollout.steps > 0


def test_it_replays_from_its_seed_also_as_json():
    rollout = shortest_violation(KITCHEN, "kitchen", episodes=20)
    again = ViolatingRollout.from_json(json.loads(json.dumps(rollout.to_json())))
    assert again == rollout
    feedback = again.replay(KITCHEN, "kitchen")
    assert feedback.violations == rollout.violations and feedback.steps == rollout.steps + 1

    def monitored():
        return ProductMDP(gym.make(KITCHEN), load_specs("kitchen"))

    assert again.replay(monitored).violations == rollout.violations
    assert shortest_violation(monitored, episodes=20) == rollout


def test_a_replay_that_parts_from_the_recording_is_an_error():
    rollout = shortest_violation(KITCHEN, "kitchen", episodes=20)
    other = replace(rollout, seed=rollout.seed + 1)
    with pytest.raises(RecordingError, match="parts from the recording at step"):
        other.replay(KITCHEN, "kitchen")
    for altered in (
        replace(rollout, terminated=True),
        replace(rollout, violations=()),
        replace(rollout, letters=(frozenset({"serving"}), *rollout.letters[1:])),
    ):
        with pytest.raises(RecordingError, match="parts from the recording at step"):
            altered.replay(KITCHEN, "kitchen")
    with pytest.raises(RecordingError, match="lacks 'seed'"):
        ViolatingRollout.from_json({k: v for k, v in rollout.to_json().items() if k != "seed"})


class Slope(gym.Env):
    """Adds up its actions, float32, from a random start; ends above one."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gym.spaces.Dict({"push": gym.spaces.Box(-1.0, 1.0, (1,), np.float32)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-0.5, 0.5, 1).astype(np.float32)
        return self.x, {}

    def step(self, action):
        self.x = self.x + action["push"]
        return self.x, 0.0, bool(self.x[0] > 1), False, {}

    def propositions(self):
        return {"high": bool(self.x[0] > 0.75), "start": bool(self.x[0] > 0.45)}


def push(size):
    # float64, which the action space cannot hold exactly: what is recorded is what was taken
    return lambda env, seed: lambda observation: {"push": np.array([size])}


def test_continuous_actions_and_what_an_end_or_a_reset_violates():
    low = [Specification("low", "G !high", trigger="true")]
    rollout = shortest_violation(Slope, low, push(0.1), episodes=5)
    assert rollout.replay(Slope, low).violated
    again = ViolatingRollout.from_json(json.loads(json.dumps(rollout.to_json())))
    assert again.replay(Slope, low).violations == rollout.violations

    at_end = [Specification("rest", "G(high -> F !high)")]
    ended = shortest_violation(Slope, at_end, push(0.2), episodes=5)
    assert ended.terminated and ended.violations[0].by_end
    assert ended.replay(Slope, at_end).violations == ended.violations
    # an episode that is merely left owes nothing yet
    owed = [Specification("rise", "F high", trigger="true")]
    assert shortest_violation(Slope, owed, push(-0.1), episodes=5, max_steps=20) is None

    at_reset = [Specification("start", "G !start", trigger="true")]
    first = shortest_violation(Slope, at_reset, push(-0.1), episodes=200)
    assert (first.steps, first.actions) == (0, {"push": []})
    assert first.replay(Slope, at_reset).violations == first.violations


def test_what_is_refused():
    with pytest.raises(ConfigurationError, match="episodes must be at least 1, got 0"):
        shortest_violation(KITCHEN, "kitchen", episodes=0)
    with pytest.raises(ConfigurationError, match="max_steps must be at least 1"):
        shortest_violation(KITCHEN, "kitchen", max_steps=0)
    with pytest.raises(ConfigurationError, match="has no monitors; give specs"):
        shortest_violation(KITCHEN)
    with pytest.raises(ConfigurationError, match="has monitors already"):
        shortest_violation(lambda: ProductMDP(gym.make(KITCHEN), "kitchen"), "kitchen")
    with pytest.raises(ConfigurationError, match="a vector environment"):
        shortest_violation(lambda: gym.make_vec(KITCHEN, 2), "kitchen")
