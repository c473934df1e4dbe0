"""Files of episodes: what is written is read, and every damage is one clear error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from safe_rl.data import SUFFIX, Episode, EpisodeWriter, load_episodes, save_episodes
from safe_rl.errors import RecordingError
from tests.data.recorded import NAMES, episode, same


def observation(name: str, frames: int):
    if name == "state":
        return arrays.arrays(np.float32, (frames, 2), elements=st.floats(-9, 9, width=32))
    if name == "images.front":
        return arrays.arrays(np.uint8, (frames, 2, 3, 3))
    return arrays.arrays(np.int16, frames)


@st.composite
def recordings(draw) -> list[Episode]:
    """Episodes of one environment, each known or unknown in what may be unknown."""
    with_states, with_actions = draw(st.booleans()), draw(st.booleans())
    bodies = draw(
        st.lists(st.text(min_size=1, max_size=4, alphabet="abc_1"), unique=True, max_size=2)
    )
    seen = draw(st.sets(st.sampled_from(["state", "images.front", "touch.left"])))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.integers(0, 5))
        finite = st.floats(allow_nan=False, allow_infinity=False)
        place = st.tuples(*[finite] * 7)
        terminated = draw(st.booleans())
        found.append(
            Episode(
                propositions=NAMES,
                letters=draw(arrays.arrays(np.bool_, (steps + 1, len(NAMES)))),
                rewards=draw(arrays.arrays(np.float64, steps, elements=finite)),
                terminated=terminated,
                truncated=False if terminated else draw(st.booleans()),
                success=draw(st.none() | st.booleans()),
                engaged=draw(st.none() | arrays.arrays(np.bool_, steps + 1)),
                objects={"graspable": ("mug_1", "bowl")},
                env_id="some/Env-v0",
                instruction=draw(st.text(max_size=8).filter(lambda text: "\x00" not in text)),
                seed=draw(st.none() | st.integers(0, 2**60)),
                actions=draw(arrays.arrays(np.int64, (steps, 2))) if with_actions else None,
                states=(
                    draw(arrays.arrays(np.float64, (steps + 1, 3), elements=finite))
                    if with_states
                    else None
                ),
                placements={body: draw(place) for body in bodies},
                observations={name: draw(observation(name, steps + 1)) for name in sorted(seen)},
            )
        )
    return found


@settings(max_examples=30, deadline=None)
@given(recordings())
def test_what_is_written_is_read(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("store") / f"some{SUFFIX}"
    save_episodes(path, written)
    read = load_episodes(path)
    assert len(read) == len(written)
    assert all(same(a, b) for a, b in zip(written, read, strict=True))
    assert list(path.parent.iterdir()) == [path]  # nothing but the file is left


def good(path):
    return save_episodes(path / f"good{SUFFIX}", [episode({"lifted"}, set(), {"asked"})] * 2)


def altered(path, **changed):
    """Write a good file again with some arrays changed; ``None`` takes one away."""
    with np.load(good(path)) as file:
        arrays_ = {name: file[name] for name in file.files}
    arrays_ |= changed
    target = path / f"bad{SUFFIX}"
    with target.open("wb") as file:
        np.savez(file, **{name: a for name, a in arrays_.items() if a is not None})
    return target


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": np.asarray("other")}, "not a file of episodes"),
        ({"format": None}, "its format is 'missing'"),
        ({"version": np.asarray(2)}, "version 2 of the format"),
        ({"letters": None}, "'letters' is missing"),
        ({"letters": np.zeros((6, 3), np.int64)}, "'letters' has the type int64"),
        ({"letters": np.zeros((5, 3), np.bool_)}, "'letters' has the shape"),
        ({"letters": np.zeros((6, 2), np.bool_)}, "2 columns for 3 propositions"),
        ({"letters": np.array([[None]] * 6, object)}, "only plain arrays are read"),
        ({"frames": np.array([6, 0])}, "at least one frame"),
        ({"frames": np.array([], np.int64)}, "at least one frame"),
        ({"rewards": np.array([1.0, np.nan, 0.0, 0.0])}, "episode 0: the reward of step 1"),
        ({"rewards": np.zeros(3)}, "'rewards' has the shape"),
        ({"success": np.array([0, 7], np.int8)}, "'success' holds 7"),
        ({"objects": np.asarray("[1, 2")}, "'objects' must be JSON"),
        ({"propositions": np.array(["a", "a", "b"])}, "'a' stands twice"),
        ({"truncated": np.array([True, False])}, "terminated or truncated, not both"),
        ({"actions": np.zeros((3, 1))}, "'actions' has the shape"),
        ({"states": np.zeros((6, 2), np.int64)}, "'states' must be floats"),
        ({"observations.touch": np.zeros((5, 2))}, "'observations.touch' has the shape"),
        ({"observations.state": np.zeros((6, 2))}, "'state' must be float32"),
        ({"bodies": np.array(["door"])}, "7 floats for each of the 1 bodies"),
        (
            {"bodies": np.array(["door"]), "placements": np.zeros((2, 1, 3))},
            "'placements' must hold 7 floats",
        ),
        (
            {"bodies": np.array(["door"]), "placements": np.full((2, 1, 7), np.nan)},
            "episode 0: the placement of 'door'",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_damage_is_one_clear_error(tmp_path, changed, words):
    path = altered(tmp_path, **changed)
    with pytest.raises(RecordingError, match=words) as error:
        load_episodes(path)
    assert str(path) in str(error.value)


def test_a_file_cut_short_or_of_another_kind(tmp_path):
    path = good(tmp_path)
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(RecordingError):
            load_episodes(path)
    path.write_bytes(b"no archive at all")
    with pytest.raises(RecordingError, match="not a NumPy file"):
        load_episodes(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(RecordingError, match="one array"):
        load_episodes(path)
    with pytest.raises(RecordingError, match="no such file"):
        load_episodes(tmp_path / "absent.episodes.npz")


def test_a_flipped_byte_never_reads_as_other_letters(tmp_path):
    path = good(tmp_path)
    content, truth = path.read_bytes(), load_episodes(path)
    for place in range(0, len(content), 61):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            read = load_episodes(path)
        except RecordingError:
            continue
        assert all(same(a, b) for a, b in zip(read, truth, strict=True))


def test_episodes_of_different_environments_need_different_files(tmp_path):
    one = episode(set(), {"lifted"})
    for other in (episode({"a"}, names=("a",)), episode(set(), env_id="other/Env-v0")):
        with pytest.raises(RecordingError, match="episode 1 has other"):
            save_episodes(tmp_path / f"x{SUFFIX}", [one, other])
    with pytest.raises(RecordingError, match="only some of the episodes have actions"):
        save_episodes(
            tmp_path / f"x{SUFFIX}", [one, episode(set(), {"lifted"}, actions=np.zeros((1, 2)))]
        )
    seen = [episode(set(), observations={"touch": np.zeros((1, n))}) for n in (1, 2)]
    with pytest.raises(RecordingError, match="'touch' has another type or shape in some"):
        save_episodes(tmp_path / f"x{SUFFIX}", seen)
    with pytest.raises(RecordingError, match="different observations"):
        save_episodes(tmp_path / f"x{SUFFIX}", [seen[0], one])
    with pytest.raises(RecordingError, match="no episodes"):
        save_episodes(tmp_path / f"x{SUFFIX}", [])
    assert not list(tmp_path.iterdir())


def test_the_writer_fills_files_and_replaces_an_earlier_recording(tmp_path):
    writer = EpisodeWriter(tmp_path, per_file=2)
    writer.extend(episode(set(), seed=seed) for seed in range(5))
    writer.flush()
    assert [len(load_episodes(path)) for path in writer.paths] == [2, 2, 1]
    seeds = [own.seed for path in writer.paths for own in load_episodes(path)]
    assert seeds == [0, 1, 2, 3, 4]
    other = tmp_path / f"mine{SUFFIX}"
    save_episodes(other, [episode(set())])
    again = EpisodeWriter(tmp_path, per_file=2)
    again.add(episode(set()))
    again.flush()
    assert sorted(tmp_path.iterdir()) == sorted([other, *again.paths])


def test_an_episode_has_as_many_of_everything():
    for wrong in (
        {"rewards": np.zeros(3)},
        {"engaged": np.zeros(1, bool)},
        {"states": np.zeros((1, 2))},
    ):
        with pytest.raises(RecordingError, match="rows where an episode of 2 letters"):
            episode(set(), set(), **wrong)
    with pytest.raises(RecordingError, match="at least the letter"):
        Episode((), np.zeros((0, 0), bool), np.zeros(0), False, True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("state", np.zeros((2, 3)), "must be float32 .* but is float64"),
        ("state", np.zeros((3, 3), np.float32), "with 2 frames, but is .*(3, 3)"),
        ("images.front", np.zeros((2, 4, 4), np.uint8), "uint8 .*height, width, 3"),
        ("images.front", np.zeros((2, 3, 4, 4), np.uint8), "uint8 .*height, width, 3"),
        ("touch", np.array([None, None]), "numbers"),
        ("../touch", np.zeros(2), "words joined with dots"),
    ],
)
def test_an_observation_is_what_its_name_says(name, value, words):
    with pytest.raises(RecordingError, match=words):
        episode(set(), set(), observations={name: value})


def test_a_file_from_before_there_were_observations(tmp_path):
    path = altered(tmp_path)  # written without any, as every earlier file was
    with np.load(path) as file:
        assert not any(name.startswith("observations") for name in file.files)
    assert all(own.observations == {} for own in load_episodes(path))
