"""From demonstrations to a fine-tuned policy, at a tiny size, on the tabletop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("safetensors")
pytest.importorskip("stable_baselines3")
pytest.importorskip("hydra")

from benchmarks import from_demonstrations, tabletop_demonstrations
from safe_rl.data import load_episodes


@pytest.mark.slow
def test_arms_are_learned_scored_and_found_again(tmp_path: Path, capsys) -> None:
    demonstrations = tmp_path / "place.episodes.npz"
    words = ["--episodes", "24", "--file", str(demonstrations)]
    assert tabletop_demonstrations.main(words) == 0
    assert "24 demonstrations" in capsys.readouterr().out
    episodes = load_episodes(demonstrations)
    assert any(e.success for e in episodes) and any(not e.success for e in episodes)

    words = ["--task", "place", "--dataset", str(demonstrations), "--seeds", "1"]
    words += ["--arms", "safe,tuned", "--episodes", "8", "--runs", str(tmp_path / "runs")]
    words += ["--output", str(tmp_path / "r.json"), "--imitate", "imitation.updates=20"]
    words += ["--tune", "algo.total_timesteps=1024", "algo.n_steps=8", "algo.batch_size=256"]
    assert from_demonstrations.main(words) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert list(found["arms"]) == ["safe", "tuned"]
    for (row,) in found["arms"].values():
        assert 0.0 <= row["ssr"] <= row["success"] <= 1.0 and row["V"] <= row["N"]
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.json")}
    assert from_demonstrations.main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_intervals_hold_the_mean_and_are_wider_where_seeds_differ() -> None:
    def bounds(values: list[float], episodes: int) -> tuple[float, float]:
        mean, low, high = from_demonstrations.interval(values, episodes).replace("[", "").split()
        assert float(low.strip(",")) <= float(mean) <= float(high.strip("]"))
        return float(low.strip(",")), float(high.strip("]"))

    alike, apart = bounds([0.5, 0.5, 0.5], 100), bounds([0.2, 0.5, 0.8], 100)
    assert np.ptp(apart) > 2 * np.ptp(alike)
    assert np.ptp(bounds([0.5] * 3, 10)) > np.ptp(alike)
