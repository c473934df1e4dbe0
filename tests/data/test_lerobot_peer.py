"""lerobot itself opens what is written here.

It needs another Python: give the one of its environment (docs/datasets.md) as SAFE_RL_LEROBOT.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("PIL")

from safe_rl.data import LeRobotWriter, annotate
from safe_rl.data.lerobot import layout
from tests.data.lerobot_recording import FPS, SPECS, recorded
from tests.data.test_lerobot_writer import with_picture

PYTHON = os.environ.get("SAFE_RL_LEROBOT")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="needs SAFE_RL_LEROBOT, the Python of an environment with lerobot 0.6"
)


@pytest.mark.slow
@pytest.mark.parametrize("video", [False, True])
def test_lerobot_draws_every_frame(tmp_path, video):
    make = with_picture if video else recorded
    episodes = [make(number, seed=number) for number in range(9)]
    if video:
        pytest.importorskip("cv2")
    with LeRobotWriter(tmp_path / "set", fps=FPS, specs=SPECS, video=video, per_file=4) as writer:
        for own in episodes:
            writer.add(own)
    # what an interrupted recording leaves is passed over: all is there but the count of it
    kept = {name: (tmp_path / "set" / name).read_bytes() for name in (layout.INFO, layout.STATS)}
    with LeRobotWriter(tmp_path / "set", fps=FPS, specs=SPECS, video=video, resume=True) as writer:
        writer.add(episodes[0])
    for name, content in kept.items():
        (tmp_path / "set" / name).write_bytes(content)
    peer = Path(__file__).with_name("lerobot_peer.py")
    done = subprocess.run(
        [str(PYTHON), str(peer), str(tmp_path / "set")],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(tmp_path / "cache"), "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    steps = sum(own.steps for own in episodes)
    assert (said["episodes"], said["frames"], said["drawn"]) == (9, steps, steps)
    assert said["cameras"] == ["observation.images.front"]
    assert said["tasks"] == ["hold it 0", "hold it 1"]
    assert said["padded"] == sum(min(own.steps, 2) * 2 - (own.steps > 1) for own in episodes)
    assert said["shapes"]["action"] == [3, 4] and said["shapes"]["safety.violated"] == [3]
    assert said["shapes"]["observation.images.front"][0] == 3  # channels first
    for name, values in {
        "action": [own.actions for own in episodes],
        "observation.state": [own.observations["state"][:-1] for own in episodes],
        "safety.propositions": [own.letters[:-1] for own in episodes],
        "safety.costs": [annotate(own, SPECS).costs[:-1] for own in episodes],
        "next.reward": [own.rewards for own in episodes],
    }.items():
        expected = np.concatenate(values).astype(float).sum()
        assert said["sums"][name] == pytest.approx(expected, rel=1e-5, abs=1e-5), name
    pixels = [own.observations["images.front"][:-1] / 255 for own in episodes]
    brightness = said["sums"]["observation.images.front"] / sum(own.size for own in pixels)
    expected = np.mean(np.concatenate(pixels))
    assert brightness == pytest.approx(expected, abs=0.015 if video else 1e-5)
    assert said["statistics_differ_by"] < 1e-5
    assert said["seed_of_the_first"] == 0
