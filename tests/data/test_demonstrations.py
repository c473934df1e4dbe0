"""HDF5 files of simulator states: reading them, and labelling them by a replay."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

from safe_rl.data import (
    Drift,
    ReplayedLetters,
    annotate,
    find_recordings,
    load_demonstrations,
    load_recording,
    read_demonstrations,
    recorded_states,
    save_demonstrations,
)
from safe_rl.data.model_xml import placements_in
from safe_rl.errors import GroundingError, RecordingError
from safe_rl.specs import Specification
from tests.data.recorded import episode


def write(path, **demos):
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        for name, arrays in demos.items():
            group = data.create_group(name)
            for key, value in arrays.items():
                group[key] = value
    return path


def demo(steps=3, **arrays):
    return {
        "states": np.arange(2.0 * steps).reshape(steps, 2),
        "actions": np.zeros((steps, 7)),
        "rewards": np.arange(1.0, steps + 1),
        **arrays,
    }


class Above:
    """Labels a state by its first number; ``actions`` would give one state more."""

    def replay(self, recorded):
        letters = recorded.states[:, :1] > 1
        return ReplayedLetters(("above",), letters, letters[:, 0], True, env_id="a/Simulator-v0")


def test_demonstrations_come_in_the_order_of_their_numbers(tmp_path):
    path = write(tmp_path / "x.hdf5", demo_10=demo(2), demo_2=demo(3), mask=demo(1))
    assert [own.name for own in read_demonstrations(path)] == ["demo_2", "demo_10"]


def test_a_replay_labels_the_states(tmp_path):
    path = write(tmp_path / "x.hdf5", demo_0=demo())
    (own,) = load_demonstrations(path, Above())
    assert own.letters[:, 0].tolist() == [False, True, True]
    assert own.rewards.tolist() == [1.0, 2.0]  # the last action leads to a state not in the file
    assert (own.terminated, own.truncated, own.success) == (False, True, True)
    assert own.env_id == "a/Simulator-v0"


@pytest.mark.parametrize(
    ("demos", "words"),
    [
        ({}, "there are no demonstrations"),
        ({"demo_0": {"actions": np.zeros((2, 7))}}, "no simulator states"),
        ({"demo_0": demo(states=np.zeros(4))}, "finite numbers"),
        ({"demo_0": demo(states=np.full((3, 2), np.nan))}, "finite numbers"),
        ({"demo_0": demo(actions=np.zeros((2, 7)))}, "2 actions for 3 states"),
    ],
)
def test_damage_is_one_clear_error(tmp_path, demos, words):
    path = write(tmp_path / "x.hdf5", **demos)
    with pytest.raises(RecordingError, match=words) as error:
        read_demonstrations(path)
    assert str(path) in str(error.value)


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "x.hdf5"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(RecordingError, match="damaged or not an HDF5 file"):
        read_demonstrations(path)
    with h5py.File(path, "w") as file:
        file.create_group("other")
    with pytest.raises(RecordingError, match="no group 'data'"):
        read_demonstrations(path)
    whole = write(path, demo_0=demo(400)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordingError, match="damaged or not an HDF5 file"):
        read_demonstrations(path)


def test_a_replay_that_refuses_names_the_demonstration(tmp_path):
    class Refusing:
        def replay(self, recorded):
            raise RecordingError("states of another model")

    path = write(tmp_path / "x.hdf5", demo_4=demo())
    with pytest.raises(RecordingError, match="data/demo_4: states of another model"):
        load_demonstrations(path, Refusing())


MODEL = """<?xml version="1.0"?>
<mujoco model="base"><worldbody>
  <geom name="floor" pos="9 9 9"/>
  <body name="door" pos="0.1 -0.2 0.9" quat="0 0 0 1"><body name="latch" pos="1 1 1"/></body>
  <body name="table"/>
