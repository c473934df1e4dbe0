"""Initial states: what is read, and that nothing else is."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from safe_rl.envs.libero.init_states import read_init_states
from safe_rl.errors import ConfigurationError


def pickled(value: object) -> bytes:
    """As numpy 1, with which LIBERO's files were written, pickles it."""
    text = pickle.dumps(value, protocol=2)
    return text.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def archive(path: Path, content: bytes, name: str = "archive/data.pkl") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, content)
        file.writestr("archive/version", "3\n")
    return path


@pytest.mark.parametrize("shape", [(50, 79), (1, 1), (3, 127)])
def test_a_matrix_is_read_to_the_last_bit(tmp_path: Path, shape: tuple[int, int]) -> None:
    states = np.random.default_rng(0).normal(size=shape)
    found = read_init_states(archive(tmp_path / "a.pruned_init", pickled(states)))
    np.testing.assert_array_equal(found, states)
    assert found.dtype == np.float64 and found.flags.writeable


class Bomb:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((2, 3), dtype=np.float32),
        np.zeros((2, 3), dtype=object),
        np.asfortranarray(np.ones((2, 3))),
        np.zeros(6),
        np.zeros((300, 2)),
        [np.zeros((2, 3))],
        {"states": 1},
        None,
    ],
    ids=["float32", "objects", "columns", "vector", "large", "list", "dict", "none"],
)
def test_anything_else_is_refused(tmp_path: Path, value: object) -> None:
    path = archive(tmp_path / "b.pruned_init", pickled(value))
    with pytest.raises(ConfigurationError, match="something else than one float64 matrix"):
        read_init_states(path)


def test_what_a_file_says_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for value in (Bomb(mark), [np.zeros((2, 3)), Bomb(mark)]):
        with pytest.raises(ConfigurationError, match="it is not read"):
            read_init_states(archive(tmp_path / "c.pruned_init", pickled(value)))
    # The right operations with another function in the place of numpy's.
    good = pickled(np.zeros((2, 3)))
    assert b"cnumpy\nndarray\n" in good
    bad = good.replace(b"cnumpy\nndarray\n", b"cbuiltins\neval\n")
    with pytest.raises(ConfigurationError, match="it is not read"):
        read_init_states(archive(tmp_path / "d.pruned_init", bad))
    # The matrix, and one more operation after it.
    with pytest.raises(ConfigurationError, match="it is not read"):
        read_init_states(archive(tmp_path / "e.pruned_init", good[:-1] + b"0N."))
    assert not mark.exists()


def test_damaged_files_are_one_clear_error(tmp_path: Path) -> None:
    good = pickled(np.arange(6.0).reshape(2, 3))
    cut = io.BytesIO(good).read(len(good) // 2)
    cases = {
        "no zip": (tmp_path / "f", b"not a zip"),
        "missing": (tmp_path / "missing", None),
    }
    for path, content in cases.values():
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigurationError, match="is no file of initial states"):
            read_init_states(path)
    with pytest.raises(ConfigurationError, match="is no file of initial states"):
        read_init_states(archive(tmp_path / "g", cut))
    with pytest.raises(ConfigurationError, match="is no file of initial states"):
        read_init_states(archive(tmp_path / "h", good, name="archive/other"))
    wrong = pickled(np.array([[1.0, np.nan]]))
    with pytest.raises(ConfigurationError, match="not finite"):
        read_init_states(archive(tmp_path / "i", wrong))
    # Fewer numbers than the shape says.
    fewer = good.replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86")
    assert fewer != good
    with pytest.raises(ConfigurationError, match="cannot reshape"):
        read_init_states(archive(tmp_path / "j", fewer))
