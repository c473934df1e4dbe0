"""Recorded MuJoCo states, shown to the grounding of the environment that they come from."""

from __future__ import annotations

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.evaluation.audit.mujoco_scenes import record_demonstrations
from safe_rl.evaluation.audit.simulators import make_replay

LIFT = "safe_rl/RobosuiteLift-v0"


@pytest.mark.robosuite
@pytest.mark.slow
@pytest.mark.parametrize("how", ["states", "actions"])
def test_a_replay_gives_the_letters_of_the_recording(tmp_path, how):
    h5py = pytest.importorskip("h5py")
    from safe_rl.data import load_demonstrations
    from safe_rl.envs.robosuite import RobosuiteEnv
    from safe_rl.envs.robosuite.scripted import ScriptedPolicy

    env = RobosuiteEnv("Lift")
    policy = ScriptedPolicy("Lift", "drop_high")
    observation, _ = env.reset(seed=3)
    states, actions, letters = [], [], [env.propositions()]
    for step in range(80):
        states.append(env.simulation.sim.get_state().flatten())
        found, _ = policy.predict(observation[None], episode_start=np.array([step == 0]))
        actions.append(np.asarray(found)[0])
        observation, *_ = env.step(actions[-1])
        letters.append(env.propositions())
    env.close()
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["data/demo_0/states"] = np.array(states)
        file["data/demo_0/actions"] = np.array(actions)

    replay = make_replay(LIFT, {}, how)
    (own,) = load_demonstrations(tmp_path / "x.hdf5", replay)
    assert len(own.letters) == (80 if how == "states" else 81)
    names = own.propositions
    live = np.array([[letter[name] for name in names] for letter in letters[: len(own.letters)]])
    assert (own.letters == live).mean() > 0.99
    assert own.objects["graspable"] == ("cube",)
    assert own.engaged is not None and own.engaged[-1] and not own.engaged[0]
    # held, and let go on purpose: the gripper's target says so, a step earlier or later
    for name in ("object_grasped(cube)", "object_released(cube)"):
        column = names.index(name)
        there, seen = (np.flatnonzero(array[:, column])[0] for array in (live, own.letters))
        assert abs(there - seen) <= 1, name
    # what the replay grounded is grounded again from its scene frames
    scenes = record_demonstrations([tmp_path / "x.hdf5"], replay)
    (again,) = scenes.ground(scenes.settings, names)
    order = [again.propositions.index(name) for name in names]
    np.testing.assert_array_equal(again.letters[:, order], own.letters)


@pytest.mark.robosuite
@pytest.mark.slow
def test_states_of_another_model_are_refused():
    pytest.importorskip("robosuite")
    with pytest.raises(RecordingError, match=r"shape \(3, 9\).*choose the environment"):
        make_replay(LIFT, {}, "states").replay(np.zeros((3, 9)), None)
    with pytest.raises(RecordingError, match="no actions are recorded"):
        replay = make_replay(LIFT, {}, "actions")
        model = replay.env._model
        replay.replay(np.zeros((3, 1 + model.nq + model.nv)), None)


def test_what_cannot_show_states_is_said():
    with pytest.raises(ConfigurationError, match="cannot show recorded MuJoCo states"):
        make_replay("safe_rl/KitchenGrid-v0", {}, "states")
    with pytest.raises(ConfigurationError, match="choose one of states, actions"):
        make_replay(LIFT, {}, "backwards")
