"""Scripted policies under the four SafeManip specifications, with counts worked out by hand.

The counts follow from what each manner does, not from a run: the comments say why. Where contact
physics decides how many frames something lasts, the test counts those frames from the raw readings.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pytest

from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.scripted import MANNERS, ScriptedPolicy
from safe_rl.errors import ConfigurationError
from safe_rl.grounding import FrameRecord, explain
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

IDS = (
    "no_forbidden_contact",
    "grasp_remains_synced_until_dropped",
    "dropped_object_was_released",
    "released_object_eventually_settles",
)
CONTACT, SYNC, DROP, SETTLE = IDS
Counts = dict[str, tuple[int, int, int, int]]


class Episode:
    """One episode, recorded and counted."""

    def __init__(self, env: RobosuiteEnv, manner: str, seed: int, steps: int) -> None:
        specs = load_specs("safemanip").select(IDS).bind(env.objects)
        monitor = Monitor(specs)
        policy = ScriptedPolicy(env._task.name, manner)
        observation, info = env.reset(seed=seed)
        monitor.reset(env.propositions())
        self.records: list[FrameRecord] = [env.frame_record()]
        self.violations: list[tuple[int, str]] = []
        self.success_at: int | None = None
        for step in range(1, steps + 1):
            observation, _, _, truncated, info = env.step(policy.predict(observation)[0])
            self.records.append(env.frame_record())
            events = monitor.step(env.propositions())
            ids = [i.id for i, v in zip(specs.instances, events.violated, strict=True) if v]
            self.violations += [(step, name) for name in ids]
            if info["success"] and self.success_at is None:
                self.success_at = step
        monitor.finish(truncated=True)
        target = env.objects["graspable"][0]
        self.target = target
        summary = monitor.summary()
        self.counts: Counts = {}
        for name, c in summary.items():
            short = name.split("[")[0]
            if name in (short, f"{short}[o={target}]"):
                self.counts[short] = (c.N, c.V, c.U, c.pending)
            else:  # nobody touches the other cube
                assert (c.N, c.V, c.U, c.pending) == (0, 0, 0, 0), name

    def when(self, proposition: str) -> list[int]:
        name = proposition if "contact" in proposition else f"{proposition}({self.target})"
        return [r.step for r in self.records if r.propositions[name]]


@pytest.fixture(scope="module", params=["Lift", "Stack"])
def env(request: pytest.FixtureRequest) -> Iterator[RobosuiteEnv]:
    pytest.importorskip("robosuite")
    made = RobosuiteEnv(request.param, horizon=400)
    yield made
    made.close()


robosuite = pytest.mark.robosuite
slow = pytest.mark.slow


@robosuite
@slow
def test_careful_succeeds_ten_times_out_of_ten_without_a_violation(env: RobosuiteEnv) -> None:
    lift = env._task.name == "Lift"
    for seed in range(10):
        episode = Episode(env, "careful", seed, steps=55 if lift else 125)
        assert episode.success_at is not None, f"seed {seed}"
        # Lift holds the cube to the end, so its grasp never ends; Stack lets go of it once.
        ended = (0, 0, 0, 0) if lift else (1, 0, 0, 0)
        assert episode.counts == {
            CONTACT: (0, 0, 0, 0),
            SYNC: (1, 0, 0, 0),
            DROP: ended,
            SETTLE: ended,
        }, f"seed {seed}"


@robosuite
@slow
def test_a_drop_from_above_the_table_is_meant_and_settles(env: RobosuiteEnv) -> None:
    episode = Episode(env, "drop_high", seed=0, steps=110)
    heights = [r.heights[episode.target] for r in episode.records]
    assert max(heights) - heights[-1] > 0.12  # it fell
    assert episode.when("object_dropped") == episode.when("object_released")
    clean = {CONTACT: (0, 0, 0, 0)} | dict.fromkeys((SYNC, DROP, SETTLE), (1, 0, 0, 0))
    assert episode.counts == clean


@robosuite
@slow
@pytest.mark.parametrize("manner", ["drop_off_table", "throw"])
def test_what_is_let_go_beyond_the_table_never_settles(env: RobosuiteEnv, manner: str) -> None:
    episode = Episode(env, manner, seed=0, steps=240)
    (dropped,) = episode.when("object_dropped")
    assert episode.when("object_released") == [dropped]
    assert episode.records[-1].heights[episode.target] < 0.05  # it lies on the floor
    # The floor is no support, so the timeout comes 100 frames later; rho holds as soon as it does.
    assert episode.violations == [(dropped + 100, f"{SETTLE}[o={episode.target}]")]
    assert episode.counts[SETTLE] == (1, 1, 1, 0)
    assert episode.counts[DROP] == episode.counts[SYNC] == (1, 0, 0, 0)


@robosuite
@slow
def test_an_object_stripped_from_a_weak_grip_was_not_released(env: RobosuiteEnv) -> None:
    episode = Episode(env, "slip", seed=0, steps=240)
    (dropped,) = episode.when("object_dropped")
    assert episode.when("object_released") == []
    lost = max(episode.when("object_grasped_raw")) + 1
    assert dropped == lost + 4  # the fifth frame without a hold
    before, after = episode.records[lost - 1], episode.records[dropped]
    assert not before.propositions[f"object_supported({episode.target})"]
    assert before.heights[episode.target] - after.heights[episode.target] > 0.1  # in free fall
    assert after.propositions[f"object_left_gripper({episode.target})"]
    instance = f"[o={episode.target}]"
    assert episode.violations == [(dropped, DROP + instance), (dropped + 100, SETTLE + instance)]
    # It slid down between the fingers by less than 3 cm per frame while they held it.
    assert episode.counts == {
        CONTACT: (0, 0, 0, 0),
        SYNC: (1, 0, 0, 0),
        DROP: (1, 1, 1, 0),
        SETTLE: (1, 1, 1, 0),
    }
    shown = explain(episode.records, around=dropped, before=6, after=1)
    assert f"-gripper0_right_finger1_pad_collision~{episode.target}_g0" in shown
    assert f"object_dropped({episode.target})" in shown.splitlines()[0]


@robosuite
@slow
def test_an_object_that_turns_in_the_gripper_is_out_of_sync(env: RobosuiteEnv) -> None:
    episode = Episode(env, "knock", seed=0, steps=150)
    grasped, sync = set(episode.when("object_grasped")), set(episode.when("object_sync"))
    raw = set(episode.when("object_grasped_raw"))
    slips = sorted(step for step in grasped & raw if step not in sync)
    assert slips and slips == list(range(slips[0], slips[-1] + 1))  # one knock
    # The trigger is the grasp; exposed are the frames out of sync, until rho sees sync again.
    assert episode.counts[SYNC] == (1, 1, len(slips), 0)
    assert episode.violations == [(slips[0], f"{SYNC}[o={episode.target}]")]
    touching = {pair for r in episode.records[slips[0] - 8 : slips[0]] for pair in r.contacts}
    assert (f"{episode.target}_g0", "table_collision") in touching


@robosuite
@slow
def test_an_arm_pressed_on_the_table_is_a_sustained_forbidden_contact(env: RobosuiteEnv) -> None:
    episode = Episode(env, "slam", seed=0, steps=90)
    touching = [r.propositions["forbidden_contact"] for r in episode.records]
    runs = [len(list(run)) for value, run in groupby(touching) if value]
    long = [run for run in runs if run > 20]
    assert len(long) == 1
    # True from the 21st frame of the run on; exposed until it is over.
    assert episode.counts[CONTACT] == (1, 1, long[0] - 20, 0)
    assert all(episode.counts[name] == (0, 0, 0, 0) for name in (SYNC, DROP, SETTLE))
    at = episode.violations[0][0]
    assert all(pair[1] == "table_collision" for pair in episode.records[at].forbidden)


@robosuite
@slow
def test_a_vector_of_episodes_is_scripted_row_by_row(env: RobosuiteEnv) -> None:
    one = ScriptedPolicy(env._task.name)
    several = ScriptedPolicy(env._task.name)
    observation, _ = env.reset(seed=1)
    first, _ = env.reset(seed=2)
    for step in range(5):
        rows = np.stack([first, observation])
        starts = np.array([step == 0, step in (0, 3)])  # the second row starts anew at step 3
        actions, _ = several.predict(rows, episode_start=starts)
        if step == 3:
            one = ScriptedPolicy(env._task.name)
        expected, _ = one.predict(observation)
        np.testing.assert_array_equal(actions[1], expected)
        observation, *_ = env.step(expected)


def test_unknown_manners_and_tasks_are_one_clear_error() -> None:
    with pytest.raises(ConfigurationError, match=r"no manner 'carefull'; did you mean 'careful'"):
        ScriptedPolicy("Lift", "carefull")
    with pytest.raises(ConfigurationError, match="no robosuite task 'Pour'"):
        ScriptedPolicy("Pour")
    assert set(MANNERS) >= {"careful", "slip", "knock", "slam"}
