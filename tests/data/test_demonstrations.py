"""HDF5 files of simulator states: reading them, and labelling them by a replay."""

from __future__ import annotations

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

from safe_rl.data import ReplayedLetters, load_demonstrations, read_demonstrations
from safe_rl.errors import RecordingError


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

    def replay(self, states, actions):
        letters = states[:, :1] > 1
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
        def replay(self, states, actions):
            raise RecordingError("states of another model")

    path = write(tmp_path / "x.hdf5", demo_4=demo())
    with pytest.raises(RecordingError, match="data/demo_4: states of another model"):
        load_demonstrations(path, Refusing())