</worldbody><body name="stray" pos="5 5 5"/></mujoco>"""


def test_only_where_the_worlds_bodies_stand_is_read_of_a_model():
    assert placements_in("x", MODEL) == {
        "door": (0.1, -0.2, 0.9, 0.0, 0.0, 0.0, 1.0),
        "table": (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    }


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>', "document type"),
        ("<mujoco><worldbody>", "no XML"),
        ("", "no XML"),
        (MODEL.replace("0.1 -0.2 0.9", "0.1 -0.2"), "'door' stands at"),
        (MODEL.replace("0.1 -0.2 0.9", "0.1 nan 0.9"), "'door' stands at"),
        (MODEL.replace("0.1 -0.2 0.9", "__import__ 0 0"), "'door' stands at"),
    ],
)
def test_a_model_that_is_none_is_refused(xml, words):
    with pytest.raises(RecordingError, match=words):
        placements_in("x", xml)


LIBERO = {"bddl_file_name": "/data/bddl_files/libero_goal/put_it_there.bddl"}
ROBOMIMIC = {"env_args": json.dumps({"env_name": "Lift", "type": 1})}


def test_what_is_written_is_read(tmp_path):
    states = np.arange(12.0).reshape(4, 3)
    first = replace(
        episode(set(), {"lifted"}, set(), {"asked"}),
        states=states,
        actions=np.arange(6, dtype=np.float32).reshape(3, 2),
    )
    second = replace(first, terminated=False, truncated=True)
    for attributes, task in ((LIBERO, "put_it_there"), (ROBOMIMIC, "Lift"), ({}, "")):
        path = save_demonstrations(
            tmp_path / "new" / "x.hdf5", [first, second], state_size=2, attributes=attributes,
            models=[MODEL] * 2,
        )  # fmt: skip
        one, other = read_demonstrations(path)
        np.testing.assert_array_equal(one.states, states[:3, :2])  # the last one is not in there
        np.testing.assert_array_equal(one.actions, first.actions)
        np.testing.assert_array_equal(one.rewards, first.rewards)
        assert (one.task, one.terminated, other.terminated) == (task, True, False)
        assert recorded_states(one).placements["door"] == (0.1, -0.2, 0.9, 0.0, 0.0, 0.0, 1.0)
    with h5py.File(path) as file:
        assert file["data"].attrs["total"] == 6 and file["data"].attrs["num_demos"] == 2
        assert file["data/demo_1/dones"][()].tolist() == [0, 0, 1]
        assert file["data/demo_1"].attrs["num_samples"] == 3


def test_without_states_nothing_is_written(tmp_path):
    with pytest.raises(RecordingError, match=r"episode 0 has .* no simulator states"):
        save_demonstrations(
            tmp_path / "x.hdf5", [episode(set(), set())], state_size=1, attributes={}, models=[""]
        )
    assert not list(tmp_path.iterdir())


class Stepping(Above):
    """One letter more than there are actions, as a replay that steps them gives."""

    def replay(self, recorded):
        letters = np.zeros((len(recorded.states) + 1, 1), bool)
        return ReplayedLetters(("above",), letters, drift=Drift(2, 1, 0.5, 2))


def test_an_episode_terminates_only_if_the_file_says_so_and_its_last_step_was_seen(tmp_path):
    path = write(tmp_path / "x.hdf5", demo_0=demo(), demo_1=demo())
    with h5py.File(path, "a") as file:
        file["data/demo_1"].attrs["terminated"] = True
    ends = {}
    for replay in (Above(), Stepping()):
        ends[type(replay)] = [own.terminated for own in load_demonstrations(path, replay)]
    assert ends == {Above: [False, False], Stepping: [False, True]}
    assert load_demonstrations(path, Stepping())[0].drift == Drift(2, 1, 0.5, 2)
    assert load_demonstrations(path, Above())[0].drift is None


class OneMore(Above):
    """Labels the state that the last action led to as well, as stepping it does."""

    def replay(self, recorded):
        found = super().replay(recorded)
        return replace(found, letters=np.concatenate([found.letters, [[True]]]), engaged=None)


def test_what_was_seen_is_read_where_the_file_has_it(tmp_path):
    images = np.arange(3 * 2 * 2 * 3, dtype=np.uint8).reshape(3, 2, 2, 3)
    path = write(tmp_path / "x.hdf5", demo_0=demo())
    with h5py.File(path, "r+") as file:
        for key, shift in (("obs", 0), ("next_obs", 1)):
            group = file["data/demo_0"].create_group(key)
            group["agentview_image"] = images + shift
            group["robot0_eef_pos"] = np.arange(9.0).reshape(3, 3) + shift
    assert load_demonstrations(path, Above())[0].observations == {}
    (own,) = load_demonstrations(path, Above(), observations=True)
    assert set(own.observations) == {"images.agentview", "robot0_eef_pos"}
    np.testing.assert_array_equal(own.observations["images.agentview"], images)
    (own,) = load_demonstrations(path, OneMore(), observations=True)
    np.testing.assert_array_equal(own.observations["images.agentview"][3], images[2] + 1)
    with h5py.File(path, "r+") as file:
        del file["data/demo_0/next_obs"]
    assert load_demonstrations(path, OneMore(), observations=True)[0].observations == {}
    with h5py.File(path, "r+") as file:
        file["data/demo_0/obs/short"] = np.zeros(2)
    with pytest.raises(RecordingError, match="2 rows of obs/short for 3 states"):
        load_demonstrations(path, Above(), observations=True)


def test_without_a_simulator_there_are_no_propositions(tmp_path):
    path = write(tmp_path / "x.hdf5", demo_0=demo())
    (own,) = load_recording(find_recordings([path])[0])
    assert own.propositions == () and own.letters.shape == (3, 0)
    assert own.actions.shape == (2, 7) and own.rewards.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(own.states, demo()["states"])
    with pytest.raises(GroundingError, match="'above' are not recorded"):
        annotate(own, Specification("low", "G !above", trigger="above"))
