"""Recorded MuJoCo states, shown to the grounding of the environment that they come from.

One scripted episode of robosuite and one of LIBERO is recorded by an evaluation, written as a file
of demonstrations, and audited from both: the counts are those of the evaluation.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from safe_rl.cli import app
from safe_rl.data import (
    Episode,
    LeRobotWriter,
    RecordedStates,
    load_demonstrations,
    load_episodes,
    load_lerobot,
    read_demonstrations,
)
from safe_rl.envs.robosuite.recorded_state import place_bodies
from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.evaluation.audit.simulators import MujocoReplay, make_replay

LIFT = "safe_rl/RobosuiteLift-v0"


class Recorded(NamedTuple):
    """What one evaluation left: its folder, its episode, the same as HDF5, and its environment."""

    folder: Path
    episode: Episode
    hdf5: Path
    env: list[str]
    replay: MujocoReplay


def evaluated(folder: Path, env: list[str], *more: str) -> Recorded:
    pytest.importorskip("h5py")
    pytest.importorskip("hydra")
    from hydra import compose, initialize_config_module

    from safe_rl.cli.scoring import evaluate
    from safe_rl.cli.settings import EvalSettings, checked, register_resolvers
    from safe_rl.evaluation.demonstrations import write_demonstrations

    register_resolvers()
    overrides = [*env, *more, "specs=safemanip", "policy=scripted", "seed=3", f"output={folder}"]
    overrides += ["eval=quick", "eval.episodes=1", "eval.record=true", "eval.timelines=0"]
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        settings = checked(compose("eval", overrides), EvalSettings)
    evaluate(settings, lambda env: None)
    (episode,) = load_episodes(folder / "episodes" / "part_00000.episodes.npz")
    assert settings.env is not None
    replay = make_replay(settings.env.id, settings.env.kwargs, "steps")
    path = write_demonstrations(folder / "demo.hdf5", replay.env, [episode])
    return Recorded(folder, episode, path, env, replay)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    # numpy: compiling takes longer than the few hundred steps of these tests.
    env = ["env=robosuite/stack", "+env.kwargs.backend=numpy", "+env.kwargs.horizon=140"]
    return evaluated(tmp_path_factory.mktemp("stack"), env, "manner=drop_high")


@pytest.fixture(scope="module")
def bowl(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    env = ["env=libero/libero_goal", "env.kwargs.task=8", "+env.kwargs.backend=numpy"]
    return evaluated(tmp_path_factory.mktemp("bowl"), env)


ROBOSUITE = pytest.param("stack", marks=[pytest.mark.robosuite, pytest.mark.slow])
LIBERO = pytest.param("bowl", marks=[pytest.mark.libero, pytest.mark.robosuite, pytest.mark.slow])
BOTH = pytest.mark.parametrize("recorded", [ROBOSUITE, LIBERO], indirect=True)


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Recorded:
    return request.getfixturevalue(request.param)


def counts(report: Path) -> dict[str, tuple[int, ...]]:
    rows = json.loads(report.read_text())["policies"][0]["specifications"]
    return {row["name"]: tuple(row[key] for key in ("N", "V", "U", "pending")) for row in rows}


@BOTH
def test_audits_of_letters_and_of_states_give_the_counts_of_the_evaluation(recorded, tmp_path):
    live = counts(recorded.folder / "report.json")
    assert live["released_object_eventually_settles"][0] == 1
    env = [word for own in recorded.env for word in ("--env", own)]
    for name, paths in (("letters", [recorded.folder / "episodes"]), ("states", [recorded.hdf5])):
        out = tmp_path / name
        words = ["audit", *paths, *env, "--specs", "safemanip", "--out", out, "--resamples", 0]
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        assert counts(out / "report.json") == live, name
        stepped = f"{recorded.episode.steps - 1} recorded actions were stepped"
        assert (stepped in result.output) == (name == "states")
    assert "steps_adrift" in (out / "episodes.csv").read_text().splitlines()[0]


def letters_of(own: Any, names: tuple[str, ...]) -> np.ndarray:
    return own.letters[:, [own.propositions.index(name) for name in names]]


@BOTH
def test_stepping_from_recorded_states_gives_the_letters_of_the_recording(recorded):
    live, replay = recorded.episode, recorded.replay
    replay._how = "steps"
    states = RecordedStates(live.states, live.actions, live.placements)
    (shown,) = load_demonstrations(recorded.hdf5, replay)
    for own in (replay.replay(states), shown):
        np.testing.assert_array_equal(letters_of(own, live.propositions), live.letters)
        np.testing.assert_array_equal(own.engaged, live.engaged)
        assert own.success == live.success
        assert own.drift.beyond == 0 and own.drift.largest < 1e-5
    assert (shown.terminated, shown.truncated) == (live.terminated, live.truncated)
    assert shown.instruction == live.instruction
    # only shown, the states lack what touched between them, and the last one
    replay._how = "states"
    (still,) = load_demonstrations(recorded.hdf5, replay)
    assert still.drift is None and len(still.letters) == live.steps and still.truncated
    same = letters_of(still, live.propositions) == live.letters[:-1]
    assert 0.99 < same.mean() <= 1.0


@BOTH
def test_a_dataset_keeps_the_states_that_replay_to_the_same_trace(recorded, tmp_path):
    # https://github.com/google-deepmind/dm_control/issues/64: a warm start that was not saved
    pytest.importorskip("pyarrow")
    live, replay = recorded.episode, recorded.replay
    with LeRobotWriter(tmp_path / "set", fps=20) as writer:
        writer.add(live)
    (kept,) = load_lerobot(tmp_path / "set")
    replay._how = "steps"
    found = replay.replay(RecordedStates(kept.states, kept.actions, kept.placements))
    np.testing.assert_array_equal(letters_of(found, live.propositions), live.letters)
    assert found.drift.beyond == 0 and found.drift.largest < 1e-5


@BOTH
def test_actions_that_lead_elsewhere_are_noticed_and_the_recorded_states_kept(recorded):
    live, replay = recorded.episode, recorded.replay
    replay._how = "steps"
    states = RecordedStates(live.states, -live.actions, live.placements)
    found = replay.replay(states)
    assert found.drift.compared == live.steps
    assert found.drift.beyond > live.steps / 2 and found.drift.largest > 1e-2
    for name in ("task_goal", *(n for n in live.propositions if n.startswith("object_left"))):
        np.testing.assert_array_equal(letters_of(found, (name,)), letters_of(live, (name,)))
    replay._how = "actions"
    (stepped,) = load_demonstrations(recorded.hdf5, replay)
    same = letters_of(stepped, live.propositions) == live.letters
    assert same.mean() > 0.99 and stepped.drift.largest < 0.05


@pytest.mark.libero
@pytest.mark.robosuite
@pytest.mark.slow
def test_fixtures_stand_where_the_recording_had_them(bowl):
    live, replay = bowl.episode, bowl.replay
    assert set(live.placements) == {
        "wooden_cabinet_1_main",
        "flat_stove_1_main",
        "wine_rack_1_main",
    }
    (demo,) = read_demonstrations(bowl.hdf5)
    for body, place in live.placements.items():
        np.testing.assert_allclose(demo.placements[body], place, atol=1e-5)
    away = dict.fromkeys(live.placements, (1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    place_bodies(replay.env._model, away, away)
    assert replay.env.placements() == away
    replay.replay(RecordedStates(live.states[:2], live.actions[:1], live.placements))
    assert replay.env.placements() == live.placements
    with pytest.raises(RecordingError, match="does not say where the fixture 'wooden_cabinet_1"):
        replay.replay(RecordedStates(live.states, live.actions))


@BOTH
def test_what_is_not_of_this_simulator_is_refused(recorded, tmp_path):
    live, replay = recorded.episode, recorded.replay
    replay._how = "steps"
    good = RecordedStates(live.states, live.actions, live.placements)
    for changed, words in (
        ({"states": live.states[:, :9]}, r"shape \(\d+, 9\).*choose the environment"),
        ({"states": np.full_like(live.states, np.nan)}, "not finite"),
        ({"actions": live.actions[:-2]}, "actions for"),
        (
            {"task": "open_the_middle_drawer_of_the_cabinet"},
            "recorded in the task 'open_the_middle",
        ),
    ):
        with pytest.raises(RecordingError, match=words):
            replay.replay(replace(good, **changed))
    replay._how = "actions"
    with pytest.raises(RecordingError, match="no actions are recorded"):
        replay.replay(replace(good, actions=None))


@pytest.mark.robosuite
@pytest.mark.slow
def test_what_was_shown_is_grounded_again_from_its_scene_frames(stack):
    from safe_rl.evaluation.audit.mujoco_scenes import record_demonstrations

    stack.replay._how = "steps"
    for path in (stack.hdf5, stack.folder / "episodes" / "part_00000.episodes.npz"):
        scenes = record_demonstrations([path], stack.replay)
        (again,) = scenes.ground(scenes.settings, stack.episode.propositions)
        live = letters_of(stack.episode, again.propositions)
        np.testing.assert_array_equal(again.letters, live)


def test_what_cannot_show_states_is_said():
    with pytest.raises(ConfigurationError, match="cannot show recorded MuJoCo states"):
        make_replay("safe_rl/KitchenGrid-v0", {}, "states")
    with pytest.raises(ConfigurationError, match="choose one of steps, states, actions"):
        make_replay(LIFT, {}, "backwards")
