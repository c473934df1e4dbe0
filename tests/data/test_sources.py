"""Finding recordings, and knowing them again."""

from __future__ import annotations

import pytest

from safe_rl.data import SUFFIX, find_recordings, save_episodes
from safe_rl.errors import RecordingError
from tests.data.recorded import episode


def test_a_folder_is_searched_and_each_file_stands_once(tmp_path):
    own = save_episodes(tmp_path / "a" / f"x{SUFFIX}", [episode(set())])
    (tmp_path / "b").mkdir()
    demo = tmp_path / "b" / "demo.hdf5"
    demo.touch()
    (tmp_path / "episodes.npz").touch()  # the counts of an evaluation are no recording
    found = find_recordings([tmp_path, own])
    assert [(r.path, r.kind) for r in found] == [(own, "episodes"), (demo, "demonstrations")]


def test_a_data_file_finds_its_dataset(tmp_path):
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text("{}")
    data = tmp_path / "data" / "chunk-000" / "file-000.parquet"
    data.parent.mkdir(parents=True)
    data.touch()
    assert find_recordings([data]) == find_recordings([tmp_path])


def test_the_mark_is_of_the_content(tmp_path):
    paths = [tmp_path / f"{name}{SUFFIX}" for name in "ab"]
    for path in paths:
        path.write_bytes(b"the same")
    one, other = find_recordings(paths)
    assert one.digest() == other.digest()
    paths[1].write_bytes(b"another")
    assert one.digest() != other.digest()


def test_the_mark_of_a_dataset_knows_its_description(tmp_path):
    (tmp_path / "meta").mkdir()
    info = tmp_path / "meta" / "info.json"
    info.write_text("{}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file-000.parquet").touch()
    (recording,) = find_recordings([tmp_path])
    before = recording.digest()
    info.write_text('{"fps": 20}')
    assert recording.digest() != before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path / "absent", "no such file or folder"),
        (lambda path: path, "no recordings in this folder"),
        (lambda path: (path / "x.txt").touch() or path / "x.txt", "of no known kind"),
        (lambda path: (path / "x.parquet").touch() or path / "x.parquet", "no LeRobot dataset"),
    ],
)
def test_what_is_no_recording_is_said(tmp_path, make, words):
    with pytest.raises(RecordingError, match=words):
        find_recordings([make(tmp_path)])
