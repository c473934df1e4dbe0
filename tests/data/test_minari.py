"""Minari datasets in HDF5, read without Minari: the layout that minari 0.5.4 writes."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

from safe_rl.data import annotate, find_recordings, load_minari, load_recording
from safe_rl.errors import GroundingError, RecordingError
from safe_rl.specs import Specification

FAST = Specification("slow_on_the_left", "G(left -> !fast)")
LETTERS = {"fast": [False, True, True], "left": [False, False, True]}


def write(root, *, observations=None, infos=None, count=1, **changed):
    """A dataset of episodes of two steps, as ``DataCollector.create_dataset`` leaves it."""
    data = root / "data"
    data.mkdir(parents=True)
    spec = json.dumps({"id": "CartPole-v1"})
    (data / "metadata.json").write_text(json.dumps({"data_format": "hdf5", "env_spec": spec}))
    with h5py.File(data / "main_data.hdf5", "w") as file:
        for number in range(count):
            group = file.create_group(f"episode_{number}")
            group.attrs["id"], group.attrs["seed"] = number, 7 + number
            arrays = {
                "actions": np.array([1, number]),
                "rewards": np.array([1.0, 0.5]),
                "terminations": np.array([False, True]),
                "truncations": np.array([False, False]),
                "observations": np.arange(6.0).reshape(3, 2),
                **({} if observations is None else {"observations": observations}),
                **changed,
            }
            put(group, {**arrays, "infos": {"propositions": LETTERS} if infos is None else infos})
    return data / "main_data.hdf5"


def put(group, values):
    for name, value in values.items():
        if isinstance(value, dict):
            put(group.create_group(name), value)
        else:
            group[name] = value


def test_a_dataset_is_read(tmp_path):
    path = write(tmp_path, count=11)
    (recording,) = find_recordings([tmp_path])
    assert (recording.kind, recording.path) == ("minari", path)
    read = load_recording(recording)
    assert [own.seed for own in read] == list(range(7, 18))  # episode_10 after episode_9
    own = read[3]
    assert own.propositions == ("fast", "left") and own.env_id == "CartPole-v1"
    np.testing.assert_array_equal(own.letters.T, list(LETTERS.values()))
    np.testing.assert_array_equal(own.actions, [1, 3])
    np.testing.assert_array_equal(own.rewards, [1.0, 0.5])
    assert (own.terminated, own.truncated, own.success, own.engaged) == (True, False, None, None)
    assert own.observations["state"].dtype == np.float32
    assert annotate(own, FAST).V.tolist() == [1]
    assert load_minari(tmp_path, observations=False)[0].observations == {}


def test_observations_in_parts_with_images(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    images = np.zeros((3, 8, 8, 3), np.uint8)
    images[1] = 200
    data = write(tmp_path, observations={"arm": {"joints": np.zeros((3, 7))}})
    with h5py.File(data, "r+") as file:
        kind = h5py.vlen_dtype(np.uint8)
        kept = file["episode_0/observations"].create_dataset("wrist_rgb", (3,), kind)
        for number, image in enumerate(images):
            content = io.BytesIO()
            Image.fromarray(image).save(content, "JPEG")
            kept[number] = np.frombuffer(content.getvalue(), np.uint8)
    (own,) = load_minari(data)
    assert set(own.observations) == {"arm.joints", "images.wrist"}
    assert np.abs(own.observations["images.wrist"].astype(int) - images).max() < 3


def test_what_the_environment_told_besides(tmp_path):
    infos = {"success": [False, False, True], "engaged": [False, True, True], "other": [1, 2, 3]}
    (own,) = load_minari(write(tmp_path, infos=infos))
    assert own.success is True and own.engaged.tolist() == [False, True, True]
    with pytest.raises(GroundingError, match="not recorded"):
        annotate(own, FAST)  # no propositions were kept, and none is read as false


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"infos": {"propositions": {"left": [True, False]}}}, "'left' must hold 3 truth values"),
        ({"infos": {"propositions": {"left": [1, 0, 1]}}}, "'left' must hold 3 truth values"),
        ({"actions": np.zeros(3)}, "episode_0: actions has 3 rows"),
        ({"observations": np.zeros((2, 2))}, "'state' must be float32 .* with 3 frames"),
        ({"rewards": np.array([np.nan, 0.0])}, "the reward of step 0 is not finite"),
    ],
)
def test_damage_is_one_clear_error(tmp_path, changed, words):
    path = write(tmp_path, **changed)
    with pytest.raises(RecordingError, match=words) as error:
        load_minari(path)
    assert str(path) in str(error.value)


def test_what_is_no_dataset(tmp_path):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RecordingError, match="damaged or not an HDF5 file"):
        load_minari(path)
    path.with_name("metadata.json").write_text("[]")
    with pytest.raises(RecordingError, match="metadata.json: cannot be read"):
        load_minari(path)
    path.with_name("metadata.json").unlink()
    with pytest.raises(RecordingError, match="no Minari dataset in HDF5"):
        load_minari(path)
