"""LeRobot v3 datasets with logged propositions."""

from __future__ import annotations

import json

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")
import pyarrow as pa

from safe_rl.data import find_recordings, load_lerobot
from safe_rl.errors import RecordingError
from tests.data.lerobot_dataset import write_dataset
from tests.data.recorded import episode

OBJECTS = {"graspable": ("mug",)}


def some(**fields):
    return episode(
        set(),
        {"lifted"},
        {"lifted", "lid_on"},
        objects=OBJECTS,
        engaged=np.array([False, True, True]),
        **fields,
    )


EPISODES = [
    some(success=True, instruction="lift the mug"),
    some(success=False, terminated=False, truncated=True, instruction="put it down"),
]


def test_a_dataset_is_read(tmp_path):
    write_dataset(tmp_path, EPISODES)
    (recording,) = find_recordings([tmp_path])
    assert (recording.kind, recording.root) == ("lerobot", tmp_path)
    read = load_lerobot(recording.path, recording.root)
    for own, wanted in zip(read, EPISODES, strict=True):
        np.testing.assert_array_equal(own.letters, wanted.letters)
        np.testing.assert_array_equal(own.rewards, wanted.rewards)  # not the made-up last one
        np.testing.assert_array_equal(own.engaged, wanted.engaged)
        for name in ("propositions", "success", "terminated", "truncated", "objects"):
            assert getattr(own, name) == getattr(wanted, name), name
        assert own.instruction == wanted.instruction
        assert own.env_id == "panda"


def test_done_alone_does_not_say_that_an_episode_terminated(tmp_path):
    data = write_dataset(tmp_path, EPISODES, terminated=False)
    assert [own.truncated for own in load_lerobot(data, tmp_path)] == [True, True]


def test_frames_in_any_order(tmp_path):
    data = write_dataset(tmp_path, EPISODES)
    table = pq.ParquetFile(data).read()
    pq.write_table(table.take(pa.array([4, 1, 5, 0, 3, 2])), data)
    first, second = load_lerobot(data, tmp_path)  # in the order in which they first appear
    np.testing.assert_array_equal(first.letters, EPISODES[1].letters)
    np.testing.assert_array_equal(second.letters, EPISODES[0].letters)


def change_info(root, change):
    path = root / "meta" / "info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda info: info.update(codebase_version="v2.1"), "codebase_version is 'v2.1'"),
        (lambda info: info["features"].clear(), "no feature 'safety.propositions'"),
        (
            lambda info: info["features"]["safety.propositions"].update(names=None),
            "must be a list of texts",
        ),
        (
            lambda info: info["features"]["safety.propositions"].update(names=["lifted"]),
            "does not hold 1 numbers in every frame",
        ),
        (lambda info: info["safety"].update(objects=["mug"]), "safety.objects must map"),
    ],
)
def test_a_wrong_description_is_one_clear_error(tmp_path, change, words):
    data = write_dataset(tmp_path, EPISODES)
    change_info(tmp_path, change)
    with pytest.raises(RecordingError, match=words):
        load_lerobot(data, tmp_path)


def test_names_may_stand_under_one_key(tmp_path):
    data = write_dataset(tmp_path, EPISODES)
    names = list(EPISODES[0].propositions)
    change_info(
        tmp_path,
        lambda info: info["features"]["safety.propositions"].update(names={"propositions": names}),
    )
    assert load_lerobot(data, tmp_path)[0].propositions == EPISODES[0].propositions


def replaced(data, name, values, kind=None):
    table = pq.ParquetFile(data).read()
    table = table.drop_columns([name])
    if values is not None:
        table = table.append_column(name, pa.array(values, kind))
    pq.write_table(table, data)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("safety.propositions", None, "column 'safety.propositions' is missing"),
        ("safety.propositions", [[0.0, 0.5, 1.0]] * 6, "0.5, which is neither 0 nor 1"),
        ("safety.propositions", [[0.0, None, 1.0]] * 6, "neither 0 nor 1"),
        ("safety.propositions", [[0.0, 1.0]] * 6, "does not hold 3 numbers"),
        ("frame_index", [0, 1, 3, 0, 1, 2], "not numbered from 0 without a gap"),
        ("frame_index", [0, 1, 1, 0, 1, 2], "not numbered from 0 without a gap"),
        ("next.reward", ["much"] * 6, "not one number per frame"),
        ("next.success", [2] * 6, "neither 0 nor 1"),
    ],
)
def test_a_damaged_column_is_one_clear_error(tmp_path, name, values, words):
    data = write_dataset(tmp_path, EPISODES)
    replaced(data, name, values)
    with pytest.raises(RecordingError, match=words) as error:
        load_lerobot(data, tmp_path)
    assert str(tmp_path) in str(error.value)


def test_a_damaged_data_file(tmp_path):
    data = write_dataset(tmp_path, EPISODES)
    data.write_bytes(data.read_bytes()[:-20])
    with pytest.raises(RecordingError, match="not a Parquet file, or damaged"):
        load_lerobot(data, tmp_path)
