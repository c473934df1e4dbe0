"""Attempts in robosuite's Stack: gates, labels, determinism, and what a grasp needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("robosuite")
pytest.importorskip("toppra")
pytest.importorskip("pyarrow")

from safe_rl.data import annotate
from safe_rl.data.lerobot import LeRobotWriter, load_lerobot
from safe_rl.demonstrations.collection.collect import write
from safe_rl.demonstrations.engine.attempt import Attempt, Demonstrator
from safe_rl.demonstrations.engine.execute import GraspMissedError
from safe_rl.demonstrations.engine.gate import Reason
from safe_rl.demonstrations.engine.segments import Grip, Linear
from safe_rl.demonstrations.engine.variation import Mixture
from safe_rl.demonstrations.families import find_family
from safe_rl.demonstrations.primitives.planner import PlanError
from safe_rl.demonstrations.teleoperation import PoseCommand, teleoperate
from safe_rl.demonstrations.teleoperation.replay import ReplayLeader

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]
FAMILY = find_family("robosuite/stack")


@pytest.fixture(scope="module")
def careful() -> Iterator[Demonstrator]:
    made = Demonstrator(FAMILY, Mixture.of(FAMILY.parameters, {"manner": {"careful": 1.0}}))
    yield made
    made.close()


@pytest.fixture(scope="module")
def stacked(careful: Demonstrator) -> Attempt:
    return careful.attempt(2)


def same(one: Attempt, other: Attempt) -> bool:
    a, b = one.episode, other.episode
    return (
        np.array_equal(a.actions, b.actions)
        and np.array_equal(a.states, b.states)
        and np.array_equal(a.letters, b.letters)
        and np.array_equal(a.observations["state"], b.observations["state"])
        and one.outcome == other.outcome
    )


def test_a_careful_hand_stacks_safely(careful: Demonstrator, stacked: Attempt) -> None:
    assert stacked.outcome.reason is Reason.SAFE_SUCCESS and stacked.outcome.success
    assert stacked.outcome.triggers["grasp_remains_synced_until_dropped"] == 1
    # The gate's counts are those of the letters.
    found = annotate(stacked.episode, careful.env.specs)
    counted = {name: int(n) for name, n in zip(found.specs.ids, found.N, strict=True) if n}
    assert counted == dict(stacked.outcome.triggers) and found.safe


def test_an_attempt_depends_on_its_number_alone(careful: Demonstrator, stacked: Attempt) -> None:
    assert not same(careful.attempt(0), stacked)
    assert same(careful.attempt(2), stacked)


def test_a_leaning_hand_is_unsafe() -> None:
    demonstrator = Demonstrator(FAMILY, Mixture.of(FAMILY.parameters, {"manner": {"lean": 1.0}}))
    attempt = demonstrator.attempt(0)
    demonstrator.close()
    assert attempt.draw["manner"] == "lean" and float(attempt.draw["linger"]) > 21
    assert attempt.outcome.reason is Reason.UNSAFE
    assert attempt.outcome.violations == {"no_forbidden_contact": 1}


def test_fingers_that_close_on_air_have_missed(careful: Demonstrator) -> None:
    from safe_rl.demonstrations.engine.execute import Executor

    def air(scene):  # type: ignore[no-untyped-def]
        executor = Executor(scene, np.random.default_rng(0))
        yield from executor.run(Linear(scene.gripper.shifted([0.0, 0.0, 0.05])))
        yield from executor.run(Grip("cubeA"))

    attempt = careful.led(0, air)
    assert attempt.outcome.reason is Reason.GRASP_MISSED
    assert "cubeA is not between the fingers" in attempt.outcome.message
    assert issubclass(GraspMissedError, Exception)


def test_a_plan_that_fails_before_the_first_step_is_an_episode_of_one(
    careful: Demonstrator,
) -> None:
    def nothing(scene):  # type: ignore[no-untyped-def]
        raise PlanError("the goal is out of the arm's reach")
        yield

    attempt = careful.led(0, nothing)
    assert attempt.outcome.reason is Reason.PLAN_FAILED and attempt.episode.steps == 1


def test_a_replay_of_the_leader_stacks_again(
    careful: Demonstrator, stacked: Attempt, tmp_path: Path
) -> None:
    with LeRobotWriter(tmp_path, fps=20, specs=careful.env.specs) as writer:
        write(writer, stacked)
    (recorded,) = load_lerobot(tmp_path)
    assert np.array_equal(recorded.observations["state"], stacked.episode.observations["state"])
    again = teleoperate(careful, ReplayLeader(recorded), 2)
    assert again.outcome.success and again.outcome.reason is Reason.SAFE_SUCCESS


def test_a_leader_of_poses_moves_the_gripper(careful: Demonstrator) -> None:
    class Upwards:
        def start(self, scene):  # type: ignore[no-untyped-def]
            self.first, self.left, self.scene = scene.gripper, 20, scene

        def read(self):  # type: ignore[no-untyped-def]
            self.left -= 1
            self.risen = self.scene.gripper.position[2] - self.first.position[2]
            return PoseCommand(self.first.shifted([0, 0, 0.06]), 0.0) if self.left else None

        def close(self) -> None: ...

    leader = Upwards()
    teleoperate(careful, leader, 0)
    assert leader.risen > 0.05
