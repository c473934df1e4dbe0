"""LeRobot datasets of our own: exact re-reading, and recordings that are interrupted anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("PIL")

from safe_rl.data import (
    LeRobotWriter,
    annotate,
    find_recordings,
    lerobot_episodes,
    load_annotations,
    load_lerobot,
)
from safe_rl.data.lerobot import layout
from safe_rl.data.lerobot.stats import QUANTILES, column_stats
from safe_rl.errors import GroundingError, RecordingError
from safe_rl.specs import Specification
from tests.data.lerobot_recording import FPS, NAMES, SPECS, recorded
from tests.data.recorded import same


def write(root, episodes, **options):
    with LeRobotWriter(root, fps=FPS, specs=SPECS, **options) as writer:
        for number, own in enumerate(episodes):
            assert writer.add(own) == number
    return writer


@pytest.mark.parametrize("per_file", [1, 3])
def test_what_is_written_is_read_bit_for_bit(tmp_path, per_file):
    episodes = [recorded(number) for number in range(7)]
    write(tmp_path, episodes, per_file=per_file)
    read = load_lerobot(tmp_path)
    assert len(read) == 7
    assert all(same(own, wanted) for own, wanted in zip(read, episodes, strict=True))
    for own, wanted in zip(load_annotations(tmp_path), episodes, strict=True):
        expected = annotate(wanted, SPECS)
        assert own.specs == expected.specs
        for name in type(own).__dataclass_fields__:
            if name != "specs":
                one, other = getattr(own, name), getattr(expected, name)
                assert one.dtype == other.dtype, name
                np.testing.assert_array_equal(one, other, err_msg=name)
    # each data file can be read on its own, as an audit does
    parts = [load_lerobot(own.path, own.root) for own in find_recordings([tmp_path])]
    assert [len(part) for part in parts] == ([1] * 7 if per_file == 1 else [3, 3, 1])
    assert same(parts[-1][0], episodes[6])
    assert load_lerobot(tmp_path, observations=False)[2].observations == {}


def test_an_episode_without_what_may_be_absent(tmp_path):
    episodes = [
        recorded(number, actions=None, states=None, placements={}, observations={})
        for number in range(3)
    ]
    with LeRobotWriter(tmp_path, fps=FPS) as writer:  # and without specifications
        for own in episodes:
            writer.add(own)
    assert all(same(*pair) for pair in zip(load_lerobot(tmp_path), episodes, strict=True))
    with pytest.raises(RecordingError, match="written without specifications"):
        load_annotations(tmp_path)
    assert [own.safe for own in lerobot_episodes(tmp_path)] == [None] * 3


def test_actions_of_one_number_and_rules_without_instances(tmp_path):
    own = recorded(0, steps=2, actions=np.array([3, 1]), objects={"graspable": ()})
    write(tmp_path, [own])
    (read,) = load_lerobot(tmp_path)
    assert same(read, own)
    (found,) = load_annotations(tmp_path)
    assert found.violated.shape == (3, 1) and found.costs.shape == (3, 2)


def test_what_is_said_of_an_episode(tmp_path):
    with LeRobotWriter(tmp_path, fps=FPS, specs=SPECS) as writer:
        writer.add(recorded(0), reason="dropped", labels={"family": "lift", "draw": [1, 2]})
        writer.add(recorded(1))
    first, second = lerobot_episodes(tmp_path)
    assert [first, second] == writer.episodes
    assert (first.reason, first.labels) == ("dropped", {"family": "lift", "draw": [1, 2]})
    assert (first.seed, first.success, second.success) == (0, True, False)
    expected = annotate(recorded(0), SPECS)
    assert first.safe == expected.safe
    assert first.counts["V"] == tuple(expected.V) and first.counts["N"] == tuple(expected.N)


def test_the_statistics_are_those_of_all_frames(tmp_path):
    episodes = [recorded(number) for number in range(5)]
    write(tmp_path, episodes[:3])
    write_more(tmp_path, episodes[3:])
    stats = json.loads((tmp_path / layout.STATS).read_text())
    rows = np.concatenate([own.observations["state"][:-1] for own in episodes]).astype(float)
    found = stats["observation.state"]
    np.testing.assert_allclose(found["mean"], rows.mean(axis=0))
    np.testing.assert_allclose(found["std"], rows.std(axis=0))
    np.testing.assert_allclose(found["min"], rows.min(axis=0))
    assert found["count"] == [len(rows)]
    pixels = np.concatenate([own.observations["images.front"][:-1] for own in episodes]) / 255
    camera = stats["observation.images.front"]
    np.testing.assert_allclose(np.ravel(camera["mean"]), pixels.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(np.ravel(camera["std"]), pixels.std(axis=(0, 1, 2)))
    np.testing.assert_allclose(np.ravel(camera["max"]), pixels.max(axis=(0, 1, 2)))
    assert np.shape(camera["mean"]) == (3, 1, 1)


def test_the_quantiles_of_images_are_those_of_their_pixels():
    images = np.random.default_rng(0).integers(3, 250, (4, 8, 9, 3), np.uint8)
    found = column_stats(images)
    for name, q in QUANTILES.items():
        expected = np.quantile(images.reshape(-1, 3), q, axis=0, method="inverted_cdf") / 255
        np.testing.assert_allclose(found[name].ravel(), expected)


def write_more(root, episodes):
    with LeRobotWriter(root, fps=FPS, specs=SPECS, resume=True) as writer:
        for own in episodes:
            writer.add(own)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"env_id": "other/Env-v0"}, "env_id differ"),
        ({"propositions": (*NAMES[:5], "other")}, "'answer' .*not recorded"),
        ({"objects": {"graspable": ("a",)}}, "objects differ"),
        ({"actions": None}, "'action' is absent"),
        ({"observations": {"state": np.zeros((3, 5), np.float32)}}, "features differ"),
    ],
)
def test_an_episode_that_does_not_fit_leaves_the_dataset_as_it_was(tmp_path, change, words):
    write(tmp_path, [recorded(0)])
    with LeRobotWriter(tmp_path, fps=FPS, specs=SPECS, resume=True) as writer:
        with pytest.raises((RecordingError, GroundingError), match=words):
            writer.add(recorded(1, steps=2, **change))
        writer.add(recorded(1))
    assert same(load_lerobot(tmp_path)[1], recorded(1))


def test_a_dataset_is_not_written_over(tmp_path):
    write(tmp_path, [recorded(0)])
    with pytest.raises(RecordingError, match="there is a dataset already; give resume=True"):
        LeRobotWriter(tmp_path, fps=FPS)
    with pytest.raises(RecordingError, match="fps differ"):
        with LeRobotWriter(tmp_path, fps=10, specs=SPECS, resume=True) as writer:
            writer.add(recorded(1))
    with pytest.raises(RecordingError, match="specs differ|features differ"):
        with LeRobotWriter(
            tmp_path, fps=FPS, specs=Specification("a", "G(ask -> answer)"), resume=True
        ) as writer:
            writer.add(recorded(1))
    with pytest.raises(RecordingError, match="no steps"):
        write_more(tmp_path, [recorded(1, steps=0)])
    (tmp_path / layout.SAFETY).unlink()
    with pytest.raises(RecordingError, match="another program wrote"):
        LeRobotWriter(tmp_path, fps=FPS, resume=True)


def test_one_program_at_a_time(tmp_path):
    with LeRobotWriter(tmp_path, fps=FPS):
        with pytest.raises(RecordingError, match="another program is recording"):
            LeRobotWriter(tmp_path, fps=FPS, resume=True)
    LeRobotWriter(tmp_path, fps=FPS).close()


class Killed(BaseException):
    pass


@pytest.mark.parametrize("begun", [0, 1])
@pytest.mark.parametrize("moment", range(1, 7))
def test_an_interruption_between_any_two_files(tmp_path, monkeypatch, begun, moment):
    write(tmp_path, [recorded(number) for number in range(begun)])
    moves, move = [], Path.replace

    def counted(path, target):
        moves.append(target)
        if len(moves) == moment:
            raise Killed
        return move(path, target)

    monkeypatch.setattr(Path, "replace", counted)
    writer = LeRobotWriter(tmp_path, fps=FPS, specs=SPECS, resume=True)
    try:
        writer.add(recorded(begun))
    except Killed:
        pass
    writer._lock.close()  # as the end of a process does
    monkeypatch.undo()
    files = 5 if begun else 6  # (the description), rows, frames, tasks, stats, info
    complete = begun + (moment > files)
    assert len(moves) == min(moment, files)
    if complete:
        assert len(load_lerobot(tmp_path)) == complete
        assert len(find_recordings([tmp_path])) == complete  # a file that is not counted is none
    write_more(tmp_path, [recorded(number) for number in range(complete, 3)])
    read = load_lerobot(tmp_path)
    assert all(same(own, recorded(number)) for number, own in enumerate(read)) and len(read) == 3
    assert not list(tmp_path.rglob("*.tmp*"))
    stats = json.loads((tmp_path / layout.STATS).read_text())
    assert stats["action"]["count"] == [sum(own.steps for own in read)]


def test_a_killed_recording_goes_on_without_a_lost_or_double_episode(tmp_path):
    program = [sys.executable, "-m", "tests.data.lerobot_recording", str(tmp_path)]
    here = Path(__file__).parents[2]
    counts = []
    for _ in range(2):
        process = subprocess.Popen([*program, "100000"], stdout=subprocess.PIPE, cwd=here)
        assert process.stdout is not None
        counts.append(int(process.stdout.readline()))
        while stored(tmp_path) < counts[-1] + 3:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(load_lerobot(tmp_path)) == stored(tmp_path)  # it opens as it was left
    total = stored(tmp_path) + 2
    assert counts[0] == 0 and counts[1] >= 3
    subprocess.run([*program, str(total)], check=True, cwd=here)
    said = lerobot_episodes(tmp_path)
    assert [own.labels["number"] for own in said] == list(range(total))
    read = load_lerobot(tmp_path)
    assert all(same(own, recorded(number)) for number, own in enumerate(read))
    assert len(read) == total


def stored(root):
    """How many episodes a recording under way has."""
    try:
        return json.loads((root / layout.INFO).read_text())["total_episodes"]
    except FileNotFoundError:
        return 0


def damage_rows(root):
    layout.episodes_path(root, 1).unlink()


def damage_images(root):
    path = layout.data_path(root, 0)
    table = pq.ParquetFile(path).read()
    images = [{"bytes": b"no image", "path": None}] * len(table)
    place = table.column_names.index("observation.images.front")
    kind = table.schema.field(place).type
    import pyarrow as pa

    pq.write_table(
        table.set_column(place, "observation.images.front", pa.array(images, kind)), path
    )


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_rows, "no row of episode 1 of 2"),
        (damage_images, "image 0 of 'observation.images.front': not a PNG or JPEG"),
        (lambda root: (root / layout.SAFETY).write_text("[1]"), "a JSON object is expected"),
        (lambda root: (root / layout.SAFETY).write_text('{"version": 2}'), "version 2, but this"),
        (lambda root: layout.data_path(root, 1).write_bytes(b"PAR1"), "not a Parquet file"),
    ],
)
def test_damage_is_one_clear_error(tmp_path, damage, words):
    write(tmp_path, [recorded(0), recorded(1)])
    damage(tmp_path)
    with pytest.raises(RecordingError, match=words):
        load_lerobot(tmp_path)
        lerobot_episodes(tmp_path)


def test_cameras_as_videos(tmp_path):
    pytest.importorskip("cv2")
    episodes = [with_picture(number) for number in range(3)]
    write(tmp_path, episodes, video=True, per_file=2)
    assert layout.video_path(tmp_path, "observation.images.front", 1).is_file()
    for own, wanted in zip(load_lerobot(tmp_path), episodes, strict=True):
        assert same(own, wanted, but=("observations",))
        np.testing.assert_array_equal(own.observations["state"], wanted.observations["state"])
        seen, shown = own.observations["images.front"], wanted.observations["images.front"]
        assert seen.shape == shown.shape
        assert np.abs(seen.astype(int) - shown).mean() < 4
        np.testing.assert_array_equal(seen[-1], shown[-1])  # the last one is kept as an image
    layout.video_path(tmp_path, "observation.images.front", 0).unlink()
    with pytest.raises(RecordingError, match="not a video that OpenCV can read, or missing"):
        load_lerobot(tmp_path)


def with_picture(number, **fields):
    """A bright square that moves over a ramp: a video codec is made for such."""
    images = np.zeros((6, 48, 64, 3), np.uint8)
    images += np.linspace(0, 150, 64).astype(np.uint8)[None, None, :, None]
    for frame, image in enumerate(images):
        image[10:20, 5 + 6 * frame : 15 + 6 * frame, number % 3] = 250
    state = np.arange(18, dtype=np.float32).reshape(6, 3)
    seen = {"state": state, "images.front": images}
    return recorded(number, steps=5, observations=seen, **fields)
