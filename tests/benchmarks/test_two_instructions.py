"""The task of two instructions: its layouts tell nothing, and the experiment runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("safetensors")

from benchmarks import two_instructions
from benchmarks.two_blocks import CAMERA, INSTRUCTIONS, TwoBlocks


@pytest.mark.slow
def test_only_picture_and_words_tell_which_block_is_meant() -> None:
    env = TwoBlocks()
    first, _ = env.reset(seed=3, options={"which": 0})
    red = [(float(body.x), float(body.y)) for body in env._world.bodies]
    second, _ = env.reset(seed=3, options={"which": 1})
    blue = [(float(body.x), float(body.y)) for body in env._world.bodies]
    assert env.instruction == INSTRUCTIONS[1]
    # the block that is meant stands where the other one would: places are exchangeable
    assert red == blue
    assert np.array_equal(first["state"], second["state"])
    assert not np.array_equal(first[CAMERA], second[CAMERA])
    for which in (0, 1):
        env.reset(seed=5, options={"which": which})
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.scripted_action())
            over = terminated or truncated
        assert info == {"success": True, "lifted": 0}


@pytest.mark.slow
def test_the_experiment_runs_and_goes_on_where_it_stopped(tmp_path) -> None:
    arguments = [
        "--quick",
        "--folder",
        str(tmp_path / "kept"),
        "--output",
        str(tmp_path / "r.json"),
    ]
    assert two_instructions.main(arguments) == 0
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.*")}
    assert two_instructions.main(arguments) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.*")} == files
    found = json.loads((tmp_path / "r.json").read_text())
    for rows in found["arms"].values():
        for where in ("seen", "held out"):
            assert sum(rows[0][where].values()) == pytest.approx(1.0)
